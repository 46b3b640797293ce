//! States that are forced on a circuit, and who is told of changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::support::circuits::{OPEN_FOR, attempt, circuit, fail, is_excluded, secs};
use crate::support::clock::Clock;
use poise::core::{Changes, Now, Outcome};
use poise::health::{CircuitRejection, CircuitState, Completion, HealthSignal, PassiveHealth};

// --- forced ---

#[test]
fn a_forced_state_holds_until_it_is_lifted() {
    let clock = Clock::new();
    let circuit = circuit(1);
    circuit.force_open();
    for time in [Duration::ZERO, OPEN_FOR, OPEN_FOR * 1_000] {
        let now = clock.at(time);
        assert_eq!(circuit.try_acquire(&now).unwrap_err(), CircuitRejection::ForcedOpen);
        assert!(is_excluded(&circuit, &now));
    }
    circuit.force_close();
    let now = clock.at(Duration::ZERO);
    for _ in 0..10 {
        assert_eq!(fail(&circuit, &now), Completion::Ignored);
    }
    assert_eq!(circuit.state(&now), CircuitState::ForcedClosed);
    assert!(circuit.lift());
    assert!(!circuit.lift(), "nothing is left to lift");
    assert_eq!(circuit.state(&now), CircuitState::Closed { failures: 0 });
}

#[test]
fn results_in_flight_when_a_state_is_forced_are_reported_as_ignored() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    for force in [PassiveHealth::force_open, PassiveHealth::force_close] {
        let circuit = circuit(1);
        let during = circuit.try_acquire(&now).unwrap();
        let after = circuit.try_acquire(&now).unwrap();
        force(&circuit);
        assert_eq!(during.complete(Outcome::Failure, &now), Completion::Ignored);
        circuit.lift();
        assert_eq!(after.complete(Outcome::Failure, &now), Completion::Ignored);
        assert_eq!(circuit.state(&now), CircuitState::Closed { failures: 0 });
    }
}

#[test]
fn forcing_ends_a_half_open_round() {
    let clock = Clock::new();
    let circuit = circuit(1);
    fail(&circuit, &clock.at(Duration::ZERO));
    let probe = circuit.try_acquire(&clock.at(OPEN_FOR)).unwrap();
    circuit.force_open();
    assert_eq!(probe.complete(Outcome::Success, &clock.at(OPEN_FOR)), Completion::Ignored);
    assert_eq!(circuit.state(&clock.at(OPEN_FOR)), CircuitState::ForcedOpen);
}

#[test]
fn an_attempt_past_an_open_circuit_is_never_refused_and_decides_nothing() {
    let clock = Clock::new();
    let circuit = circuit(1);
    fail(&circuit, &clock.at(Duration::ZERO));
    let now = clock.at(secs(1));
    for outcome in [Outcome::Success, Outcome::Failure, Outcome::Cancelled] {
        let ticket = circuit.admit_forced(&now);
        assert!(!ticket.is_probe());
        assert_eq!(circuit.settle(ticket, outcome, &now), Completion::Ignored);
    }
    assert_eq!((circuit.epoch(), circuit.trips()), (1, 1));

    circuit.force_open();
    let ticket = circuit.admit_forced(&now);
    assert_eq!(circuit.settle(ticket, Outcome::Success, &now), Completion::Ignored);
}

#[test]
fn a_forced_attempt_that_would_be_admitted_anyway_is_like_any_other() {
    let clock = Clock::new();
    let circuit = circuit(1);
    let now = clock.at(Duration::ZERO);
    let ticket = circuit.admit_forced(&now);
    assert_eq!(circuit.settle(ticket, Outcome::Failure, &now), Completion::Tripped);
    let probe = circuit.admit_forced(&clock.at(OPEN_FOR));
    assert_eq!(circuit.settle(probe, Outcome::Success, &clock.at(OPEN_FOR)), Completion::Closed);
}

// --- notification ---

#[test]
fn every_change_that_is_not_time_alone_is_told_after_it_is_visible() {
    let clock = Clock::new();
    let circuit = Arc::new(circuit(1));
    let told = Arc::new(AtomicU32::new(0));
    let (listener, weak) = (Arc::clone(&told), Arc::downgrade(&circuit));
    circuit.watch(Changes::new(Arc::new(move || {
        listener.fetch_add(1, Ordering::Relaxed);
        let circuit = weak.upgrade().expect("the circuit lives");
        // A listener looks at the circuit: with a lock held here, this would never return.
        let _ = (circuit.trips(), circuit.state(&Now::lazy()));
    })));
    let news = || told.swap(0, Ordering::Relaxed) > 0;

    let now = clock.at(Duration::ZERO);
    attempt(&circuit, Outcome::Success, &now);
    assert!(!news(), "a success of a closed circuit changes nothing");
    fail(&circuit, &now);
    assert!(news(), "it tripped");
    let _ = circuit.try_acquire(&now);
    assert!(!news(), "a rejection changes nothing");
    let later = clock.at(OPEN_FOR);
    let probe = circuit.try_acquire(&later).unwrap();
    assert!(news(), "the last permit is taken");
    drop(probe);
    assert!(news(), "a permit is back");
    attempt(&circuit, Outcome::Success, &later);
    assert!(news(), "it closed");
    circuit.force_open();
    assert!(news(), "it is forced open");
    circuit.force_open();
    assert!(!news(), "it was forced open already");
    circuit.force_close();
    assert!(news(), "it is forced closed");
    circuit.lift();
    assert!(news(), "it is lifted");
}

#[test]
fn only_the_last_watcher_is_told() {
    let circuit = circuit(1);
    let told = Arc::new(AtomicU32::new(0));
    let listener = Arc::clone(&told);
    circuit.watch(Changes::new(Arc::new(move || {
        listener.fetch_add(1, Ordering::Relaxed);
    })));
    circuit.watch(Changes::default());
    circuit.force_open();
    assert_eq!(told.load(Ordering::Relaxed), 0);
}
