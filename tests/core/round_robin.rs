//! What round robin promises: exact shares, and a turn that follows identity across memberships.

#![expect(clippy::needless_pass_by_value, reason = "generated cases come by value")]

use std::collections::BTreeMap;
use std::thread;

use poise::core::policy::{PriorityFailover, RoundRobin};
use poise::core::{Attempted, Exclusion, Policy, Prepare, Prepared, Selection, View};
use quickcheck::{Arbitrary, Gen, QuickCheck};

use crate::support::case::{Case, Hint, for_all};
use crate::support::chance::{assert_even, draws_for};
use crate::support::member::Member;
use crate::support::tally::tally;
use crate::support::turns::Turns;

fn prepare(members: &[Member], previous: Option<&Prepared>) -> Prepared {
    let policy = RoundRobin::starting_at(0);
    policy.prepare(&View::new(members), previous).expect("there is always an order")
}

fn pick(members: &[Member], prepared: &Prepared) -> usize {
    let view = View::new(members).prepared(prepared);
    RoundRobin::starting_at(0).pick_from(&view, &()).expect("somebody is eligible").index()
}

fn of(ids: &[u64]) -> Vec<Member> {
    ids.iter().copied().map(Member::new).collect()
}

/// Picks this often, and returns who was served.
fn served(ids: &[u64], prepared: &Prepared, count: usize) -> Vec<u64> {
    let members = of(ids);
    (0..count).map(|_| ids[pick(&members, prepared)]).collect()
}

/// Who is there from now on, in this order, and how many picks follow.
#[derive(Clone, Debug)]
struct Membership {
    ids: Vec<u64>,
    picks: usize,
}

impl Arbitrary for Membership {
    fn arbitrary(g: &mut Gen) -> Self {
        // Some never leave.
        let mut ids: Vec<u64> = (0..12).filter(|id| *id < 4 || bool::arbitrary(g)).collect();
        for at in (1..ids.len()).rev() {
            ids.swap(at, usize::arbitrary(g) % (at + 1));
        }
        Self { ids, picks: usize::arbitrary(g) % 15 }
    }
}

#[test]
fn over_any_changes_nobody_who_stays_is_served_twice_before_another_who_stays_is_served_once() {
    fn law(memberships: Vec<Membership>) {
        let mut prepared = Prepared::none();
        // When each was served last and when it joined, counted in picks.
        let mut last: BTreeMap<u64, usize> = BTreeMap::new();
        let mut joined: BTreeMap<u64, usize> = BTreeMap::new();
        let mut now = 0;
        for Membership { ids, picks } in memberships {
            prepared = prepare(&of(&ids), Some(&prepared));
            last.retain(|id, _| ids.contains(id));
            joined.retain(|id, _| ids.contains(id));
            for id in &ids {
                joined.entry(*id).or_insert(now);
            }
            for id in served(&ids, &prepared, picks) {
                now += 1;
                if let Some(before) = last.insert(id, now) {
                    let waits = |other: &&u64| joined[other] < before && last.get(other) <= Some(&before);
                    let waits = ids.iter().filter(|other| **other != id).find(waits);
                    assert_eq!(waits, None, "{id} was served twice before them");
                }
            }
        }
    }
    QuickCheck::new().rng(Gen::from_size_and_seed(30, 5)).tests(500).quickcheck(law as fn(Vec<Membership>));
}

#[test]
fn the_next_in_turn_stays_next_and_when_it_leaves_whoever_follows_is() {
    let before = [0, 1, 2, 3, 4];
    let prepared = prepare(&of(&before), None);
    assert_eq!(served(&before, &prepared, 2), [0, 1]);
    for (after, expected) in [
        (vec![0, 1, 2, 3, 4], [2, 3, 4, 0, 1]),
        (vec![4, 0, 2, 1, 3], [2, 3, 4, 0, 1]),
        (vec![1, 0, 4], [4, 0, 1, 4, 0]),
        (vec![0, 1], [0, 1, 0, 1, 0]),
        (vec![9, 4, 8, 0, 1], [4, 8, 0, 1, 9]),
        (vec![7, 8], [7, 8, 7, 8, 7]),
    ] {
        let prepared = prepare(&of(&after), Some(&prepared));
        assert_eq!(served(&after, &prepared, 5), expected, "after a change to {after:?}");
    }
}

#[test]
fn who_is_owed_a_turn_is_still_owed_it_after_a_change_and_nobody_inherits_it() {
    let before = of(&[0, 1, 2, 3]);
    let prepared = prepare(&before, None);
    let tried = Attempted::from_iter([0]);
    let view = View::new(&before).prepared(&prepared).avoiding(&tried);
    let first = RoundRobin::starting_at(0).pick_from(&view, &()).expect("three are eligible");
    assert_eq!(first.index(), 1, "the first was passed over, and is owed a turn");
    let (stays, leaves) = ([3, 2, 1, 0], [3, 2, 1]);
    let after = prepare(&of(&stays), Some(&prepared));
    assert_eq!(served(&stays, &after, 6), [0, 2, 3, 0, 1, 2]);
    let after = prepare(&of(&leaves), Some(&prepared));
    assert_eq!(served(&leaves, &after, 4), [2, 3, 1, 2]);
}

#[test]
fn each_level_continues_its_own_turn_after_a_change() {
    let levels = |ids: &[u64]| {
        let mut members = of(ids);
        for member in &mut members {
            member.priority = u32::from(member.id >= 10);
            if member.priority == 0 {
                member.exclude(Exclusion::Probe);
            }
        }
        members
    };
    let policy = PriorityFailover::new(RoundRobin::starting_at(0)).with_seed(1);
    let next = |members: &[Member], prepared: &Prepared| {
        let view = View::new(members).prepared(prepared);
        members[policy.pick_from(&view, &()).expect("the second level is healthy").index()].id
    };
    let before = levels(&[0, 1, 10, 11, 12, 13]);
    let prepared = policy.prepare(&View::new(&before), None).expect("there is always an order");
    assert_eq!([(); 2].map(|()| next(&before, &prepared)), [10, 11]);
    let after = levels(&[13, 11, 1, 10, 0]);
    let prepared = policy.prepare(&View::new(&after), Some(&prepared)).expect("there is always an order");
    assert_eq!([(); 4].map(|()| next(&after, &prepared)), [13, 10, 11, 13]);
}

#[test]
fn members_that_cannot_be_told_apart_all_have_turns() {
    let ids = [5, 5, 6, 5];
    let prepared = prepare(&of(&ids), None);
    let picks = |prepared: &Prepared| tally(4, (0..400).map(|_| pick(&of(&ids), prepared)));
    assert_eq!(picks(&prepared), [100; 4]);
    assert_eq!(picks(&prepare(&of(&ids), Some(&prepared))), [100; 4]);
}

#[test]
fn picks_go_around_as_a_plain_turn_does() {
    fn law(case: Case) {
        if [case.prepared, case.eligibility].iter().any(|hint| matches!(hint, Hint::Stale | Hint::Wrong)) {
            return;
        }
        let start = usize::try_from(case.seed % 1_000).expect("small");
        let policy = RoundRobin::starting_at(start);
        let (members, attempted) = (case.members(), case.attempted());
        let eligibility = case.eligibility(&members);
        let prepared = policy.prepare(&case.bare(&members), None).expect("there is always an order");
        case.change(&members);
        case.tell(&members, Some(&prepared), eligibility.as_ref());
        let prepared = Some(&prepared).filter(|_| case.prepared == Hint::Right);
        let mut turns = Turns { next: start, owed: None };
        for _ in 0..8 {
            let view = case.view(&members, &attempted, prepared, eligibility.as_ref());
            let pick = policy.pick_from(&view, &()).ok().map(Selection::index);
            assert_eq!(pick, turns.pick(&view));
        }
    }
    for_all(500, law);
}

#[test]
fn the_turn_of_an_excluded_member_goes_to_the_others_in_equal_parts() {
    let members = Member::many(4);
    members[1].exclude(Exclusion::Unavailable);
    let policy = RoundRobin::starting_at(0);
    let plain = |_| policy.pick(&members, &()).expect("some are eligible").index();
    assert_eq!(tally(4, (0..600).map(plain)), [200, 0, 200, 200]);
    let prepared = prepare(&members, None);
    assert_eq!(tally(4, (0..600).map(|_| pick(&members, &prepared))), [200, 0, 200, 200], "prepared");
    let untold = prepare(&members, None);
    members[1].restore();
    untold.set_eligible(1, true);
    members[3].exclude(Exclusion::Probe);
    assert_eq!(tally(4, (0..600).map(|_| pick(&members, &untold))), [200, 200, 200, 0], "half told");
}

#[test]
fn an_update_does_not_start_the_turn_over() {
    let mut members = Member::many(4);
    let policy = RoundRobin::starting_at(0);
    let plain = |members: &[Member]| policy.pick(members, &()).expect("all are eligible").index();
    let prepared = prepare(&members, None);
    assert_eq!([plain(&members), plain(&members)], [0, 1]);
    assert_eq!([pick(&members, &prepared), pick(&members, &prepared)], [0, 1]);
    members.push(Member::new(4));
    let prepared = prepare(&members, Some(&prepared));
    assert_eq!([plain(&members), plain(&members)], [2, 3]);
    assert_eq!([pick(&members, &prepared), pick(&members, &prepared)], [2, 3]);
}

#[test]
fn who_is_ready_on_every_other_pick_is_not_starved() {
    for (start, prepare) in [(0, false), (1, false), (2, false), (0, true), (1, true), (2, true)] {
        let policy = RoundRobin::starting_at(start);
        let members = Member::many(3);
        let prepared = policy.prepare(&View::new(&members), None).expect("there is always an order");
        let picks = (0..600).map(|call| {
            members[2].restore();
            if call % 2 == 0 {
                members[2].exclude(Exclusion::NotReady);
            }
            let view = View::new(&members);
            let view = if prepare { view.prepared(&prepared) } else { view };
            policy.pick_from(&view, &()).expect("two are always ready").index()
        });
        let counts = tally(3, picks);
        assert!(counts.iter().all(|count| *count >= 120), "each gets a fifth at least: {counts:?}");
    }
}

#[test]
fn shares_are_exact_also_when_threads_take_turns() {
    let (policy, members) = (RoundRobin::new(), Member::many(4));
    let prepared = policy.prepare(&View::new(&members), None).expect("there is always an order");
    let per_thread = 20_000;
    for prepare in [false, true] {
        let pick = |_| {
            let view = View::new(&members);
            let view = if prepare { view.prepared(&prepared) } else { view };
            policy.pick_from(&view, &()).expect("all are eligible").index()
        };
        let run = || tally(4, (0..per_thread).map(pick));
        let counts = thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(run));
            threads.map(|thread| thread.join().expect("picks do not panic"))
        });
        for at in 0..4 {
            let count: u32 = counts.iter().map(|of| of[at]).sum();
            assert_eq!(count, per_thread, "member {at}, prepared: {prepare}");
        }
    }
}

#[test]
fn fresh_policies_clones_and_tables_do_not_herd() {
    let members = Member::many(4);
    let first = |policy: RoundRobin| policy.pick(&members, &()).expect("all are eligible").index();
    let fresh = tally(4, (0..draws_for(0.25, 0.33)).map(|_| first(RoundRobin::new())));
    assert_even(&fresh, 0.33, "first picks of fresh policies");
    let policy = RoundRobin::new();
    let table = |_| policy.prepare(&View::new(&members), None).expect("there is always an order");
    let tables = tally(4, (0..draws_for(0.25, 0.33)).map(table).map(|prepared| pick(&members, &prepared)));
    assert_even(&tables, 0.33, "first picks of pools that share a policy");
    let policy = RoundRobin::starting_at(0);
    let clones = tally(4, (0..draws_for(0.25, 0.0105)).map(|_| first(policy.clone())));
    assert_even(&clones, 0.0105, "first picks of a million clones");
}

#[test]
fn a_turn_of_one_level_is_not_taken_for_a_turn_of_another() {
    let policy = PriorityFailover::new(RoundRobin::new()).with_seed(3);
    let mut members = Member::many(13);
    members[10..].iter_mut().for_each(|member| member.priority = 1);
    members[..5].iter().for_each(|member| member.exclude(Exclusion::Probe));
    let prepared = policy.prepare(&View::new(&members), None).expect("there is always an order");
    let pick = |prepare: bool| {
        let view = View::new(&members);
        let view = if prepare { view.prepared(&prepared) } else { view };
        policy.pick_from(&view, &()).expect("eight are eligible").index()
    };
    for prepare in [false, true] {
        let counts = tally(13, (0..20_000).map(|_| pick(prepare)));
        let spread = |of: &[u32]| of.iter().max().unwrap_or(&0) - of.iter().min().unwrap_or(&0);
        assert_eq!(counts[..5], [0; 5]);
        assert!(spread(&counts[5..10]) <= 2, "the first level goes around exactly: {counts:?}");
        assert!(spread(&counts[10..]) <= 2, "so does the second: {counts:?}");
    }
}
