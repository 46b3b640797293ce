//! Every interleaving of callers that share a circuit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use crate::core::{Now, Outcome};
use crate::health::{BudgetConfig, BudgetKind, ExclusionBudget};

use super::{CircuitConfig, CircuitRejection, CircuitState, Completion, PassiveHealth};

const OPEN_FOR: Duration = Duration::from_secs(10);

fn config(failures: u32) -> CircuitConfig {
    CircuitConfig::new(failures, OPEN_FOR).unwrap()
}

fn start() -> Instant {
    Now::lazy().instant()
}

fn fail(circuit: &PassiveHealth, at: Instant) -> Completion {
    let ticket = circuit.admit(&Now::at(at)).unwrap();
    circuit.settle(ticket, Outcome::Failure, &Now::at(at))
}

#[test]
fn loom_half_open_admits_no_more_than_its_permits() {
    let start = start();
    loom::model(move || {
        let circuit = loom::sync::Arc::new(PassiveHealth::new(config(1)));
        let under_way = loom::sync::Arc::new(AtomicU32::new(0));
        fail(&circuit, start);
        let probe = move |circuit: &PassiveHealth, under_way: &AtomicU32| {
            let now = Now::at(start + OPEN_FOR);
            if let Ok(ticket) = circuit.admit(&now) {
                assert_eq!(under_way.fetch_add(1, Ordering::SeqCst), 0, "one permit, one probe");
                under_way.fetch_sub(1, Ordering::SeqCst);
                assert_eq!(circuit.settle(ticket, Outcome::Cancelled, &now), Completion::Cancelled);
            }
        };
        let (other, count) = (circuit.clone(), under_way.clone());
        let thread = thread::spawn(move || probe(&other, &count));
        probe(&circuit, &under_way);
        thread.join().unwrap();
        assert!(circuit.admit(&Now::at(start + OPEN_FOR)).is_ok(), "what was cancelled is free again");
    });
}

#[test]
fn loom_failures_that_race_at_the_threshold_trip_once() {
    let start = start();
    loom::model(move || {
        let budget = Arc::new(ExclusionBudget::new(BudgetConfig::default()));
        budget.set_members(4);
        let circuit = loom::sync::Arc::new(PassiveHealth::new(config(2)).with_budget(Arc::clone(&budget)));
        fail(&circuit, start);
        let now = Now::at(start);
        let tickets = [circuit.admit(&now).unwrap(), circuit.admit(&now).unwrap()];
        let other = circuit.clone();
        let thread = thread::spawn(move || other.settle(tickets[0], Outcome::Failure, &Now::at(start)));
        let results = [circuit.settle(tickets[1], Outcome::Failure, &now), thread.join().unwrap()];
        assert!(results.contains(&Completion::Tripped));
        assert!(results.contains(&Completion::Ignored));
        assert_eq!((circuit.trips(), circuit.epoch()), (1, 1));
        assert_eq!(budget.taken(BudgetKind::Circuit), 1);
    });
}

#[test]
fn loom_a_success_that_races_with_the_last_failure_comes_before_or_after_it() {
    let start = start();
    loom::model(move || {
        let circuit = loom::sync::Arc::new(PassiveHealth::new(config(2)));
        fail(&circuit, start);
        let now = Now::at(start);
        let tickets = [circuit.admit(&now).unwrap(), circuit.admit(&now).unwrap()];
        let other = circuit.clone();
        let thread = thread::spawn(move || other.settle(tickets[0], Outcome::Success, &Now::at(start)));
        let failure = circuit.settle(tickets[1], Outcome::Failure, &now);
        let success = thread.join().unwrap();
        let state = circuit.state(&now);
        match (success, failure) {
            (Completion::Counted, Completion::Counted) => {
                assert_eq!(state, CircuitState::Closed { failures: 1 });
            }
            (Completion::Ignored, Completion::Tripped) => {
                assert_eq!(state, CircuitState::Open { until: Some(start + OPEN_FOR) });
            }
            other => panic!("no order of the two explains {other:?}"),
        }
    });
}

// In the next two the reader is the thread that is spawned. A writer looks at the word before it changes it, and loom
// does not try to put an earlier look of another thread behind the change.

#[test]
fn loom_whoever_sees_an_open_circuit_sees_its_deadline() {
    let start = start();
    loom::model(move || {
        let circuit = loom::sync::Arc::new(PassiveHealth::new(config(1)));
        let other = circuit.clone();
        let reader = thread::spawn(move || match other.admit(&Now::at(start + OPEN_FOR / 2)) {
            Ok(ticket) => assert_eq!((ticket.epoch(), ticket.is_probe()), (0, false)),
            Err(rejection) => {
                assert_eq!(rejection, CircuitRejection::Open { until: Some(start + OPEN_FOR) });
            }
        });
        fail(&circuit, start);
        reader.join().unwrap();
    });
}

#[test]
fn loom_a_reader_never_takes_a_word_with_the_deadline_of_another_epoch() {
    let start = start();
    loom::model(move || {
        let config = config(1).with_half_open_permits(2).unwrap();
        let circuit = loom::sync::Arc::new(PassiveHealth::new(config));
        fail(&circuit, start);
        let other = circuit.clone();
        let last = Now::at(start + OPEN_FOR * 2);
        let reader = thread::spawn(move || other.admit(&Now::at(start + OPEN_FOR * 2)).is_ok());

        let now = Now::at(start + OPEN_FOR);
        let probe = circuit.admit(&now).unwrap();
        circuit.settle(probe, Outcome::Success, &now);
        fail(&circuit, start + OPEN_FOR);
        let _second = circuit.admit(&last).unwrap();
        assert!(reader.join().unwrap(), "in no epoch is this time before a deadline, or a permit missing");
    });
}

#[test]
fn loom_force_and_trip_leave_no_slot_behind() {
    let start = start();
    loom::model(move || {
        let budget = Arc::new(ExclusionBudget::new(BudgetConfig::default()));
        budget.set_members(4);
        let circuit = loom::sync::Arc::new(PassiveHealth::new(config(1)).with_budget(Arc::clone(&budget)));
        let other = circuit.clone();
        let thread = thread::spawn(move || {
            let ticket = other.admit(&Now::at(start)).ok()?;
            Some(other.settle(ticket, Outcome::Failure, &Now::at(start)))
        });
        circuit.force_close();
        let result = thread.join().unwrap();
        assert_eq!(circuit.state(&Now::at(start)), CircuitState::ForcedClosed);
        assert_ne!(result, Some(Completion::Counted));
        assert_eq!(budget.taken(BudgetKind::Circuit), 0);
    });
}
