//! Claims on the tables of policies: whose they are, and whom they pass over.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use poise::core::policy::{Maglev, RingHash, SmoothWeightedRoundRobin};
use poise::core::{Exclusion, Policy, Prepare, Prepared, Selection, Table, View};

use crate::support::member::Member;
use crate::support::policies::policies;

/// A table of one's own.
#[derive(Debug, Default)]
struct Flips {
    on: AtomicUsize,
    off: AtomicUsize,
}

impl Table for Flips {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        let counter = if eligible { &self.on } else { &self.off };
        counter.fetch_add(slot, Ordering::Relaxed);
    }
}

/// Another one, which keeps no hints.
#[derive(Debug)]
struct Plain;

impl Table for Plain {}

#[test]
fn a_table_of_ones_own_hears_flips_and_serves_the_number_of_members_that_it_was_made_for() {
    let members = Member::many(3);
    let prepared = Prepared::new(3, Flips::default());
    let copy = prepared.clone();
    copy.set_eligible(2, false);
    copy.set_eligible(1, true);
    let view = View::new(&members).prepared(&prepared);
    let flips = view.table::<Flips>().expect("it was made for three");
    assert_eq!((flips.on.load(Ordering::Relaxed), flips.off.load(Ordering::Relaxed)), (1, 2));
    assert!(view.table::<Plain>().is_none(), "it is another one");
    assert!(View::new(&members[..2]).prepared(&prepared).table::<Flips>().is_none());
    assert!(prepared.table::<Flips>(4).is_none());
    assert!(prepared.earlier::<Flips>().is_some(), "a new one may start from it all the same");
    assert!(Prepared::none().earlier::<Flips>().is_none());
}

/// Picks for a few keys, with what was prepared if anything was.
fn picks(policy: &impl Policy<Member, u64>, members: &[Member], prepared: Option<&Prepared>) -> Vec<usize> {
    let view = || {
        let view = View::new(members);
        if let Some(prepared) = prepared { view.prepared(prepared) } else { view }
    };
    (0..50).map(|key| policy.pick_from(&view(), &key).expect("all are eligible").index()).collect()
}

#[test]
fn a_policy_that_is_given_the_table_of_another_picks_as_without() {
    let members = Member::many(40);
    for member in &members {
        member.load.set((member.id % 5) as f64);
    }
    let bare = || View::new(&members);
    let mut tables: Vec<(_, Prepared)> = policies::<Member>(7)
        .into_iter()
        .map(|(name, policy)| (name, policy.prepare(&bare(), None).expect("they fit")))
        .collect();
    tables.push(("one's own", Prepared::new(40, Plain)));
    for (name, prepared) in &tables {
        let others = Some(prepared);
        if *name != "maglev" {
            let policy = Maglev::new();
            assert_eq!(
                picks(&policy, &members, others),
                picks(&policy, &members, None),
                "with that of {name}"
            );
        }
        if *name != "ring" {
            let policy = RingHash::new();
            assert_eq!(
                picks(&policy, &members, others),
                picks(&policy, &members, None),
                "with that of {name}"
            );
        }
        if *name != "smooth" {
            let [given, without] = [others, None]
                .map(|prepared| picks(&SmoothWeightedRoundRobin::starting_at(0), &members, prepared));
            assert_eq!(given, without, "with that of {name}");
        }
        for (policy_name, policy) in policies::<Member>(7) {
            let picked = policy.pick_from(&bare().prepared(prepared), &3).map(Selection::index);
            assert!(picked.is_ok_and(|index| index < 40), "{policy_name} with that of {name}: {picked:?}");
            assert!(policy.prepare(&bare(), others).is_ok(), "{policy_name} after {name}");
        }
    }
}

#[test]
fn a_table_for_another_number_of_members_is_as_none() {
    fn law(name: &str, policy: impl Fn() -> Box<dyn Policy<Member, u64>>) {
        let members = Member::many(40);
        let prepared = policy().prepare(&View::new(&members[..30]), None).expect("they fit");
        for count in [20, 29, 31, 40] {
            let [given, without] =
                [Some(&prepared), None].map(|prepared| picks(&policy(), &members[..count], prepared));
            assert_eq!(given, without, "{name}: a table of 30 for {count}");
        }
    }
    law("maglev", || Box::new(Maglev::new()));
    law("ring", || Box::new(RingHash::new()));
    law("smooth", || Box::new(SmoothWeightedRoundRobin::starting_at(0)));
}

/// Picks for many keys, and counts the looks at one member.
fn looks_at(
    position: usize,
    members: &[Member],
    prepared: &Prepared,
    policy: &impl Policy<Member, u64>,
) -> u32 {
    members[position].sampled.store(0, Ordering::Relaxed);
    for key in 0..2_000 {
        let view = View::new(members).prepared(prepared);
        assert!(policy.pick_from(&view, &key).is_ok());
    }
    members[position].sampled.load(Ordering::Relaxed)
}

#[test]
fn who_is_known_to_be_out_is_not_looked_at_whenever_and_however_often_that_was_told() {
    fn law(name: &str, policy: &impl Policy<Member, u64>) {
        let members = Member::many(20);
        let prepared = policy.prepare(&View::new(&members), None).expect("they fit");
        let looks = || looks_at(5, &members, &prepared, policy);
        assert!(looks() > 0, "{name}: it is in");
        for turn in 0..3 {
            // Told again, it is no news.
            (0..=turn).for_each(|_| prepared.set_eligible(5, true));
            members[5].exclude(Exclusion::Circuit);
            (0..=turn).for_each(|_| prepared.set_eligible(5, false));
            assert_eq!(looks(), 0, "{name}: it is out, told {turn} times more than once");
            members[5].restore();
            prepared.set_eligible(5, true);
            assert!(looks() > 0, "{name}: it is back");
        }
        members[5].exclude(Exclusion::Probe);
        let later = policy.prepare(&View::new(&members), Some(&prepared)).expect("they fit");
        assert_eq!(looks_at(5, &members, &later, policy), 0, "{name}: it was out when this was made");
    }
    law("maglev", &Maglev::new().with_table_size(1_009).expect("a prime"));
    law("ring", &RingHash::new());
    law("smooth", &SmoothWeightedRoundRobin::new());
}

#[test]
fn flips_of_many_threads_leave_what_each_member_was_told_last() {
    let members = Member::many(64);
    let policy = Maglev::new().with_table_size(1_009).expect("a prime");
    let prepared = policy.prepare(&View::new(&members), None).expect("they fit");
    thread::scope(|scope| {
        for first in 0..4 {
            let prepared = &prepared;
            scope.spawn(move || {
                for turn in 0..500 {
                    for slot in (first..64).step_by(4) {
                        prepared.set_eligible(slot, turn % 2 == 1);
                    }
                }
            });
        }
    });
    members[9].exclude(Exclusion::Circuit);
    prepared.set_eligible(9, false);
    assert_eq!(looks_at(9, &members, &prepared, &policy), 0, "one of all is out");
    members[9].restore();
    prepared.set_eligible(9, true);
    assert!((0..64).all(|position| looks_at(position, &members, &prepared, &policy) > 0), "all are in");
}
