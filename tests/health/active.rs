//! Endpoints that are probed apart from the traffic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::support::clock::Clock;
use crate::support::probing::{INTERVAL, health, is_excluded, probe, secs};
use poise::core::{Backend, Candidate, Changes, Exclusion, Now, Status};
use poise::health::{
    ActiveHealth, ActiveHealthConfig, ActiveHealthConfigError, CircuitConfig, HealthChecked, HealthSignal,
    PassiveHealth, ProbeCompletion, ProbeOutcome, ProbeRejection, ProbeState, UnknownPolicy,
};

use ProbeOutcome::{Cancelled, Healthy, Unhealthy};

/// Lets one probe after another end in this way, and returns what each did.
fn probes(health: &ActiveHealth, outcomes: &[ProbeOutcome]) -> Vec<ProbeCompletion> {
    let clock = Clock::new();
    outcomes.iter().zip(0..).map(|(outcome, i)| probe(health, *outcome, &clock.at(INTERVAL * i))).collect()
}

// --- thresholds ---

#[test]
fn only_results_in_a_row_reach_a_threshold() {
    use ProbeCompletion::{Counted, TurnedHealthy, TurnedUnhealthy};
    let row = [Unhealthy, Unhealthy, Healthy, Unhealthy, Unhealthy, Unhealthy, Unhealthy];
    let expected = [Counted, Counted, Counted, Counted, Counted, TurnedUnhealthy, Counted];
    assert_eq!(probes(&health(), &row), expected);
    let row = [Healthy, Unhealthy, Healthy, Healthy, Healthy];
    assert_eq!(probes(&health(), &row), [Counted, Counted, Counted, TurnedHealthy, Counted]);
}

#[test]
fn a_single_success_does_not_bring_an_unhealthy_endpoint_back() {
    let fast = ActiveHealth::new(ActiveHealthConfig::default().with_fast_start());
    let row = [Unhealthy, Unhealthy, Unhealthy, Healthy, Unhealthy, Healthy, Healthy];
    let done = probes(&fast, &row);
    assert_eq!(done[2], ProbeCompletion::TurnedUnhealthy);
    assert_eq!(done[3], ProbeCompletion::Counted, "fast start is for endpoints of which nothing is known");
    assert_eq!(done[6], ProbeCompletion::TurnedHealthy);
}

#[test]
fn a_first_success_counts_at_once_only_with_fast_start() {
    let denied = ActiveHealthConfig::default().with_unknown_policy(UnknownPolicy::Deny);
    let now = Clock::new().at(Duration::ZERO);
    for (config, completion, excluded) in [
        (denied, ProbeCompletion::Counted, true),
        (denied.with_fast_start(), ProbeCompletion::TurnedHealthy, false),
    ] {
        let health = ActiveHealth::new(config);
        assert!(is_excluded(&health, &now));
        assert_eq!(probe(&health, Healthy, &now), completion);
        assert_eq!(is_excluded(&health, &now), excluded);
    }
}

#[test]
fn the_unknown_are_chosen_unless_the_policy_denies_it() {
    let now = Clock::new().at(Duration::ZERO);
    assert!(!is_excluded(&health(), &now));
    let strict = ActiveHealthConfig::default().with_unknown_policy(UnknownPolicy::Deny);
    let strict = ActiveHealth::new(strict);
    assert!(is_excluded(&strict, &now));
    assert_eq!(probes(&strict, &[Healthy, Healthy])[1], ProbeCompletion::TurnedHealthy);
    assert!(!is_excluded(&strict, &now));
}

// --- reservations ---

#[test]
fn one_probe_at_a_time_and_one_per_interval() {
    let clock = Clock::new();
    let health = health();
    let (start, due) = (clock.at(Duration::ZERO), clock.instant(INTERVAL));
    assert_eq!(health.next_due(&start), Some(start.instant()), "the first one is due at once");
    let reservation = health.try_reserve(&start).unwrap();
    let rejection = health.try_reserve(&clock.at(secs(9))).unwrap_err();
    assert_eq!(rejection, ProbeRejection::UnderWay { until: Some(due) });
    reservation.complete(Healthy, &clock.at(secs(1)));
    let rejection = health.try_reserve(&clock.at(secs(9))).unwrap_err();
    assert_eq!(rejection, ProbeRejection::NotDue { at: Some(due) });
    assert_eq!(health.next_due(&clock.at(secs(9))), Some(due), "it counts from the start of the last one");
    assert!(health.try_reserve(&clock.at(INTERVAL)).is_ok());
}

#[test]
fn cancellation_is_never_backend_failure() {
    let clock = Clock::new();
    let health = health();
    for i in 0..10 {
        let now = clock.at(INTERVAL * (3 * i));
        assert_eq!(probe(&health, Cancelled, &now), ProbeCompletion::Cancelled);
        let later = clock.at(INTERVAL * (3 * i + 1));
        drop(health.try_reserve(&later).unwrap());
        assert_eq!(health.next_due(&later), Some(later.instant() + INTERVAL), "another attempt follows");
        let last = clock.at(INTERVAL * (3 * i + 2));
        assert_eq!(health.try_reserve(&last).unwrap().cancel(&last), ProbeCompletion::Cancelled);
    }
    let report = health.report(&clock.at(secs(0)));
    assert_eq!((report.state, report.failures, report.counts.cancelled), (ProbeState::Unknown, 0, 30));
    assert_eq!(health.epoch(), 0);
}

#[test]
fn a_cancelled_probe_ends_no_row() {
    let done = probes(&health(), &[Unhealthy, Cancelled, Unhealthy, Cancelled, Unhealthy]);
    assert_eq!(done[4], ProbeCompletion::TurnedUnhealthy);
}

#[test]
fn a_panic_while_probing_gives_the_reservation_back() {
    let clock = Clock::new();
    let health = health();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _reservation = health.try_reserve(&clock.at(Duration::ZERO)).unwrap();
        panic!("the probe");
    }));
    assert!(panicked.is_err());
    let report = health.report(&clock.at(Duration::ZERO));
    assert!(!report.is_under_way);
    assert_eq!((report.state, report.counts.cancelled), (ProbeState::Unknown, 1));
}

#[test]
fn a_reservation_that_is_never_completed_lapses_and_decides_nothing() {
    let clock = Clock::new();
    let health = health();
    for i in 0..4 {
        // A ticket that is lost, as by a driver that died.
        let _lost = health.reserve(&clock.at(INTERVAL * i)).expect("nothing wedges");
    }
    let late = health.reserve(&clock.at(INTERVAL * 4)).unwrap();
    let next = health.reserve(&clock.at(INTERVAL * 5)).unwrap();
    assert_eq!(health.settle(late, Unhealthy, &clock.at(INTERVAL * 5)), ProbeCompletion::Ignored);
    assert_eq!(health.settle(next, Healthy, &clock.at(INTERVAL * 5)), ProbeCompletion::Counted);
    let counts = health.report(&clock.at(INTERVAL * 5)).counts;
    assert_eq!((counts.reserved, counts.lapsed, counts.ignored, counts.healthy), (6, 5, 1, 1));
}

#[test]
fn a_result_at_the_very_end_of_its_interval_is_too_late() {
    let clock = Clock::new();
    for (at, expected) in [
        (INTERVAL.saturating_sub(Duration::from_nanos(1)), ProbeCompletion::Counted),
        (INTERVAL, ProbeCompletion::Ignored),
    ] {
        let health = health();
        let reservation = health.try_reserve(&clock.at(Duration::ZERO)).unwrap();
        assert_eq!(reservation.complete(Unhealthy, &clock.at(at)), expected);
    }
}

#[test]
fn a_result_given_twice_counts_once() {
    let now = Clock::new().at(Duration::ZERO);
    let health = health();
    let ticket = health.reserve(&now).unwrap();
    assert_eq!(health.settle(ticket, Healthy, &now), ProbeCompletion::Counted);
    assert_eq!(health.settle(ticket, Healthy, &now), ProbeCompletion::Ignored);
    assert_eq!(health.report(&now).successes, 1);
}

#[test]
fn an_endless_interval_means_one_probe() {
    let clock = Clock::new();
    let config = ActiveHealthConfig::default().with_interval(Duration::MAX).unwrap().with_fast_start();
    let health = ActiveHealth::new(config);
    assert_eq!(probe(&health, Healthy, &clock.at(Duration::ZERO)), ProbeCompletion::TurnedHealthy);
    let far = clock.at(secs(1_000_000_000));
    assert_eq!(health.try_reserve(&far).unwrap_err(), ProbeRejection::NotDue { at: None });
    assert_eq!(health.next_due(&far), None);
}

// --- forced ---

#[test]
fn force_takes_effect_at_once_and_voids_stale_probes() {
    let clock = Clock::new();
    for (force, forced, excluded, outcome) in [
        (ActiveHealth::force_healthy as fn(&_, &_), ProbeState::ForcedHealthy, false, Unhealthy),
        (ActiveHealth::force_unhealthy, ProbeState::ForcedUnhealthy, true, Healthy),
    ] {
        let config = ActiveHealthConfig::default().with_unhealthy_threshold(1).unwrap().with_fast_start();
        let health = ActiveHealth::new(config);
        let now = clock.at(Duration::ZERO);
        let stale = health.try_reserve(&now).unwrap();
        force(&health, &now);
        assert_eq!((health.state(), is_excluded(&health, &now)), (forced, excluded), "at once");
        assert_eq!(stale.complete(outcome, &clock.at(secs(1))), ProbeCompletion::Ignored);
        assert_eq!((health.state(), health.epoch()), (forced, 1));
        let counts = health.report(&now).counts;
        assert_eq!((counts.voided, counts.ignored), (1, 1), "it is reported");
    }
}

#[test]
fn a_forced_state_holds_until_it_is_lifted_and_is_not_probed() {
    let clock = Clock::new();
    let health = health();
    health.force_unhealthy(&clock.at(secs(5)));
    for time in [secs(5), INTERVAL, INTERVAL * 1_000] {
        let now = clock.at(time);
        assert_eq!(health.try_reserve(&now).unwrap_err(), ProbeRejection::Forced);
        assert_eq!(health.next_due(&now), None);
        assert!(is_excluded(&health, &now));
    }
    assert_eq!(health.report(&clock.at(secs(6))).since, Some(clock.instant(secs(5))));
    let now = clock.at(secs(7));
    assert!(health.lift(&now));
    assert!(!health.lift(&now), "nothing is left to lift");
    assert_eq!((health.state(), health.next_due(&now)), (ProbeState::Unknown, Some(now.instant())));
}

#[test]
fn a_probe_from_before_a_force_decides_nothing_after_the_lift() {
    let clock = Clock::new();
    let config = ActiveHealthConfig::default().with_unhealthy_threshold(1).unwrap();
    let health = ActiveHealth::new(config);
    let now = clock.at(Duration::ZERO);
    let stale = health.try_reserve(&now).unwrap();
    let epoch = stale.epoch();
    health.force_healthy(&now);
    health.lift(&now);
    let fresh = health.try_reserve(&now).expect("what is void is in nobody's way");
    assert_ne!(fresh.epoch(), epoch);
    assert_eq!(stale.complete(Unhealthy, &now), ProbeCompletion::Ignored);
    assert!(health.report(&now).is_under_way, "the stale one has not taken the place of the fresh one");
    assert_eq!(fresh.complete(Healthy, &now), ProbeCompletion::Counted);
}

#[test]
fn forcing_forgets_the_row_before_it() {
    let clock = Clock::new();
    let health = health();
    probe(&health, Unhealthy, &clock.at(Duration::ZERO));
    probe(&health, Unhealthy, &clock.at(INTERVAL));
    health.force_healthy(&clock.at(INTERVAL));
    health.lift(&clock.at(INTERVAL));
    assert_eq!(probe(&health, Unhealthy, &clock.at(INTERVAL)), ProbeCompletion::Counted);
}

// --- composition ---

#[test]
fn wrappers_never_revive_draining() {
    let now = Clock::new().at(Duration::ZERO);
    for status in [Status::Draining, Status::Unavailable] {
        let active = ActiveHealth::new(ActiveHealthConfig::default());
        let circuit = PassiveHealth::new(CircuitConfig::new(1, INTERVAL).unwrap());
        let inner = HealthChecked::new(Backend::new("a").with_status(status), active);
        let checked = HealthChecked::new(inner, circuit);
        checked.backend().health().force_healthy(&now);
        checked.health().force_close();
        assert!(!checked.is_eligible(&now), "health says yes, its owner says no");
        assert_eq!(checked.status(), status);

        checked.backend().health().force_unhealthy(&now);
        checked.health().force_open();
        let exclusions = checked.exclusions(&now);
        assert!(exclusions.contains(Exclusion::Probe) && exclusions.contains(Exclusion::Circuit));
        assert_eq!(exclusions.deciding(), status.exclusions().deciding(), "the owner comes first");
    }
}

#[test]
fn an_active_probe_decides_before_a_circuit() {
    let now = Clock::new().at(Duration::ZERO);
    let circuit = PassiveHealth::new(CircuitConfig::new(1, INTERVAL).unwrap());
    let signals = (circuit, health());
    signals.0.force_open();
    assert_eq!(signals.exclusions(&now).deciding(), Some(Exclusion::Circuit));
    signals.1.force_unhealthy(&now);
    assert_eq!(signals.exclusions(&now).deciding(), Some(Exclusion::Probe));
}

#[test]
fn every_transition_is_told_after_it_is_visible_and_nothing_else_is() {
    let clock = Clock::new();
    let config = ActiveHealthConfig::default().with_unhealthy_threshold(2).unwrap();
    let health = Arc::new(ActiveHealth::new(config));
    let told = Arc::new(AtomicU32::new(0));
    let (listener, weak) = (Arc::clone(&told), Arc::downgrade(&health));
    health.watch(Changes::new(Arc::new(move || {
        listener.fetch_add(1, Ordering::Relaxed);
        let health = weak.upgrade().expect("it lives");
        // A listener looks at it: with a lock held here, this would never return.
        let _ = health.report(&Now::lazy());
    })));
    let due = Arc::new(AtomicU32::new(0));
    let listener = Arc::clone(&due);
    health.watch_due(Changes::new(Arc::new(move || {
        listener.fetch_add(1, Ordering::Relaxed);
    })));
    let news = || told.swap(0, Ordering::Relaxed);

    probe(&health, Unhealthy, &clock.at(Duration::ZERO));
    assert_eq!(news(), 0, "it was only counted");
    probe(&health, Unhealthy, &clock.at(INTERVAL));
    assert_eq!(news(), 1, "it turned unhealthy");
    drop(health.try_reserve(&clock.at(INTERVAL * 2)).unwrap());
    assert_eq!(news(), 0, "it was cancelled");
    health.force_healthy(&clock.at(INTERVAL * 2));
    health.force_healthy(&clock.at(INTERVAL * 2));
    assert_eq!(news(), 1, "the second time it was forced already");
    assert_eq!(due.load(Ordering::Relaxed), 0);
    health.lift(&clock.at(INTERVAL * 2));
    assert_eq!((news(), due.load(Ordering::Relaxed)), (1, 1), "a probe is due out of turn");
}

// --- configuration ---

#[test]
fn what_makes_no_sense_is_a_typed_error() {
    use ActiveHealthConfigError as Error;
    let config = ActiveHealthConfig::default();
    assert_eq!(config.with_healthy_threshold(0), Err(Error::ZeroHealthyThreshold));
    assert_eq!(config.with_unhealthy_threshold(0), Err(Error::ZeroUnhealthyThreshold));
    assert_eq!(config.with_interval(Duration::ZERO), Err(Error::ZeroInterval));
    assert_eq!(config.with_timeout(Duration::ZERO), Err(Error::ZeroTimeout));
    assert_eq!(config.with_timeout(INTERVAL), Err(Error::TimeoutNotBelowInterval));
    let limited = config.with_timeout(secs(3)).unwrap();
    assert_eq!(limited.with_interval(secs(3)), Err(Error::TimeoutNotBelowInterval));
}

#[test]
fn the_defaults_are_as_documented() {
    let config = ActiveHealthConfig::default();
    assert_eq!((config.healthy_threshold(), config.unhealthy_threshold()), (2, 3));
    assert_eq!((config.interval(), config.timeout()), (secs(10), Some(secs(5))));
    assert_eq!((config.unknown_policy(), config.has_fast_start()), (UnknownPolicy::Allow, false));
    assert_eq!(config.with_interval(secs(4)).unwrap().timeout(), Some(secs(2)), "half the interval");
    assert_eq!(config.without_timeout().timeout(), None);
}
