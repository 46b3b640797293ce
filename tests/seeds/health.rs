//! Health: composition, circuits, probes, windows, outliers.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use poise::core::{
    AdditiveLoad, Backend, Candidate, Exclusion, InFlight, Locality, Now, Outcome, Status, Weight,
};
use poise::health::{
    ActiveHealth, ActiveHealthConfig, BudgetConfig, BudgetKind, CircuitConfig, CircuitConfigError,
    CircuitRejection, CircuitState, Completion, Ejection, Ejector, EjectorAction, EjectorConfig,
    ExclusionBudget, HealthChecked, OutcomeWindow, OutlierCause, OutlierConfig, OutlierDetector,
    OutlierSample, PassiveHealth, PenaltyConfig, PenaltyScore, ProbeCompletion, ProbeOutcome, ProbeRejection,
    ProbeState, UnknownPolicy, WindowConfig,
};
use poise::tokio::{ActiveHealthRunner, ProbeEnd, TimeoutPolicy};

use crate::circuits::{OPEN_FOR, circuit, config, fail, is_excluded, secs};
use crate::clock::Clock;
use crate::probing::{self, INTERVAL, probe};

fn good(circuit: &PassiveHealth, now: &Now) -> Completion {
    circuit.try_acquire(now).expect("the circuit admits").complete(Outcome::Success, now)
}

// --- composition ---

#[test]
fn a_wrapper_delegates_identity_weight_topology_and_load() {
    let weight = Weight::new(7).unwrap();
    let backend = Backend::new("a")
        .with_load(InFlight::new())
        .with_weight(weight)
        .with_priority(3)
        .with_locality(Locality::new("eu", "a"));
    let checked = HealthChecked::new(backend, probing::health());
    assert_eq!((*checked.id(), Candidate::weight(&checked), Candidate::priority(&checked)), ("a", weight, 3));
    assert_eq!(Candidate::locality(&checked), Some(&Locality::new("eu", "a")));
    let guard = poise::core::Tracked::start(checked.load(), &Now::lazy());
    assert_eq!(AdditiveLoad::count(checked.load()), 1);
    drop(guard);
}

#[test]
fn eligibility_takes_both_the_candidate_and_its_health() {
    let now = Clock::new().at(Duration::ZERO);
    for status in [Status::Ready, Status::Draining, Status::Unavailable] {
        for healthy in [true, false] {
            let checked = HealthChecked::new(Backend::new("a").with_status(status), probing::health());
            if healthy {
                checked.health().force_healthy(&now);
            } else {
                checked.health().force_unhealthy(&now);
            }
            assert_eq!(
                checked.is_eligible(&now),
                healthy && status == Status::Ready,
                "{status:?}, {healthy}"
            );
            assert_eq!(Candidate::status(&checked), status, "what the owner says is not touched");
        }
    }
}

#[test]
fn nested_wrappers_are_independent_gates_and_all_reasons_stay() {
    let now = Clock::new().at(Duration::ZERO);
    let inner = HealthChecked::new(Backend::new("a"), probing::health());
    let checked = HealthChecked::new(inner, circuit(1));
    checked.backend().health().force_unhealthy(&now);
    checked.health().force_open();
    let exclusions = checked.exclusions(&now);
    assert!(exclusions.contains(Exclusion::Probe) && exclusions.contains(Exclusion::Circuit));
    assert_eq!(exclusions.deciding(), Some(Exclusion::Probe), "active health comes before the circuit");
    checked.backend().health().force_healthy(&now);
    assert_eq!(checked.exclusions(&now).deciding(), Some(Exclusion::Circuit));
    checked.health().force_close();
    assert!(checked.is_eligible(&now));
}

// --- circuits ---

#[test]
fn a_circuit_opens_after_failures_in_a_row_and_closes_after_a_cooldown_and_successes() {
    let clock = Clock::new();
    let circuit = PassiveHealth::new(config(3).with_successes_to_close(2).unwrap());
    let start = clock.at(Duration::ZERO);
    assert_eq!([fail(&circuit, &start), fail(&circuit, &start)], [Completion::Counted; 2]);
    assert_eq!(good(&circuit, &start), Completion::Counted, "a success ends the row");
    assert_eq!([fail(&circuit, &start), fail(&circuit, &start)], [Completion::Counted; 2]);
    assert_eq!(fail(&circuit, &start), Completion::Tripped);
    let until = Some(clock.instant(OPEN_FOR));
    assert_eq!(circuit.try_acquire(&start).unwrap_err(), CircuitRejection::Open { until });

    let half_open = clock.at(OPEN_FOR);
    assert!(!is_excluded(&circuit, &half_open), "it may be tried");
    let permit = circuit.try_acquire(&half_open).unwrap();
    assert!(matches!(circuit.state(&half_open), CircuitState::HalfOpen { probes: 1, .. }));
    assert_eq!(permit.complete(Outcome::Success, &half_open), Completion::Counted);
    assert_eq!(good(&circuit, &half_open), Completion::Closed);
    assert!(!is_excluded(&circuit, &half_open));
}

#[test]
fn a_failed_probe_opens_the_circuit_again() {
    let clock = Clock::new();
    let circuit = circuit(1);
    fail(&circuit, &clock.at(Duration::ZERO));
    assert_eq!(fail(&circuit, &clock.at(OPEN_FOR)), Completion::Tripped);
    let until = Some(clock.instant(OPEN_FOR * 2));
    assert_eq!(circuit.try_acquire(&clock.at(OPEN_FOR)).unwrap_err(), CircuitRejection::Open { until });
}

#[test]
fn no_cooldown_is_refused_and_an_endless_one_is_right() {
    assert_eq!(CircuitConfig::new(1, Duration::ZERO).unwrap_err(), CircuitConfigError::ZeroOpenFor);
    let clock = Clock::new();
    let circuit = PassiveHealth::new(CircuitConfig::new(1, Duration::MAX).unwrap());
    fail(&circuit, &clock.at(Duration::ZERO));
    let far = clock.at(secs(1_000_000_000));
    assert_eq!(circuit.try_acquire(&far).unwrap_err(), CircuitRejection::Open { until: None });
}

#[test]
fn a_permit_ends_once_whether_completed_cancelled_or_dropped() {
    let clock = Clock::new();
    let now = clock.at(OPEN_FOR);
    let circuit = circuit(1);
    fail(&circuit, &clock.at(Duration::ZERO));
    for end in 0..3 {
        let permit = circuit.try_acquire(&now).expect("the one before has given its place back");
        assert!(matches!(circuit.try_acquire(&now), Err(CircuitRejection::HalfOpen { .. })), "one at a time");
        match end {
            0 => drop(permit),
            1 => assert_eq!(permit.cancel(&now), Completion::Cancelled),
            _ => assert_eq!(permit.complete(Outcome::Success, &now), Completion::Closed),
        }
    }
}

#[test]
fn late_results_of_an_old_epoch_change_nothing() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    let circuit = circuit(1);
    let (before_trip, before_force) =
        (circuit.try_acquire(&now).unwrap(), circuit.try_acquire(&now).unwrap());
    fail(&circuit, &now);
    let half_open = clock.at(OPEN_FOR);
    assert_eq!(before_trip.complete(Outcome::Success, &half_open), Completion::Ignored);
    assert!(is_excluded(&circuit, &now), "reopened state is newer than the result");
    circuit.force_close();
    assert_eq!(before_force.complete(Outcome::Failure, &half_open), Completion::Ignored);
    assert!(!is_excluded(&circuit, &half_open));
}

// --- active health ---

#[test]
fn thresholds_count_results_in_a_row() {
    use ProbeOutcome::{Healthy, Unhealthy};
    let clock = Clock::new();
    let health = probing::health();
    let mut probes = (0..).map(|i| clock.at(INTERVAL * i));
    let mut next = |outcome| probe(&health, outcome, &probes.next().unwrap());
    assert_eq!([next(Unhealthy), next(Unhealthy), next(Healthy)], [ProbeCompletion::Counted; 3]);
    assert_eq!([next(Unhealthy), next(Unhealthy)], [ProbeCompletion::Counted; 2]);
    assert_eq!(next(Unhealthy), ProbeCompletion::TurnedUnhealthy);
    assert_eq!([next(Healthy), next(Healthy)], [ProbeCompletion::Counted, ProbeCompletion::TurnedHealthy]);
}

#[test]
fn the_policy_says_what_becomes_of_the_unknown() {
    let now = Clock::new().at(Duration::ZERO);
    for (policy, excluded) in [(UnknownPolicy::Allow, false), (UnknownPolicy::Deny, true)] {
        let health = ActiveHealth::new(ActiveHealthConfig::default().with_unknown_policy(policy));
        assert_eq!(probing::is_excluded(&health, &now), excluded);
    }
}

#[test]
fn only_one_caller_reserves_a_probe_that_is_due() {
    let now = Clock::new().at(Duration::ZERO);
    let (health, start) = (probing::health(), now.instant());
    let granted: Vec<_> = std::thread::scope(|scope| {
        let callers: Vec<_> = (0..4).map(|_| scope.spawn(|| health.reserve(&Now::at(start)))).collect();
        callers.into_iter().filter_map(|caller| caller.join().unwrap().ok()).collect()
    });
    assert_eq!(granted.len(), 1);
    assert!(matches!(health.reserve(&now), Err(ProbeRejection::UnderWay { .. })));
}

#[test]
fn a_cancelled_probe_keeps_the_classification_and_another_one_follows() {
    let clock = Clock::new();
    let health = probing::health();
    let now = clock.at(Duration::ZERO);
    assert_eq!(health.try_reserve(&now).unwrap().cancel(&now), ProbeCompletion::Cancelled);
    assert_eq!(health.state(), ProbeState::Unknown);
    assert_eq!(health.next_due(&now), Some(clock.instant(INTERVAL)));
}

// --- on Tokio ---

#[tokio::test(start_paused = true)]
async fn what_a_timeout_means_is_explicit() {
    for (policy, state) in
        [(TimeoutPolicy::Unhealthy, ProbeState::Unhealthy), (TimeoutPolicy::Cancel, ProbeState::Unknown)]
    {
        let health = Arc::new(probing::health());
        let mut runner = ActiveHealthRunner::new(health, pending::<ProbeOutcome>, policy);
        for _ in 0..3 {
            assert_eq!(runner.next().await.end, ProbeEnd::TimedOut);
        }
        assert_eq!(runner.health().state(), state);
    }
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_is_dropped_finalises_its_reservation_as_cancelled() {
    let health = Arc::new(probing::health());
    let mut runner =
        ActiveHealthRunner::new(Arc::clone(&health), pending::<ProbeOutcome>, TimeoutPolicy::Unhealthy);
    assert!(tokio::time::timeout(secs(1), runner.next()).await.is_err(), "the probe is under way");
    drop(runner);
    let report = health.report(&Now::at(tokio::time::Instant::now().into_std()));
    assert_eq!((report.state, report.is_under_way, report.counts.cancelled), (ProbeState::Unknown, false, 1));
}

#[tokio::test(start_paused = true)]
async fn probes_repeat_by_the_clock_of_tokio() {
    let start = tokio::time::Instant::now();
    let probe = async || ProbeOutcome::Healthy;
    let mut runner = ActiveHealthRunner::new(Arc::new(probing::health()), probe, TimeoutPolicy::Unhealthy);
    for i in 0..5 {
        runner.next().await;
        assert_eq!(start.elapsed(), INTERVAL * i);
    }
}

// --- windows and outliers ---

#[test]
fn a_window_ignores_cancellation_and_forgets() {
    let clock = Clock::new();
    let window = OutcomeWindow::new(WindowConfig::default());
    let now = clock.at(Duration::ZERO);
    for _ in 0..10 {
        window.record(Outcome::Cancelled, &now);
        window.record(Outcome::Failure, &now);
    }
    assert_eq!(window.counts(&now).total(), 10);
    assert_eq!(window.counts(&clock.at(secs(86_400))).total(), 0, "history is bounded");
}

#[test]
fn a_penalty_waits_for_samples_and_weighs_overload_more_than_failure() {
    let now = Clock::new().at(Duration::ZERO);
    let score = |outcome, samples: u64| {
        let window = Arc::new(OutcomeWindow::default());
        (0..samples).for_each(|_| window.record(outcome, &now));
        PenaltyScore::new(window, PenaltyConfig::default().with_min_samples(10)).score(&now)
    };
    assert!(score(Outcome::Failure, 9) == 0.0, "a cold start is noise");
    assert!(score(Outcome::Failure, 10) > 0.0);
    assert!(score(Outcome::OVERLOAD, 10) > score(Outcome::Failure, 10));
}

#[test]
fn outliers_are_measured_against_hosts_with_enough_samples_and_named_worst_first() {
    let detector = OutlierDetector::new(OutlierConfig::default());
    let mut samples = vec![OutlierSample::new(100, 100); 20];
    samples[3] = OutlierSample::new(40, 100);
    samples[7] = OutlierSample::new(20, 100);
    samples[9] = OutlierSample::new(0, 5);
    let index = |outlier: &poise::health::Outlier| outlier.index();
    assert_eq!(
        detector.rank(&samples).iter().map(index).collect::<Vec<_>>(),
        [7, 3],
        "five requests say nothing"
    );
    let caps = BudgetConfig::default().with_outliers(0.05).unwrap();
    assert_eq!(detector.detect(&samples, &caps).iter().map(index).collect::<Vec<_>>(), [7], "at most a part");
    let caps = BudgetConfig::default().with_min_eligible(20);
    assert!(detector.detect(&samples, &caps).is_empty(), "and never below the least number");
}

// --- invariants of operation ---

#[test]
fn force_takes_effect_at_once_and_voids_stale_probes() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    let health = probing::health();
    let stale = health.try_reserve(&now).unwrap();
    health.force_unhealthy(&now);
    assert!(probing::is_excluded(&health, &now));
    assert_eq!(stale.complete(ProbeOutcome::Healthy, &now), ProbeCompletion::Ignored);

    let circuit = circuit(1);
    fail(&circuit, &now);
    let half_open = clock.at(OPEN_FOR);
    let stale = circuit.try_acquire(&half_open).unwrap();
    circuit.force_open();
    assert_eq!(circuit.try_acquire(&half_open).unwrap_err(), CircuitRejection::ForcedOpen);
    assert_eq!(stale.complete(Outcome::Success, &half_open), Completion::Ignored);
    assert!(is_excluded(&circuit, &half_open), "it holds until it is lifted");
}

#[test]
fn cancellation_is_never_backend_failure() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    let (circuit, health, window) = (circuit(1), probing::health(), OutcomeWindow::default());
    for i in 0..100 {
        drop(circuit.try_acquire(&now).unwrap());
        assert_eq!(circuit.try_acquire(&now).unwrap().cancel(&now), Completion::Cancelled);
        assert_eq!(
            circuit.try_acquire(&now).unwrap().complete(Outcome::Cancelled, &now),
            Completion::Cancelled
        );
        drop(health.try_reserve(&clock.at(INTERVAL * i)).unwrap());
        window.record(Outcome::Cancelled, &now);
    }
    assert_eq!(circuit.state(&now), CircuitState::Closed { failures: 0 });
    assert_eq!((health.state(), window.counts(&now).total()), (ProbeState::Unknown, 0));
}

#[test]
fn half_open_concurrency_is_a_reservation() {
    let clock = Clock::new();
    let circuit = PassiveHealth::new(config(1).with_half_open_permits(3).unwrap());
    fail(&circuit, &clock.at(Duration::ZERO));
    let start = clock.instant(OPEN_FOR);
    let granted: usize = std::thread::scope(|scope| {
        let callers: Vec<_> =
            (0..8).map(|_| scope.spawn(|| circuit.admit(&Now::at(start)).is_ok())).collect();
        callers.into_iter().map(|caller| usize::from(caller.join().unwrap())).sum()
    });
    assert_eq!(granted, 3, "of eight threads at once, not about three");
}

/// Ejects from a group of which the first so many members fail half of their requests; tells how many slots that took.
fn sweep(caps: BudgetConfig, members: usize, bad: usize) -> (u32, Vec<EjectorAction>) {
    let clock = Clock::new();
    let budget = Arc::new(ExclusionBudget::new(caps));
    budget.set_members(members);
    let signals: Vec<_> = (0..members).map(|_| Arc::new(Ejection::new(Arc::clone(&budget)))).collect();
    let mut ejector = Ejector::new(EjectorConfig::default());
    let sample = |member| OutlierSample::new(if member < bad { 50 } else { 100 }, 100);
    ejector.advance(&clock.at(Duration::ZERO), &signals, sample);
    let actions = ejector.advance(&clock.at(secs(10)), &signals, sample);
    (budget.taken(BudgetKind::Outlier), actions)
}

#[test]
fn ejection_respects_both_caps() {
    let half = || BudgetConfig::default().with_outliers(0.5).unwrap();
    for (caps, expected) in [(half(), 4), (half().with_min_eligible(18), 2), (BudgetConfig::default(), 2)] {
        let (taken, actions) = sweep(caps, 20, 4);
        let ejected = actions.iter().filter(|action| matches!(action, EjectorAction::Eject { .. })).count();
        assert_eq!((ejected, taken), (expected, u32::try_from(expected).unwrap()));
        assert_eq!(actions.len(), 4, "what is withheld is said, too");
    }
}

#[test]
fn wrappers_never_revive_draining() {
    let now = Clock::new().at(Duration::ZERO);
    let checked =
        HealthChecked::new(Backend::new("a").with_status(Status::Draining), (probing::health(), circuit(1)));
    checked.health().0.force_healthy(&now);
    checked.health().1.force_close();
    assert!(!checked.is_eligible(&now));
    assert_eq!(checked.exclusions(&now).deciding(), Some(Exclusion::Draining));
}

#[test]
fn actions_record_signal_and_epoch() {
    let (_, actions) = sweep(BudgetConfig::default(), 20, 1);
    let [action] = actions[..] else { panic!("one member is an outlier: {actions:?}") };
    assert_eq!((action.member(), action.cause(), action.epoch()), (0, OutlierCause::SuccessRate, 1));

    let circuit = circuit(1);
    let before = circuit.epoch();
    circuit.force_open();
    assert_eq!(circuit.epoch(), before + 1, "the epoch says which action this was");
}
