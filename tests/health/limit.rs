//! How many attempts a limit admits, and what moves it.

use std::sync::Arc;
use std::time::Duration;

use crate::support::clock::Clock;
use crate::support::limit_model;
use poise::core::policy::RoundRobin;
use poise::core::{
    AtCapacity, Backend, Candidate, Exclusion, InFlight, Limited, LoadMetric, LoadTracker, Now, Outcome,
    PeakEwma, PickError, Policy, Selection, Tracked, ZeroLimit,
};
use poise::health::{
    CircuitConfig, Completion, FixedLimit, GradientConfig, GradientConfigError, GradientLimit, HealthChecked,
    Limit, LimitedLoad, PassiveHealth,
};

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Runs rounds in which as many attempts as are admitted take `latency` each, and returns the limit after them.
fn rounds(limit: &GradientLimit, clock: Clock, from: u64, rounds: u64, latency: u64) -> u32 {
    for round in 0..rounds {
        let start = from + round * 200;
        let attempts: Vec<_> = (0..limit.limit().max(10))
            .filter_map(|_| limit.try_acquire(&clock.at(millis(start))).ok())
            .collect();
        // Where fewer than ten are admitted at once, a round takes several turns.
        let turns = 10_usize.div_ceil(attempts.len());
        for attempt in attempts {
            attempt.complete(Outcome::Success, &clock.at(millis(start + latency)));
        }
        for turn in 1..turns as u64 {
            for _ in 0..limit.limit() {
                let Ok(attempt) = limit.try_acquire(&clock.at(millis(start + turn))) else { break };
                attempt.complete(Outcome::Success, &clock.at(millis(start + turn + latency)));
            }
        }
    }
    limit.limit()
}

fn gradient(clock: Clock) -> GradientLimit {
    GradientLimit::new(GradientConfig::default(), &clock.at(Duration::ZERO))
}

#[test]
fn the_gradient_limit_agrees_with_its_model() {
    #[expect(clippy::needless_pass_by_value, reason = "what quickcheck generates is owned")]
    fn property(bytes: Vec<u8>) -> bool {
        limit_model::Scenario::decode(&bytes).check(Clock::new().instant(Duration::ZERO));
        true
    }
    quickcheck::QuickCheck::new().tests(2_000).quickcheck(property as fn(Vec<u8>) -> bool);
    let mut moved = 0;
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(1_002).collect();
        moved += limit_model::Scenario::decode(&bytes).check(Clock::new().instant(Duration::ZERO));
    }
    assert!(moved > 2_000, "the limit moved {moved} times only");
}

#[test]
fn a_fixed_limit_stays_whatever_the_outcomes() {
    let now = Clock::new().at(Duration::ZERO);
    let limit = FixedLimit::new(2).unwrap();
    let overload = Outcome::Overload { retry_after: Some(Duration::MAX) };
    for outcome in [Outcome::Success, Outcome::Failure, overload, Outcome::Cancelled] {
        let held = [limit.try_acquire(&now).unwrap(), limit.try_acquire(&now).unwrap()];
        assert_eq!(limit.try_acquire(&now).unwrap_err(), AtCapacity);
        assert!(limit.is_full() && limit.has_limit());
        for attempt in held {
            attempt.complete(outcome, &now);
        }
        assert_eq!((limit.in_flight(), limit.limit()), (0, 2));
    }
    assert_eq!(FixedLimit::new(0).unwrap_err(), ZeroLimit);
}

#[test]
fn every_place_comes_back_however_an_attempt_ends() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    let limit = Arc::new(gradient(clock));
    drop(limit.try_acquire(&now).unwrap());
    let attempt = limit.try_acquire(&now).unwrap();
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _attempt = attempt;
        std::panic::resume_unwind(Box::new("the attempt panics"));
    }));
    assert!(unwound.is_err());
    assert_eq!((limit.in_flight(), limit.limit()), (0, 20));
}

#[test]
fn a_limit_rises_while_answers_come_as_fast_as_ever_and_falls_when_they_do_not() {
    let clock = Clock::new();
    let limit = gradient(clock);
    let risen = rounds(&limit, clock, 0, 20, 150);
    assert_eq!(risen, 36, "eight tenths in each of twenty rounds");
    let fallen = rounds(&limit, clock, 10_000, 8, 900);
    assert!((8..22).contains(&fallen), "{fallen}: a tenth in each round, and four tenths back");
}

#[test]
fn a_tolerable_rise_of_the_latency_moves_nothing_down() {
    let clock = Clock::new();
    let limit = gradient(clock);
    let before = rounds(&limit, clock, 0, 10, 110);
    assert!(rounds(&limit, clock, 10_000, 10, 160) > before);
}

#[test]
fn a_limit_of_which_little_is_used_stays() {
    let clock = Clock::new();
    let limit = gradient(clock);
    for nth in 0..1_000 {
        let attempt = limit.try_acquire(&clock.at(millis(nth * 20))).unwrap();
        attempt.complete(Outcome::Success, &clock.at(millis(nth * 20 + 10)));
    }
    assert_eq!(limit.limit(), 20);
}

#[test]
fn failures_tell_no_latency_and_long_cancellations_do() {
    let clock = Clock::new();
    let [failing, leaving, quick] =
        [(Outcome::Failure, 1), (Outcome::Cancelled, 1_000), (Outcome::Cancelled, 1)].map(
            |(outcome, latency)| {
                let limit = gradient(clock);
                let before = rounds(&limit, clock, 0, 10, 110);
                for round in 0..10 {
                    let start = 10_000 + round * 2_000;
                    let attempts: Vec<_> = (0..before)
                        .filter_map(|_| limit.try_acquire(&clock.at(millis(start))).ok())
                        .collect();
                    for attempt in attempts {
                        attempt.complete(outcome, &clock.at(millis(start + latency)));
                    }
                }
                (before, limit.limit())
            },
        );
    assert_eq!(failing.0, failing.1, "a failure in a millisecond is not fast");
    assert!(
        leaving.1 < leaving.0,
        "callers that give up after a second have seen a slow member: {leaving:?}"
    );
    assert_eq!(quick.0, quick.1, "one that leaves at once has seen nothing");
}

#[test]
fn an_overload_takes_a_tenth_once_per_round_trip() {
    let clock = Clock::new();
    let limit = gradient(clock);
    let all: Vec<_> = (0..20).map(|_| limit.try_acquire(&clock.at(Duration::ZERO)).unwrap()).collect();
    for attempt in all {
        attempt.complete(Outcome::OVERLOAD, &clock.at(millis(10)));
    }
    assert_eq!(limit.limit(), 18, "twenty refusals of one crowd are one piece of news");
    limit.try_acquire(&clock.at(millis(20))).unwrap().complete(Outcome::OVERLOAD, &clock.at(millis(30)));
    assert_eq!(limit.limit(), 16);
}

#[test]
fn a_member_that_asks_for_it_is_left_alone_for_that_time() {
    let clock = Clock::new();
    let limit = gradient(clock);
    let at = |time| clock.at(millis(time));
    let overload = |seconds| Outcome::Overload { retry_after: Some(Duration::from_secs(seconds)) };
    limit.try_acquire(&at(0)).unwrap().complete(overload(5), &at(0));
    limit.try_acquire(&at(1)).unwrap().complete(overload(1), &at(1));
    assert_eq!(limit.limit(), 1);
    let only = limit.try_acquire(&at(4_999)).unwrap();
    assert!(limit.try_acquire(&at(4_999)).is_err(), "the longer wish counts");
    assert!(limit.try_acquire(&at(5_000)).is_ok(), "whoever comes then is admitted");
    drop(only);

    let limit = gradient(clock);
    limit.try_acquire(&at(0)).unwrap().complete(overload(u64::MAX), &at(0));
    let late = limit.try_acquire(&at(29_000)).unwrap();
    late.complete(Outcome::Success, &at(30_000));
    assert_eq!(limit.limit(), 18, "nobody can ask for more than the longest hold, and an end lifts it");
}

#[test]
fn a_full_member_is_excluded_for_capacity_and_passed_over() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    let config = GradientConfig::default().with_bounds(1, 1).unwrap();
    let member = |id| {
        let circuit = PassiveHealth::new(CircuitConfig::new(1, Duration::from_secs(1)).unwrap());
        let load = LimitedLoad::new(PeakEwma::new_at(&now), GradientLimit::new(config, &now));
        Limited::new(HealthChecked::new(Backend::new(id).with_load(load), circuit))
    };
    let members = [member("a"), member("b")];
    let held = Tracked::start(members[0].load(), &now).unwrap();
    assert_eq!(members[0].exclusions(&now), Exclusion::Capacity.into());
    assert_eq!(RoundRobin::starting_at(0).pick(&members, &()).map(Selection::index), Ok(1));
    let other = Tracked::start(members[1].load(), &now).unwrap();
    let Err(PickError::NoEligible(counts)) = RoundRobin::new().pick(&members, &()) else {
        panic!("both are full")
    };
    assert_eq!(counts.of(Exclusion::Capacity), 2);
    drop((held, other));
    assert!(members[0].exclusions(&now).is_empty());
}

#[test]
fn one_overload_acts_on_load_limit_and_circuit() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    let config = CircuitConfig::new(1, Duration::from_secs(1)).unwrap().with_growth(Duration::from_secs(60));
    let circuit = PassiveHealth::new(config.unwrap());
    let load = LimitedLoad::new(PeakEwma::new_at(&now), gradient(clock));
    let idle = load.measure(&now);
    let permit = circuit.try_acquire(&now).unwrap();
    let attempt = Tracked::start(&load, &now).unwrap();
    let outcome = Outcome::Overload { retry_after: Some(Duration::from_secs(7)) };
    attempt.complete(outcome, &now);
    assert_eq!(permit.complete(outcome, &now), Completion::Tripped);
    assert!(load.measure(&now) > idle, "the load counts a failure");
    assert_eq!(load.limit().limit(), 1, "the limit holds back");
    assert!(circuit.try_acquire(&clock.at(Duration::from_secs(6))).is_err(), "the circuit waits as long");
}

#[test]
fn what_either_of_two_refuses_leaves_nothing_in_the_other() {
    let now = Clock::new().at(Duration::ZERO);
    let load = LimitedLoad::new(InFlight::with_limit(1).unwrap(), FixedLimit::new(2).unwrap());
    let held = Tracked::start(&load, &now).unwrap();
    assert_eq!(Tracked::start(&load, &now).unwrap_err(), AtCapacity);
    assert_eq!((load.load().current(), load.limit().in_flight()), (1, 1));
    assert!(load.is_full());
    held.complete(Outcome::Success, &now);
    assert_eq!((load.load().current(), load.limit().in_flight()), (0, 0));
}

#[test]
fn settings_out_of_range_are_typed_errors() {
    let config = GradientConfig::default();
    for (min, max) in [(0, 5), (6, 5), (1, GradientConfig::MAX_LIMIT + 1)] {
        assert_eq!(config.with_bounds(min, max), Err(GradientConfigError::InvalidBounds));
    }
    for tolerance in [0.99, 100.1, f64::NAN] {
        assert_eq!(config.with_tolerance(tolerance), Err(GradientConfigError::InvalidTolerance));
    }
    assert_eq!(config.with_round(Duration::ZERO), Err(GradientConfigError::ZeroRound));
    let now = Now::lazy();
    let endless = config.with_round(Duration::MAX).unwrap().with_longest_hold(Duration::MAX).with_initial(0);
    let limit = GradientLimit::new(endless, &now);
    assert_eq!(limit.limit(), 1);
    let overload = Outcome::Overload { retry_after: Some(Duration::MAX) };
    for _ in 0..20 {
        limit.try_acquire(&now).unwrap().complete(Outcome::Success, &now);
        limit.try_acquire(&now).unwrap().complete(overload, &now);
    }
    assert_eq!((limit.limit(), limit.in_flight()), (1, 0));
}
