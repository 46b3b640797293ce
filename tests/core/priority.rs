//! What failover between levels promises: who gets how much, when it panics, and whom panic never revives.

#![expect(clippy::needless_pass_by_value, reason = "generated cases come by value")]

use poise::core::policy::{
    LeastLoaded, Maglev, PanicMode, PriorityConfig, PriorityConfigError, PriorityFailover, Random, RoundRobin,
};
use poise::core::{
    Candidate, Eligibility, Exclusion, ExclusionCounts, Exclusions, Now, PickError, Policy, Prepare,
    Selection, View, Weight,
};

use crate::support::case::{Case, Hint, for_all};
use crate::support::member::Member;
use crate::support::plan::{Level, plan};
use crate::support::tally::tally;

/// What levels are divided by: position, priority, weight, and whether the member is healthy.
type Part = (usize, u32, u32, bool);

fn parts(view: &View<'_, Member>) -> Vec<Part> {
    let part = |slot| {
        let member = &view.candidates()[view.position(slot)];
        let healthy = view.exclusions_at(slot).only(Exclusions::SLOW).is_empty();
        (view.position(slot), member.priority, member.weight.value(), healthy)
    };
    (0..view.len()).map(part).collect()
}

/// Returns what excludes a member of the level under the view.
fn exclusions(view: &View<'_, Member>, level: &Level, position: usize) -> Exclusions {
    let found = view.exclusions(position);
    if level.panic { found.without(Exclusions::HEALTH) } else { found }
}

/// Lists the levels that may serve: those that get traffic, and the first that can when one of those cannot.
fn serving<'a>(view: &View<'_, Member>, levels: &'a [Level]) -> Vec<&'a Level> {
    let can = |level: &&Level| level.positions.iter().any(|at| exclusions(view, level, *at).is_empty());
    let busy = || levels.iter().filter(|level| level.load > 0);
    let mut serving: Vec<_> = busy().filter(can).collect();
    if busy().next().is_none() || !busy().all(|level| can(&level)) {
        serving.extend(levels.iter().find(can));
    }
    serving
}

#[test]
fn the_level_and_the_member_are_those_of_a_plan_made_by_hand() {
    fn law(case: Case) {
        let policy = PriorityFailover::new(Random::seeded(case.seed)).with_seed(case.seed);
        let (members, attempted) = (case.members(), case.attempted());
        let eligibility = case.eligibility(&members);
        let prepared = policy.prepare(&case.bare(&members), None).expect("there is always a plan");
        let before = parts(&case.bare(&members));
        case.change(&members);
        case.tell(&members, Some(&prepared), eligibility.as_ref());
        let prepared = Some(&prepared).filter(|_| matches!(case.prepared, Hint::Right | Hint::Stale));
        let view = case.view(&members, &attempted, prepared, eligibility.as_ref());
        // A table is of the members as such; without one, the plan is of what the view offers.
        let parts = match case.prepared {
            Hint::Stale => before,
            Hint::Right => parts(&case.bare(&members)),
            Hint::Absent | Hint::Wrong => parts(&view),
        };
        let levels = plan(&parts);
        let serving = serving(&view, &levels);
        for _ in 0..8 {
            match policy.decide(&view, &()) {
                Ok(decision) => {
                    let level = serving.iter().find(|level| level.priority == decision.level);
                    let level = level.unwrap_or_else(|| panic!("{decision:?}, not one of {serving:?}"));
                    assert_eq!(decision.panic, level.panic || case.panic);
                    assert_eq!(decision.selection.is_panic(), decision.panic);
                    let index = decision.selection.index();
                    assert!(level.positions.contains(&index), "{index} is a member of {level:?}");
                    assert!(exclusions(&view, level, index).is_empty(), "{index} may be chosen");
                }
                Err(PickError::NoEligible(found)) => {
                    let mut counts = ExclusionCounts::default();
                    for level in &levels {
                        level.positions.iter().for_each(|at| counts.add(exclusions(&view, level, *at)));
                    }
                    assert_eq!(found, counts, "every reason that counts is counted");
                    assert!(serving.is_empty(), "nobody is left out");
                }
                other => assert_eq!(other, Err(PickError::Empty)),
            }
        }
    }
    for_all(1_000, law);
}

/// Makes levels of `(healthy, all)` members.
fn levels(sizes: &[(usize, usize)]) -> Vec<Member> {
    let mut members = Vec::new();
    for ((healthy, all), priority) in sizes.iter().zip(0u32..) {
        for at in 0..*all {
            let mut member = Member::new(members.len() as u64);
            member.priority = priority;
            if at >= *healthy {
                member.exclude(Exclusion::Outlier);
            }
            members.push(member);
        }
    }
    members
}

#[test]
fn traffic_is_divided_as_published() {
    for (sizes, shares) in [
        (&[(72, 100), (72, 100)][..], &[100, 0][..]),
        (&[(71, 100), (71, 100)], &[99, 1]),
        (&[(1, 4), (4, 4)], &[35, 65]),
        (&[(1, 5), (1, 5), (1, 5)], &[34, 33, 33]),
        (&[(0, 5), (2, 6), (1, 3)], &[37, 42, 21]),
    ] {
        let members = levels(sizes);
        let policy = PriorityFailover::new(Random::seeded(1)).with_seed(2);
        let prepared = policy.prepare(&View::new(&members), None).expect("there is nothing to build");
        let draws = 40_000;
        let picks = (0..draws).map(|_| {
            let view = View::new(&members).prepared(&prepared);
            policy.decide(&view, &()).expect("some can serve").level as usize
        });
        for (count, share) in tally(sizes.len(), picks).into_iter().zip(shares) {
            let off = (f64::from(count) / f64::from(draws) - f64::from(*share) / 100.0).abs();
            // Six standard deviations of a half.
            assert!(off <= 0.015, "{sizes:?}: {count} of {draws}, {share} %");
            assert!(*share > 0 || count == 0, "no share is no traffic");
        }
    }
}

#[test]
fn a_single_live_member_beside_millions_of_dead_weight_serves() {
    let mut members = Member::many(2);
    members[1].weight = Weight::new(2_000_000).expect("positive");
    members[1].exclude(Exclusion::Unavailable);
    for threshold in [0, 50, 100] {
        let config = PriorityConfig::default().with_panic_threshold_percent(threshold).expect("in range");
        let policy = PriorityFailover::new(LeastLoaded::new()).with_config(config);
        for _ in 0..200 {
            assert_eq!(policy.pick(&members, &()).map(Selection::index), Ok(0), "threshold {threshold} %");
        }
    }
}

#[test]
fn three_thirds_are_enough_and_do_not_panic() {
    let members = levels(&[(1, 3), (1, 3), (1, 3)]);
    let config = PriorityConfig::default().with_overprovisioning_percent(100).expect("in range");
    let policy = PriorityFailover::new(RoundRobin::new()).with_config(config).with_seed(3);
    for _ in 0..1_000 {
        let decision = policy.decide(&View::new(&members), &()).expect("three are healthy");
        assert!(!decision.panic && decision.selection.index().is_multiple_of(3), "{decision:?}");
    }
}

#[test]
fn panic_routes_to_the_sick_and_never_to_who_was_taken_out() {
    let members = levels(&[(0, 4), (0, 2)]);
    members[1].exclude(Exclusion::Draining);
    members[2].exclude(Exclusion::Unavailable);
    members[5].exclude(Exclusion::Capacity);
    let policy = PriorityFailover::new(Random::seeded(9)).with_seed(9);
    let picks = (0..2_000).map(|_| {
        let view = View::new(&members);
        let decision = policy.decide(&view, &()).expect("sick ones are asked");
        assert!(decision.panic && view.validate(decision.selection).is_ok(), "{decision:?}");
        decision.selection.index()
    });
    let counts = tally(6, picks);
    assert_eq!([counts[1], counts[2], counts[5]], [0; 3]);
    assert!([counts[0], counts[3], counts[4]].iter().all(|count| *count > 0), "{counts:?}");
}

#[test]
fn who_fails_closed_says_that_it_does_and_asks_healthy_levels_first() {
    let closed = PriorityConfig::default().with_panic_mode(PanicMode::FailClosed);
    let policy = PriorityFailover::new(Random::new()).with_config(closed).with_seed(1);
    let members = levels(&[(1, 4), (0, 2)]);
    members[3].exclude(Exclusion::Draining);
    let Err(PickError::PanicRejected(counts)) = policy.pick(&members, &()) else {
        panic!("both levels panic")
    };
    let found = [Exclusion::Outlier, Exclusion::Draining].map(|of| counts.of(of));
    assert_eq!((counts.candidates(), found), (6, [5, 1]));

    // Both together cannot do all the work, and only the first is below the threshold.
    let members = levels(&[(1, 10), (1, 2)]);
    for _ in 0..500 {
        let decision = policy.decide(&View::new(&members), &()).expect("the second level is healthy enough");
        assert_eq!((decision.level, decision.panic), (1, false));
    }
}

/// Lets one priority refuse for panic, as an inner policy with levels of its own may.
#[derive(Debug)]
struct Closed(u32);

impl Prepare<Member> for Closed {}

impl Policy<Member> for Closed {
    fn pick_from(&self, view: &View<'_, Member>, (): &()) -> Result<Selection, PickError> {
        if view.candidate(0).is_some_and(|member| member.priority() == self.0) {
            return Err(PickError::PanicRejected(ExclusionCounts::default()));
        }
        view.first_from(0)
    }
}

#[test]
fn an_inner_policy_that_refuses_for_panic_leaves_the_other_levels_to_ask() {
    let members = levels(&[(2, 2), (2, 2)]);
    assert_eq!(PriorityFailover::new(Closed(0)).pick(&members, &()).map(Selection::index), Ok(2));
    assert_eq!(PriorityFailover::new(Closed(1)).pick(&members, &()).map(Selection::index), Ok(0));
    let refused = PriorityFailover::new(Closed(0)).pick(&members[..2], &());
    assert!(matches!(refused, Err(PickError::PanicRejected(_))), "{refused:?}");
}

#[test]
fn a_level_whose_members_were_all_tried_hands_on_to_the_next() {
    let members = levels(&[(2, 2), (2, 2)]);
    let policy = PriorityFailover::new(Maglev::new());
    let tried = [0, 1].into_iter().collect();
    let view = View::new(&members).avoiding(&tried);
    for key in 0..100 {
        let decision = policy.decide(&view, &key).expect("the second level was not tried");
        assert_eq!(decision.level, 1);
    }
}

#[test]
fn an_error_of_the_inner_policy_comes_through() {
    let mut twins = [5, 5].map(Member::new);
    let twice = PickError::DuplicateIdentity { first: 0, second: 1 };
    let policy = PriorityFailover::new(Maglev::new());
    assert_eq!(policy.pick(&twins, &1), Err(twice));
    assert_eq!(policy.prepare(&View::new(&twins), None).err(), Some(twice));
    twins[1].priority = 1;
    assert!(policy.pick(&twins, &1).is_ok(), "identities are told apart within a level");
}

#[test]
fn flips_move_the_plan_without_preparing_anew() {
    let members = levels(&[(4, 4), (4, 4)]);
    let policy = PriorityFailover::new(PriorityFailover::new(RoundRobin::new())).with_seed(4);
    let prepared = policy.prepare(&View::new(&members), None).expect("there is nothing to build");
    let eligibility = Eligibility::of(&members, &Now::lazy());
    let first = || {
        let view = View::new(&members).prepared(&prepared).eligibility(&eligibility);
        (0..1_000).filter(|_| policy.decide(&view, &()).is_ok_and(|decision| decision.level == 0)).count()
    };
    assert_eq!(first(), 1_000);
    for (slot, member) in members.iter().enumerate().take(4) {
        member.exclude(Exclusion::Probe);
        prepared.set_eligible(slot, false);
        eligibility.set(slot, false);
    }
    assert_eq!(first(), 0, "all of the first level is sick, and the second can do all");
    members[2].restore();
    prepared.set_eligible(2, true);
    let part = first();
    assert!((250..450).contains(&part), "a quarter of it healthy can do 35 %, not {part} of 1,000");
}

#[test]
fn settings_out_of_range_are_typed_errors() {
    let config = PriorityConfig::default();
    let low = PriorityConfigError::Overprovisioning { percent: 99 };
    assert_eq!(config.with_overprovisioning_percent(99), Err(low));
    let high = PriorityConfigError::PanicThreshold { percent: 101 };
    assert_eq!(config.with_panic_threshold_percent(101), Err(high));
    let extreme = config.with_overprovisioning_percent(u32::MAX).expect("any factor of one and more");
    let policy = PriorityFailover::new(Random::new()).with_config(extreme);
    assert!(policy.pick(&levels(&[(1, 90), (0, 3)]), &()).is_ok());
}
