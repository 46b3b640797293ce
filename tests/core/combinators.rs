//! What combining policies promises: when the second is asked, and when the earlier choice is kept.

use poise::core::policy::{
    Fallback, LeastLoaded, Maglev, PanicMode, PriorityConfig, PriorityFailover, Random, RoundRobin, Sticky,
    StickyKey, WeightedRandom,
};
use poise::core::{
    Attempted, Backend, Exclusion, ExclusionCounts, PickError, Policy, Prepare, Selection, Status, View,
};

use crate::support::counted::Counted;
use crate::support::looks::looks;
use crate::support::member::Member;

/// Always refuses in this way.
#[derive(Debug)]
struct Refuses(PickError);

impl<C> Prepare<C> for Refuses {}

impl<C> Policy<C> for Refuses {
    fn pick_from(&self, _: &View<'_, C>, (): &()) -> Result<Selection, PickError> {
        Err(self.0)
    }
}

#[test]
fn the_second_policy_is_asked_when_and_only_when_the_first_finds_nobody() {
    let members = Member::many(2);
    let counts = ExclusionCounts::default();
    let after =
        |error| Fallback::new(Refuses(error), RoundRobin::starting_at(1)).decide(&View::new(&members), &());
    for nobody in [PickError::NoEligible(counts), PickError::PanicRejected(counts)] {
        let decision = after(nobody).expect("the second one finds somebody");
        assert_eq!((decision.selection.index(), decision.fell_back), (1, true));
    }
    let twins = PickError::DuplicateIdentity { first: 0, second: 1 };
    for error in [twins, PickError::WeightOverflow, PickError::InconsistentTopology, PickError::Empty] {
        assert_eq!(after(error), Err(error), "what is wrong with the membership comes through");
    }
    let first = Fallback::new(RoundRobin::starting_at(0), Refuses(twins));
    assert_eq!(first.decide(&View::new(&members), &()).map(|decision| decision.fell_back), Ok(false));
    let neither = Fallback::new(Refuses(PickError::NoEligible(counts)), Refuses(PickError::WeightOverflow));
    assert_eq!(neither.pick(&members, &()), Err(PickError::WeightOverflow), "the last word is the second's");
}

#[test]
fn a_strict_policy_falls_back_to_a_lenient_one_with_tables_and_flips_for_both() {
    let members = Member::many(4);
    let closed = PriorityConfig::default().with_panic_mode(PanicMode::FailClosed);
    let strict = PriorityFailover::new(Random::seeded(1)).with_config(closed);
    let policy = Fallback::new(strict, LeastLoaded::new());
    members[3].load.set(f64::INFINITY);
    let prepared = policy.prepare(&View::new(&members), None).expect("four members fit");
    let decide = || policy.decide(&View::new(&members).prepared(&prepared), &());
    assert_eq!(decide().map(|decision| decision.fell_back), Ok(false));
    for (slot, member) in members.iter().enumerate().take(3) {
        member.exclude(Exclusion::Circuit);
        prepared.set_eligible(slot, false);
    }
    let decision = decide().expect("the lenient one does not panic");
    assert_eq!((decision.selection.index(), decision.fell_back), (3, true));
    members[3].exclude(Exclusion::Circuit);
    prepared.set_eligible(3, false);
    let Err(PickError::NoEligible(counts)) = decide() else { panic!("nobody is left") };
    assert_eq!(counts.of(Exclusion::Circuit), 4);
}

#[test]
fn a_new_membership_prepares_both_from_what_they_had() {
    let members = Member::many(30);
    let view = View::new(&members);
    let counted = [(); 2].map(|()| Counted::new(Maglev::new()));
    let policy = Fallback::new(&counted[0], &counted[1]);
    let prepared = Prepare::prepare(&policy, &view, None).expect("30 members fit");
    for key in 0..200 {
        let view = View::new(&members).prepared(&prepared);
        let plain: &dyn Policy<Member, u64> = &policy;
        assert_eq!(plain.pick_from(&view, &key), Maglev::new().pick(&members, &key), "a table of its own");
    }
    assert!(Prepare::prepare(&policy, &view, Some(&prepared)).is_ok());
    assert_eq!(counted.each_ref().map(Counted::prepares), [2, 2]);
    let twins = [Member::new(1), Member::new(1)];
    let twice = PickError::DuplicateIdentity { first: 0, second: 1 };
    assert_eq!(Prepare::prepare(&policy, &View::new(&twins), Some(&prepared)).err(), Some(twice));
}

fn cookie<'a>(key: &'a u64, earlier: &'a u64) -> StickyKey<'a, u64, u64> {
    StickyKey::new(key).with_earlier(earlier)
}

#[test]
fn the_earlier_choice_is_kept_exactly_while_it_can_be_chosen() {
    let members = Member::many(8);
    let policy = Sticky::new(Maglev::new());
    let prepared = policy.prepare(&View::new(&members), None).expect("eight members fit");
    let tried = Attempted::from_iter([5]);
    for prepare in [false, true] {
        let base = || {
            let view = View::new(&members);
            if prepare { view.prepared(&prepared) } else { view }
        };
        let decide = |view: &View<'_, Member>, earlier: u64| {
            let decision = policy.decide(view, &cookie(&7, &earlier)).expect("somebody is eligible");
            (decision.selection.index(), decision.kept)
        };
        let owner = Maglev::new().pick(&members, &7_u64).expect("all are eligible").index();
        let first = policy.decide(&base(), &StickyKey::<_, u64>::new(&7_u64)).expect("all are eligible");
        assert_eq!((first.selection.index(), first.kept), (owner, false), "nobody to keep to");
        for earlier in 0..8 {
            assert_eq!(decide(&base(), earlier), (usize::try_from(earlier).expect("small"), true));
        }
        assert_eq!(decide(&base(), 99), (owner, false), "who is gone is not kept");
        assert!(!decide(&base().avoiding(&tried), 5).1, "nor who was tried");
        for reason in [Exclusion::Draining, Exclusion::Circuit, Exclusion::Capacity, Exclusion::Custom] {
            members[5].exclude(reason);
            let (index, kept) = decide(&base(), 5);
            assert!(index != 5 && !kept, "nor who is excluded for {reason}");
            members[5].restore();
        }
        members[5].exclude(Exclusion::Circuit);
        assert_eq!(decide(&base().in_panic(), 5), (5, true), "panic overrides the verdict of health");
        members[5].restore();
        assert!(decide(&base(), 5).1, "and comes back when it can");
    }
}

#[test]
fn who_lies_out_of_the_scope_is_not_kept() {
    let members = Member::many(6);
    let scope = [0, 2, 4];
    let policy = Sticky::new(RoundRobin::starting_at(0));
    let prepared = policy.prepare(&View::new(&members).within(&scope), None).expect("three members fit");
    for prepare in [false, true] {
        let decide = |earlier: u64| {
            let view = View::new(&members).within(&scope);
            let view = if prepare { view.prepared(&prepared) } else { view };
            let decision = policy.decide(&view, &cookie(&0, &earlier)).expect("three are eligible");
            (decision.selection.index(), decision.kept)
        };
        assert_eq!(decide(4), (4, true));
        assert!(!decide(3).1);
    }
}

#[test]
fn an_index_of_other_members_never_keeps_to_the_wrong_one() {
    let members = Member::many(40);
    let strangers: Vec<_> = (0..40).map(|id| Member::new(39 - id)).collect();
    let policy = Sticky::new(RoundRobin::starting_at(0));
    let wrong = policy.prepare(&View::new(&strangers), None).expect("40 members fit");
    for earlier in 0..40_u64 {
        let view = View::new(&members).prepared(&wrong);
        let decision = policy.decide(&view, &cookie(&0, &earlier)).expect("all are eligible");
        assert!(!decision.kept || decision.selection.index() as u64 == earlier);
    }
}

#[test]
fn an_identity_may_be_named_by_what_it_borrows_as() {
    let members = ["a", "b", "c"].map(|id| Backend::new(String::from(id)));
    let policy = Sticky::new(RoundRobin::starting_at(0));
    let prepared = policy.prepare(&View::new(&members), None).expect("three members fit");
    for cookie in ["c", "b"] {
        let key = StickyKey::new(&()).with_earlier(cookie);
        let [fast, plain] = [View::new(&members).prepared(&prepared), View::new(&members)]
            .map(|view| policy.pick_from(&view, &key).expect("all are eligible").index());
        assert_eq!((members[fast].id().as_str(), fast), (cookie, plain));
    }
    let drained = members.map(|member| member.with_status(Status::Draining));
    let key = StickyKey::<_, str>::new(&()).with_earlier("a");
    assert!(matches!(policy.pick(&drained, &key), Err(PickError::NoEligible(_))));
}

#[test]
fn flips_reach_both_policies_of_a_fallback_within_a_sticky_one() {
    let members = Member::many(70);
    let nobody = Refuses(PickError::NoEligible(ExclusionCounts::default()));
    let first = Sticky::new(Fallback::new(WeightedRandom::seeded(1), &nobody));
    let second = Sticky::new(Fallback::new(&nobody, WeightedRandom::seeded(1)));
    let policies: [&dyn Policy<Member, StickyKey<'static, (), u64>>; 2] = [&first, &second];
    let prepared = policies.map(|policy| policy.prepare(&View::new(&members), None).expect("70 members fit"));
    for (slot, member) in members.iter().enumerate().take(69) {
        member.exclude(Exclusion::Probe);
        for prepared in &prepared {
            prepared.set_eligible(slot, false);
        }
    }
    for (policy, prepared) in policies.into_iter().zip(&prepared) {
        looks(&members);
        let view = View::new(&members).prepared(prepared);
        assert_eq!(policy.pick_from(&view, &StickyKey::new(&())).map(Selection::index), Ok(69));
        let looks = looks(&members);
        assert_eq!((looks.total, looks.most), (1, 1), "the table names the only one left");
    }
}
