//! What a circuit does, state by state.

use std::time::Duration;

use crate::support::circuits::{
    OPEN_FOR, ROUND, attempt, circuit, config, fail, is_excluded, just_before, secs,
};
use crate::support::clock::Clock;
use poise::core::{Now, Outcome};
use poise::health::{
    CircuitConfig, CircuitPermit, CircuitRejection, CircuitState, Completion, HealthSignal, PassiveHealth,
    TripCause,
};

// --- closed ---

#[test]
fn three_failures_in_a_row_open_and_a_success_between_starts_the_row_anew() {
    let now = Clock::new().at(Duration::ZERO);
    let alternating = circuit(3);
    for _ in 0..3 {
        assert_eq!(fail(&alternating, &now), Completion::Counted);
        assert_eq!(attempt(&alternating, Outcome::Success, &now), Completion::Counted);
    }
    assert_eq!(alternating.state(&now), CircuitState::Closed { failures: 0 });

    let failing = circuit(3);
    let results = [(); 3].map(|()| fail(&failing, &now));
    assert_eq!(results, [Completion::Counted, Completion::Counted, Completion::Tripped]);
    assert!(is_excluded(&failing, &now));
}

#[test]
fn overload_counts_like_a_failure() {
    let now = Clock::new().at(Duration::ZERO);
    let circuit = circuit(2);
    fail(&circuit, &now);
    assert_eq!(attempt(&circuit, Outcome::OVERLOAD, &now), Completion::Tripped);
}

#[test]
fn a_cancelled_attempt_neither_counts_nor_ends_a_row_of_failures() {
    let now = Clock::new().at(Duration::ZERO);
    let circuit = circuit(2);
    fail(&circuit, &now);
    assert_eq!(attempt(&circuit, Outcome::Cancelled, &now), Completion::Cancelled);
    assert_eq!(circuit.try_acquire(&now).unwrap().cancel(&now), Completion::Cancelled);
    drop(circuit.try_acquire(&now).unwrap());
    assert_eq!(circuit.state(&now), CircuitState::Closed { failures: 1 });
    assert_eq!(fail(&circuit, &now), Completion::Tripped);
}

#[test]
fn a_closed_circuit_reads_no_clock() {
    let circuit = circuit(2);
    let now = Now::lazy();
    attempt(&circuit, Outcome::Success, &now);
    attempt(&circuit, Outcome::Failure, &now);
    assert!(circuit.exclusions(&now).is_empty());
    assert!(format!("{now:?}").contains("None"), "{now:?}");
}

// --- open ---

#[test]
fn a_cooldown_ends_at_its_deadline_to_the_nanosecond() {
    let clock = Clock::new();
    let circuit = circuit(1);
    fail(&circuit, &clock.at(secs(5)));
    let until = Some(clock.instant(secs(15)));
    let before = clock.at(just_before(secs(15)));
    assert_eq!(circuit.try_acquire(&before).unwrap_err(), CircuitRejection::Open { until });
    assert!(is_excluded(&circuit, &before));
    assert_eq!(circuit.changes_at(&before), until);

    let at = clock.at(secs(15));
    assert!(!is_excluded(&circuit, &at));
    assert_eq!(circuit.changes_at(&at), None);
    assert!(circuit.try_acquire(&at).unwrap().is_probe());
}

#[test]
fn looking_at_an_elapsed_circuit_changes_nothing() {
    let clock = Clock::new();
    let circuit = circuit(1);
    fail(&circuit, &clock.at(Duration::ZERO));
    for _ in 0..3 {
        assert!(!is_excluded(&circuit, &clock.at(OPEN_FOR)));
        assert_eq!(circuit.epoch(), 1);
    }
}

#[test]
fn a_constant_cooldown_is_the_same_after_every_failed_probe() {
    let clock = Clock::new();
    let circuit = circuit(1);
    fail(&circuit, &clock.at(Duration::ZERO));
    for turn in 1..6 {
        let time = OPEN_FOR * turn;
        assert!(circuit.try_acquire(&clock.at(just_before(time))).is_err());
        assert_eq!(fail(&circuit, &clock.at(time)), Completion::Tripped);
    }
    assert_eq!(circuit.trips(), 6);
}

#[test]
fn an_endless_cooldown_has_no_end() {
    let clock = Clock::new();
    let circuit = PassiveHealth::new(CircuitConfig::new(1, Duration::MAX).unwrap());
    fail(&circuit, &clock.at(Duration::ZERO));
    let later = clock.at(secs(100 * 365 * 86_400));
    assert_eq!(circuit.state(&later), CircuitState::Open { until: None });
    assert_eq!(circuit.try_acquire(&later).unwrap_err(), CircuitRejection::Open { until: None });
    assert_eq!(circuit.changes_at(&later), None);
    assert!(is_excluded(&circuit, &later));
}

#[test]
fn growth_and_jitter_bear_the_longest_durations() {
    let clock = Clock::new();
    let config = CircuitConfig::new(1, Duration::from_secs(u64::MAX / 2))
        .and_then(|config| config.with_growth(Duration::MAX))
        .and_then(|config| config.with_jitter(1.0))
        .and_then(|config| config.with_half_open_deadline(Duration::MAX))
        .unwrap()
        .with_seed(3);
    let circuit = PassiveHealth::new(config);
    fail(&circuit, &clock.at(Duration::ZERO));
    assert!(is_excluded(&circuit, &clock.at(secs(1))));
}

#[test]
fn a_clock_that_goes_back_keeps_an_open_circuit_open_and_panics_nowhere() {
    let clock = Clock::new();
    let circuit = circuit(1);
    fail(&circuit, &clock.at(secs(3_600)));
    assert!(circuit.try_acquire(&clock.at(Duration::ZERO)).is_err());
    let probe = circuit.try_acquire(&clock.at(secs(3_610))).unwrap();
    assert_eq!(probe.complete(Outcome::Failure, &clock.at(secs(1))), Completion::Tripped);
    assert!(circuit.try_acquire(&clock.at(just_before(secs(11)))).is_err());
    assert!(circuit.try_acquire(&clock.at(secs(11))).is_ok(), "ten seconds after its own trip");
}

// --- half open ---

#[test]
fn probes_are_limited_to_the_permits() {
    let clock = Clock::new();
    let circuit = PassiveHealth::new(config(1).with_half_open_permits(2).unwrap());
    fail(&circuit, &clock.at(Duration::ZERO));
    let now = clock.at(OPEN_FOR);
    let probes = [circuit.try_acquire(&now).unwrap(), circuit.try_acquire(&now).unwrap()];
    assert!(probes.iter().all(CircuitPermit::is_probe));
    let until = Some(clock.instant(OPEN_FOR + ROUND));
    assert_eq!(circuit.try_acquire(&now).unwrap_err(), CircuitRejection::HalfOpen { until });
    assert_eq!(circuit.state(&now), CircuitState::HalfOpen { probes: 2, successes: 0, until });
    assert!(is_excluded(&circuit, &now));
    assert_eq!(circuit.changes_at(&now), until);
}

#[test]
fn as_many_successes_as_asked_for_close_it() {
    let clock = Clock::new();
    let circuit = PassiveHealth::new(config(1).with_successes_to_close(3).unwrap());
    fail(&circuit, &clock.at(Duration::ZERO));
    let now = clock.at(OPEN_FOR);
    let results = [(); 3].map(|()| attempt(&circuit, Outcome::Success, &now));
    assert_eq!(results, [Completion::Counted, Completion::Counted, Completion::Closed]);
    assert!(!circuit.try_acquire(&now).unwrap().is_probe());
}

#[test]
fn successes_stay_counted_however_rare_the_traffic() {
    let clock = Clock::new();
    let circuit = PassiveHealth::new(config(1).with_successes_to_close(3).unwrap());
    fail(&circuit, &clock.at(Duration::ZERO));
    let results = [1, 2, 3].map(|hour| attempt(&circuit, Outcome::Success, &clock.at(secs(hour * 3_600))));
    assert_eq!(results, [Completion::Counted, Completion::Counted, Completion::Closed]);
}

#[test]
fn a_failed_probe_ends_the_row_of_successes() {
    let clock = Clock::new();
    let circuit = PassiveHealth::new(config(1).with_successes_to_close(2).unwrap());
    fail(&circuit, &clock.at(Duration::ZERO));
    attempt(&circuit, Outcome::Success, &clock.at(OPEN_FOR));
    assert_eq!(fail(&circuit, &clock.at(OPEN_FOR)), Completion::Tripped);
    assert_eq!(attempt(&circuit, Outcome::Success, &clock.at(OPEN_FOR * 2)), Completion::Counted);
}

#[test]
fn a_probe_whose_caller_gives_up_leaves_no_wedge() {
    let clock = Clock::new();
    let circuit = circuit(1);
    fail(&circuit, &clock.at(Duration::ZERO));
    let now = clock.at(OPEN_FOR);
    for _ in 0..1_000 {
        let probe = circuit.try_acquire(&now).expect("the permit of the last probe is back");
        assert!(probe.is_probe());
        drop(probe);
    }
    assert_eq!(circuit.trips(), 1, "giving up is no failure");
    assert_eq!(attempt(&circuit, Outcome::Success, &now), Completion::Closed);
}

#[test]
fn a_panic_gives_the_permit_back() {
    let clock = Clock::new();
    let circuit = circuit(1);
    fail(&circuit, &clock.at(Duration::ZERO));
    let now = clock.at(OPEN_FOR);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _probe = circuit.try_acquire(&now).unwrap();
        std::panic::resume_unwind(Box::new("the caller panics"));
    }));
    assert!(result.is_err());
    assert!(circuit.try_acquire(&now).is_ok());
}

#[test]
fn a_permit_that_is_never_completed_expires_and_the_endpoint_gets_another_chance() {
    let clock = Clock::new();
    let circuit = circuit(1);
    fail(&circuit, &clock.at(Duration::ZERO));
    let lost = circuit.admit(&clock.at(OPEN_FOR)).unwrap();

    let round_end = OPEN_FOR + ROUND;
    assert!(circuit.try_acquire(&clock.at(just_before(round_end))).is_err());
    let until = Some(clock.instant(round_end + OPEN_FOR));
    assert_eq!(
        circuit.try_acquire(&clock.at(round_end)).unwrap_err(),
        CircuitRejection::Open { until },
        "open again for the same cooldown"
    );
    assert!(circuit.try_acquire(&clock.at(just_before(round_end + OPEN_FOR))).is_err());
    let probe = circuit.try_acquire(&clock.at(round_end + OPEN_FOR)).unwrap();
    assert_eq!(circuit.trips(), 1, "no failure is recorded");

    let late = circuit.settle(lost, Outcome::Failure, &clock.at(round_end + OPEN_FOR));
    assert_eq!(late, Completion::Ignored);
    assert_eq!(probe.complete(Outcome::Success, &clock.at(round_end + OPEN_FOR)), Completion::Closed);
}

#[test]
fn an_undecided_round_repeats_a_grown_cooldown_without_growing_it() {
    let clock = Clock::new();
    let circuit = PassiveHealth::new(config(1).with_growth(secs(100)).unwrap());
    fail(&circuit, &clock.at(Duration::ZERO));
    fail(&circuit, &clock.at(secs(10)));
    let _lost = circuit.admit(&clock.at(secs(30))).unwrap();
    assert!(
        circuit.admit(&clock.at(just_before(secs(54)))).is_err(),
        "four seconds of round, twenty of cooldown"
    );
    assert!(circuit.admit(&clock.at(secs(54))).is_ok());
}

#[test]
fn a_result_at_the_deadline_of_its_round_is_too_late() {
    let clock = Clock::new();
    for (time, expected) in
        [(just_before(OPEN_FOR + ROUND), Completion::Closed), (OPEN_FOR + ROUND, Completion::Ignored)]
    {
        let circuit = circuit(1);
        fail(&circuit, &clock.at(Duration::ZERO));
        let probe = circuit.try_acquire(&clock.at(OPEN_FOR)).unwrap();
        assert_eq!(probe.complete(Outcome::Success, &clock.at(time)), expected);
    }
}

#[test]
fn a_probe_settled_twice_frees_one_permit() {
    let clock = Clock::new();
    let circuit = circuit(1);
    fail(&circuit, &clock.at(Duration::ZERO));
    let now = clock.at(OPEN_FOR);
    let first = circuit.admit(&now).unwrap();
    assert_eq!(circuit.settle(first, Outcome::Cancelled, &now), Completion::Cancelled);
    let _second = circuit.admit(&now).unwrap();
    assert_eq!(circuit.settle(first, Outcome::Cancelled, &now), Completion::Ignored);
    assert!(circuit.admit(&now).is_err(), "the permit of the second is still out");
}

// --- epochs ---

#[test]
fn a_response_sent_before_the_trip_decides_nothing_in_half_open() {
    let clock = Clock::new();
    for outcome in [Outcome::Success, Outcome::Failure] {
        let circuit = circuit(1);
        let old = circuit.try_acquire(&clock.at(Duration::ZERO)).unwrap();
        fail(&circuit, &clock.at(Duration::ZERO));
        let now = clock.at(OPEN_FOR);
        let probe = circuit.try_acquire(&now).unwrap();
        assert_eq!(old.complete(outcome, &now), Completion::Ignored);
        assert_eq!(probe.complete(Outcome::Success, &now), Completion::Closed);
    }
}

#[test]
fn a_failure_from_before_two_transitions_does_not_open_the_circuit_that_closed() {
    let clock = Clock::new();
    let circuit = circuit(1);
    let old = circuit.try_acquire(&clock.at(Duration::ZERO)).unwrap();
    assert_eq!(fail(&circuit, &clock.at(Duration::ZERO)), Completion::Tripped);
    let now = clock.at(OPEN_FOR);
    assert_eq!(attempt(&circuit, Outcome::Success, &now), Completion::Closed);
    assert_eq!(old.complete(Outcome::Failure, &now), Completion::Ignored);
    assert_eq!(circuit.state(&now), CircuitState::Closed { failures: 0 });
}

#[test]
fn a_probe_of_an_earlier_round_frees_no_permit_of_a_later_one() {
    let clock = Clock::new();
    let circuit = PassiveHealth::new(config(1).with_half_open_permits(2).unwrap());
    fail(&circuit, &clock.at(Duration::ZERO));
    let now = clock.at(OPEN_FOR);
    let old = circuit.try_acquire(&now).unwrap();
    fail(&circuit, &now);

    let now = clock.at(OPEN_FOR * 2);
    let _new = [circuit.try_acquire(&now).unwrap(), circuit.try_acquire(&now).unwrap()];
    drop(old);
    assert!(circuit.try_acquire(&now).is_err(), "both permits are out");
}

#[test]
fn a_ticket_knows_the_epoch_that_its_result_starts_whatever_follows() {
    let clock = Clock::new();
    let circuit = circuit(1);
    for (turn, (outcome, completion, cause)) in (0..).zip([
        (Outcome::Failure, Completion::Tripped, TripCause::Failures),
        (Outcome::Failure, Completion::Tripped, TripCause::Probe),
        (Outcome::Success, Completion::Closed, TripCause::Probe),
    ]) {
        let now = clock.at(OPEN_FOR * turn);
        let ticket = circuit.admit(&now).unwrap();
        assert_eq!(circuit.settle(ticket, outcome, &now), completion);
        assert_eq!((ticket.next_epoch(), ticket.trip_cause()), (circuit.epoch(), cause));
        assert_eq!(ticket.next_epoch(), 1 + 2 * u64::from(turn), "a half-open round is an epoch too");
    }
    let now = clock.at(OPEN_FOR * 3);
    let ticket = circuit.admit(&now).unwrap();
    assert_eq!(circuit.settle(ticket, Outcome::Failure, &now), Completion::Tripped);
    circuit.force_close();
    circuit.lift();
    assert_eq!((ticket.next_epoch(), circuit.epoch()), (6, 8));
}

#[test]
fn epochs_only_grow() {
    let clock = Clock::new();
    let circuit = circuit(1);
    let mut last = circuit.epoch();
    for turn in 0..1_000 {
        let now = clock.at(OPEN_FOR * turn);
        attempt(&circuit, if turn % 2 == 0 { Outcome::Failure } else { Outcome::Success }, &now);
        assert!(circuit.epoch() > last);
        last = circuit.epoch();
    }
}
