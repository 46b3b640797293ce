//! The laws of selection, for every policy under every view, and what each unkeyed policy promises beyond them.

#![expect(clippy::needless_pass_by_value, reason = "generated cases come by value")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use poise::core::policy::{LeastLoaded, Maglev, PowerOfTwoChoices, PriorityConfig, PriorityFailover, Random};
use poise::core::{
    Attempted, Backend, Candidate, Eligibility, Exclusion, InvalidSelection, Now, PickError, Policy,
    PolicyExt, Prepare, Selection, Status, View, Weight,
};

use crate::support::case::{Case, Hint, for_all};
use crate::support::chance::{assert_even, draws_for};
use crate::support::looks::looks;
use crate::support::member::Member;
use crate::support::oracle;
use crate::support::policies::{failover, policies};
use crate::support::tally::tally;

type Any = Box<dyn Policy<Member, u64>>;

/// Tells how often a pick may look at one candidate: those that pick twice, by policies of their own, may look twice.
fn looks_allowed(name: &str) -> u32 {
    if name.starts_with("fallback") || name.starts_with("sticky") { 2 } else { 1 }
}

/// Makes the members of the case, of which some ramp up in every other case.
fn ramping(case: &Case) -> Vec<Member> {
    const RAMPS: [f32; 12] = [1.0, 0.5, 1.0, 0.1, 1.0, 0.0, 0.9, 1.0, f32::NAN, 7.0, 1e-30, -1.0];
    let mut members = case.members();
    if case.seed % 2 == 1 {
        let ramps = RAMPS.into_iter().cycle().skip(usize::try_from(case.seed % 12).expect("small"));
        members.iter_mut().zip(ramps).for_each(|(member, ramp)| member.ramp = ramp);
    }
    members
}

/// Makes other members of the same shape, in reverse order.
fn strangers(case: &Case) -> Vec<Member> {
    let mut strangers = case.members();
    for member in &mut strangers {
        member.id += 1_000_000;
    }
    strangers.reverse();
    strangers
}

/// Tells whether hints may hide somebody who is eligible.
fn is_misinformed(case: &Case) -> bool {
    matches!(case.eligibility, Hint::Stale | Hint::Wrong)
}

/// Picks a few times under everything that the case asks for.
fn picks(case: &Case, policy: &Any, check: impl Fn(&View<'_, Member>, Result<Selection, PickError>)) {
    let members = ramping(case);
    let strangers = strangers(case);
    let prepared = match case.prepared {
        Hint::Absent => None,
        Hint::Right | Hint::Stale => Some(policy.prepare(&case.bare(&members), None)),
        Hint::Wrong => Some(policy.prepare(&case.bare(&strangers), None)),
    };
    let prepared = prepared.map(|prepared| prepared.expect("generated members fit"));
    let eligibility = case.eligibility(&members);
    case.change(&members);
    case.tell(&members, prepared.as_ref(), eligibility.as_ref());
    let attempted = case.attempted();
    for key in case.seed..case.seed.saturating_add(8) {
        let view = case.view(&members, &attempted, prepared.as_ref(), eligibility.as_ref());
        check(&view, policy.pick_from(&view, &key));
    }
}

/// A table for other members of the same number may lead out of a scope, which whoever dispatches finds out.
fn is_misled(case: &Case) -> bool {
    case.prepared == Hint::Wrong && case.scope.is_some()
}

#[test]
fn a_pick_is_eligible_or_the_error_counts_precisely_why_not() {
    fn law(case: Case) {
        for (name, policy) in policies(case.seed) {
            picks(&case, &policy, |view, pick| match pick {
                Ok(selection) if is_misled(&case) => drop(view.validate(selection)),
                Ok(selection) => {
                    let valid = view.validate(selection).map(|member| member.id);
                    assert!(valid.is_ok(), "{name}: {selection:?}, {valid:?}");
                }
                Err(PickError::Empty) => assert!(view.is_empty(), "{name}: empty only when there is nobody"),
                Err(PickError::NoEligible(counts)) => {
                    assert!(!view.is_empty(), "{name}: nobody at all is another error");
                    assert!(
                        oracle::eligible(view).is_empty() || is_misled(&case),
                        "{name}: somebody could serve"
                    );
                    assert_eq!(counts.candidates() as usize, view.len(), "{name}: everybody is counted");
                    if !name.contains("priority") {
                        assert_eq!(counts, oracle::counts(view), "{name}: every reason is counted");
                    }
                }
                Err(other) => panic!("{name}: {other:?}"),
            });
        }
    }
    for_all(300, law);
}

#[test]
fn the_same_seed_and_view_give_the_same_picks() {
    fn law(case: Case) {
        let sequence = |policy: &Any| {
            let seen = std::cell::RefCell::new(Vec::new());
            picks(&case, policy, |_, pick| seen.borrow_mut().push(pick));
            seen.into_inner()
        };
        for ((name, one), (_, other)) in policies(case.seed).iter().zip(&policies(case.seed)) {
            assert_eq!(sequence(one), sequence(other), "{name}");
        }
    }
    for_all(100, law);
}

#[test]
fn a_pick_changes_nothing_and_looks_at_each_candidate_at_most_once() {
    fn law(case: Case) {
        for (name, policy) in policies(case.seed) {
            let (members, attempted) = (ramping(&case), case.attempted());
            case.change(&members);
            let eligibility = case.eligibility(&members);
            let prepared = policy.prepare(&case.bare(&members), None).expect("generated members fit");
            let of_case = Some(&prepared).filter(|_| case.prepared != Hint::Absent);
            let state = || {
                let loads: Vec<_> = members.iter().map(|member| member.load.get().to_bits()).collect();
                let reasons: Vec<_> = members.iter().map(Member::reasons).collect();
                (loads, reasons, eligibility.as_ref().map(Eligibility::count))
            };
            let before = state();
            looks(&members);
            for key in 0..4 {
                let view = case.view(&members, &attempted, of_case, eligibility.as_ref());
                let pick = policy.pick_from(&view, &key);
                let most = looks(&members).most;
                assert!(most <= looks_allowed(name), "{name}: {pick:?} after {most} looks at one candidate");
            }
            assert!(before == state(), "{name}: a pick has no side effect");
        }
    }
    for_all(200, law);
}

#[test]
fn the_least_loaded_is_least_and_of_two_the_busier_one_is_never_chosen() {
    fn cost(member: &Member) -> f64 {
        let load = member.load.get();
        let part = if member.ramp > 0.0 { f64::from(member.ramp).min(1.0) } else { 0.0 };
        let cost = load.max(0.0) / (f64::from(member.weight.value()) * part);
        if load.is_nan() || part <= 0.0 { f64::INFINITY } else { cost }
    }
    fn law(case: Case) {
        let least: Any = Box::new(LeastLoaded::seeded(case.seed));
        picks(&case, &least, |view, pick| {
            let costs = oracle::eligible(view).into_iter().map(|at| cost(&view.candidates()[at]));
            if let Ok(pick) = pick
                && !is_misinformed(&case)
            {
                assert_eq!(Some(cost(&view.candidates()[pick.index()])), costs.reduce(f64::min));
            }
        });
        let two: Any = Box::new(PowerOfTwoChoices::seeded(case.seed));
        picks(&case, &two, |view, pick| {
            if let (Ok(pick), [a, b]) = (pick, &oracle::eligible(view)[..])
                && !is_misinformed(&case)
            {
                let other = if pick.index() == *a { *b } else { *a };
                let [chosen, other] = [pick.index(), other].map(|at| cost(&view.candidates()[at]));
                assert!(chosen <= other, "{chosen} was chosen over {other}");
            }
        });
    }
    for_all(500, law);
}

#[test]
fn every_policy_finds_the_one_eligible_among_many_at_bounded_cost() {
    for (name, policy) in policies(7) {
        let members = Member::many(512);
        let only = 317;
        let others = || members.iter().filter(|member| member.id != only);
        others().for_each(|member| member.exclude(Exclusion::Circuit));
        let config = PriorityConfig::default().with_panic_threshold_percent(0).expect("in range");
        let policy: Any = if name.contains("priority") {
            Box::new(failover(Random::seeded(7), 7).with_config(config))
        } else if name.contains("maglev") {
            Box::new(Maglev::new())
        } else {
            policy
        };
        let prepared = policy.prepare(&View::new(&members), None).expect("512 members fit");
        let eligibility = Eligibility::of(&members, &Now::lazy());
        looks(&members);
        for key in 0..1_000 {
            let view = View::new(&members).prepared(&prepared).eligibility(&eligibility);
            assert_eq!(policy.pick_from(&view, &key).map(Selection::index), Ok(317), "{name}");
            if !["least loaded", "least requests of all"].contains(&name) {
                let looks = looks(&members).total;
                assert!(
                    looks <= 2,
                    "{name} looked at {looks} candidates to find the one that its hints name"
                );
            }
            assert_eq!(policy.pick(&members, &key).map(Selection::index), Ok(317), "{name} without hints");
            looks(&members);
        }
        members[317].exclude(Exclusion::Draining);
        members[317].exclude(Exclusion::Capacity);
        let Err(PickError::NoEligible(counts)) = policy.pick(&members, &0) else {
            panic!("{name}: nobody is left")
        };
        let found = [Exclusion::Circuit, Exclusion::Draining, Exclusion::Capacity].map(|of| counts.of(of));
        assert_eq!((counts.candidates(), found), (512, [511, 1, 1]), "{name}");
    }
}

/// Lists the members that are left in play by a sparse set, and the hints for it.
fn sparse(members: &[Member], every: u64) -> (Vec<usize>, Eligibility) {
    let left = |member: &&Member| member.id.is_multiple_of(every);
    members.iter().filter(|member| !left(member)).for_each(|member| member.exclude(Exclusion::Outlier));
    let positions = members.iter().filter(left).map(|member| usize::try_from(member.id).expect("small"));
    (positions.collect(), Eligibility::of(members, &Now::lazy()))
}

#[test]
fn random_is_uniform_over_dense_and_sparse_sets_with_and_without_hints() {
    for (size, every) in [(7, 1), (8, 2), (100, 25), (500, 100)] {
        let members = Member::many(size);
        let (left, eligibility) = sparse(&members, every);
        let draws = draws_for(1.0 / left.len() as f64, 0.1) * 2;
        for hinted in [false, true] {
            let policy = Random::seeded(size + every);
            let pick = || {
                let view = View::new(&members);
                let view = if hinted { view.eligibility(&eligibility) } else { view };
                policy.pick_from(&view, &()).expect("some are left").index()
            };
            let counts = tally(members.len(), (0..draws).map(|_| pick()));
            let counts: Vec<_> = left.iter().map(|at| counts[*at]).collect();
            assert_eq!(counts.iter().sum::<u32>(), draws, "nobody else is drawn");
            assert_even(&counts, 0.1, &format!("{size} members, every {every}th, hinted: {hinted}"));
        }
    }
}

#[test]
fn random_stays_uniform_after_many_flips() {
    let members = Member::many(70);
    let eligibility = Eligibility::of(&members, &Now::lazy());
    let mut state = 99_u64;
    for _ in 0..10_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (slot, on) = (usize::try_from((state >> 33) % 70).expect("small"), state >> 63 == 1);
        members[slot].restore();
        if !on {
            members[slot].exclude(Exclusion::Probe);
        }
        eligibility.set(slot, on);
    }
    let left: Vec<_> = (0..70).filter(|slot| members[*slot].reasons().is_empty()).collect();
    assert_eq!(eligibility.count(), left.len(), "every flip was counted");
    let draws = draws_for(1.0 / left.len() as f64, 0.1);
    let policy = Random::seeded(5);
    let view = View::new(&members).eligibility(&eligibility);
    let counts = tally(70, (0..draws).map(|_| policy.pick_from(&view, &()).expect("some are left").index()));
    assert_even(&left.iter().map(|at| counts[*at]).collect::<Vec<_>>(), 0.1, "after flips");
}

#[test]
fn two_choices_compare_each_pair_with_the_same_chance() {
    // The chosen one of a pair is the one with the lower load; with loads in the order of positions, the member of rank r
    // among n wins against the n - 1 - r above it, so its share is (n - 1 - r) of n (n - 1) / 2 pairs.
    for (size, every) in [(5, 1), (10, 2), (200, 40)] {
        let members = Member::many(size);
        for member in &members {
            member.load.set(member.id as f64);
        }
        let (left, eligibility) = sparse(&members, every);
        let pairs = left.len() * (left.len() - 1) / 2;
        let draws = draws_for(1.0 / pairs as f64, 0.05);
        for hinted in [false, true] {
            let policy = PowerOfTwoChoices::seeded(size);
            let view = View::new(&members);
            let view = if hinted { view.eligibility(&eligibility) } else { view };
            let picks = (0..draws).map(|_| policy.pick_from(&view, &()).expect("some are left").index());
            let counts = tally(members.len(), picks);
            for (rank, at) in left.iter().enumerate() {
                let share = f64::from(draws) * (left.len() - 1 - rank) as f64 / pairs as f64;
                let off = (f64::from(counts[*at]) - share).abs();
                assert!(
                    off <= share * 0.05,
                    "rank {rank} of {left:?}: {} picks, not {share:.0}",
                    counts[*at]
                );
            }
        }
    }
}

#[test]
fn two_choices_between_equals_are_even_and_of_two_the_idle_one_wins_always() {
    let members = Member::many(9);
    let policy = PowerOfTwoChoices::seeded(11);
    let draws = draws_for(1.0 / 9.0, 0.05);
    let pick = |members: &[Member]| policy.pick(members, &()).expect("all are eligible").index();
    assert_even(&tally(9, (0..draws).map(|_| pick(&members))), 0.05, "equal loads");

    members[0].load.set(1.0);
    assert_eq!(tally(2, (0..10_000).map(|_| pick(&members[..2]))), [0, 10_000]);
}

#[test]
fn hostile_inputs_get_an_answer_or_a_typed_error() {
    for (name, policy) in policies(1) {
        assert_eq!(policy.pick(&[], &0), Err(PickError::Empty), "{name}");
        assert_eq!(policy.pick(&Member::many(1), &0).map(Selection::index), Ok(0), "{name}");
        let members = Member::many(3);
        for scope in [&[0, 7][..], &[u32::MAX], &[2, 2, 2], &[2, 0, 1], &[9, u32::MAX, 0, 0], &[]] {
            let eligibility = Eligibility::new(scope.len(), |_| true);
            for hinted in [false, true] {
                let view = View::new(&members).within(scope);
                let view = if hinted { view.eligibility(&eligibility) } else { view };
                match policy.pick_from(&view, &0) {
                    Ok(selection) => drop(view.validate(selection).expect(name)),
                    Err(PickError::NoEligible(counts)) => {
                        assert_eq!(counts.of(Exclusion::OutOfScope) as usize, scope.len(), "{name}");
                    }
                    Err(PickError::Empty) => assert!(scope.is_empty(), "{name}"),
                    Err(PickError::InconsistentTopology | PickError::DuplicateIdentity { .. }) => {
                        let tables = [
                            "maglev",
                            "ring",
                            "smooth",
                            "prequal",
                            "utilization",
                            "priority",
                            "locality",
                            "zone",
                        ];
                        assert!(tables.iter().any(|of| name.contains(of)), "{name} has no table");
                    }
                    Err(other) => panic!("{name} within {scope:?}: {other:?}"),
                }
                assert!(policy.prepare(&view, None).is_ok() || scope.len() > 1 || scope[0] > 2, "{name}");
            }
        }
    }
}

#[test]
fn flips_of_state_and_load_in_other_threads_make_no_pick_panic() {
    let members = Member::many(65);
    let eligibility = Eligibility::of(&members, &Now::lazy());
    for (name, policy) in policies(21) {
        let prepared = policy.prepare(&View::new(&members), None).expect("65 members fit");
        let done = AtomicBool::new(false);
        let flip = |mut state: u64| {
            while !done.load(Ordering::Relaxed) {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // The first member is left alone, so somebody is always eligible.
                let (slot, on) = (usize::try_from((state >> 33) % 64 + 1).expect("small"), state >> 62 == 0);
                if on {
                    members[slot].restore();
                } else {
                    members[slot].exclude(Exclusion::Circuit);
                }
                members[slot].load.set(f64::from_bits(state));
                eligibility.set(slot, on);
                prepared.set_eligible(slot, on);
            }
        };
        thread::scope(|scope| {
            let flips = [1, 2].map(|seed| scope.spawn(move || flip(seed)));
            for key in 0..3_000 {
                let view = View::new(&members).prepared(&prepared).eligibility(&eligibility);
                let pick = policy.pick_from(&view, &key).map(Selection::index);
                assert!(pick.is_ok_and(|index| index < 65), "{name}: {pick:?} though the first is eligible");
                assert!(policy.pick(&members, &key).is_ok(), "{name} without tables");
            }
            done.store(true, Ordering::Relaxed);
            for flip in flips {
                flip.join().expect("flips do not panic");
            }
        });
    }
}

/// Sends a request to the shard that its user lives on.
#[derive(Debug)]
struct ByUser;

struct Request {
    user: usize,
}

impl<C: Candidate> Prepare<C> for ByUser {}

impl<C: Candidate> Policy<C, Request> for ByUser {
    fn pick_from(&self, view: &View<'_, C>, request: &Request) -> Result<Selection, PickError> {
        view.first_from(request.user % view.len().max(1))
    }
}

#[test]
fn a_policy_of_ones_own_sees_the_request() {
    let [a, b, c] = ["a", "b", "c"].map(Backend::new);
    let shards = [a, b.with_status(Status::Draining), c];
    let choose = |user| ByUser.choose(&shards, &Request { user }).map(|shard| *shard.id());
    assert_eq!([3, 4, 5].map(choose), [Ok("a"), Ok("c"), Ok("c")]);
    assert_eq!(ByUser.pick(&shards[..0], &Request { user: 1 }), Err(PickError::Empty));
    let everywhere = PriorityFailover::new(ByUser);
    assert_eq!(everywhere.pick(&shards, &Request { user: 2 }).map(Selection::index), Ok(2));
}

/// Answers with a position that it made up.
#[derive(Debug)]
struct MadeUp(usize);

impl<C> Prepare<C> for MadeUp {}

impl<C> Policy<C> for MadeUp {
    fn pick_from(&self, _: &View<'_, C>, (): &()) -> Result<Selection, PickError> {
        Ok(Selection::new(self.0))
    }
}

#[test]
fn a_wrong_answer_of_a_policy_is_a_typed_error() {
    let members = Member::many(3);
    members[1].exclude(Exclusion::Circuit);
    let tried = Attempted::from_iter([2]);
    let view = View::new(&members).avoiding(&tried);
    let validate = |index| {
        let selection = MadeUp(index).pick_from(&view, &()).expect("it always answers");
        view.validate(selection).map(|member| member.id)
    };
    assert_eq!(validate(0), Ok(0));
    let excluded = |index, reason: Exclusion| InvalidSelection::Excluded { index, exclusions: reason.into() };
    assert_eq!(validate(1), Err(excluded(1, Exclusion::Circuit)));
    assert_eq!(validate(2), Err(excluded(2, Exclusion::Attempted)));
    assert_eq!(validate(9), Err(InvalidSelection::OutOfRange { index: 9, candidates: 3 }));
    assert_eq!(MadeUp(9).choose(&members, &()).map(|member| member.id), Err(PickError::InconsistentTopology));
}

/// Tables of a few hundred places or points, as the suite makes them, say that they are too small.
#[test]
fn every_policy_takes_seventy_thousand_members_of_any_weight_or_says_that_its_table_is_too_small() {
    let mut members = Member::many(70_000);
    for member in &mut members {
        let weights = [Weight::ONE, Weight::new(7).expect("not zero"), Weight::MAX];
        member.weight = weights[usize::try_from(member.id % 3).expect("small")];
    }
    members.iter().filter(|member| member.id % 2 == 1).for_each(|member| member.exclude(Exclusion::Outlier));
    let eligibility = Eligibility::of(&members, &Now::lazy());
    for (name, policy) in policies(3) {
        let prepared = match policy.prepare(&View::new(&members), None) {
            Ok(prepared) => prepared,
            Err(PickError::CapacityExceeded { .. }) if name.contains("maglev") || name.contains("ring") => {
                continue;
            }
            Err(other) => panic!("{name}: {other}"),
        };
        let view = View::new(&members).prepared(&prepared).eligibility(&eligibility);
        for key in 0..20 {
            let selection = policy.pick_from(&view, &key).unwrap_or_else(|error| panic!("{name}: {error}"));
            let picked = view.validate(selection).expect("a pick is in bounds and eligible");
            assert_eq!(picked.id % 2, 0, "{name} picked who is excluded");
        }
    }
}
