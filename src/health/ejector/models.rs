//! Every interleaving of an ejector with circuits, operators and readers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use loom::thread;

use crate::core::{Now, Outcome};
use crate::health::{
    BudgetConfig, BudgetKind, CircuitConfig, Completion, ExclusionBudget, HealthSignal, OutlierSample,
    PassiveHealth,
};

use super::{Ejection, EjectionState, Ejector, EjectorAction, EjectorConfig};

const INTERVAL: Duration = Duration::from_secs(10);
const TIME: Duration = Duration::from_secs(30);

fn start() -> Instant {
    Now::lazy().instant()
}

/// Makes a budget with one slot for either kind.
fn one_slot() -> Arc<ExclusionBudget> {
    let budget = Arc::new(ExclusionBudget::new(BudgetConfig::default().with_at_least_one()));
    budget.set_members(2);
    budget
}

/// Makes an ejector that sweeps at its next call after the interval.
fn ejector(member: &Arc<Ejection>, start: Instant) -> Ejector {
    let mut ejector = Ejector::new(EjectorConfig::default());
    assert!(ejector.advance(&Now::at(start), std::slice::from_ref(member), failing).is_empty());
    ejector
}

fn failing(_: usize) -> OutlierSample {
    OutlierSample::new(0, 100)
}

#[test]
fn loom_a_circuit_and_an_ejector_that_race_for_the_last_slot_get_it_once() {
    let start = start();
    loom::model(move || {
        let budget = one_slot();
        let member = Arc::new(Ejection::new(Arc::clone(&budget)));
        let mut ejector = ejector(&member, start);
        let circuit =
            PassiveHealth::new(CircuitConfig::new(1, TIME).unwrap()).with_budget(Arc::clone(&budget));
        let thread = thread::spawn(move || {
            let now = Now::at(start + INTERVAL);
            let ticket = circuit.admit(&now).unwrap();
            (circuit.settle(ticket, Outcome::Failure, &now), circuit)
        });
        let actions = ejector.advance(&Now::at(start + INTERVAL), std::slice::from_ref(&member), failing);
        let (completion, _circuit) = thread.join().unwrap();
        let ejected = matches!(actions[..], [EjectorAction::Eject { .. }]);
        assert_ne!(ejected, completion == Completion::Tripped, "one of the two, and not both");
        assert_eq!(budget.taken(BudgetKind::Outlier) + budget.taken(BudgetKind::Circuit), 1);
    });
}

#[test]
fn loom_an_operator_and_an_ejector_leave_no_slot_behind() {
    let start = start();
    loom::model(move || {
        let budget = one_slot();
        let member = Arc::new(Ejection::new(Arc::clone(&budget)));
        let mut ejector = ejector(&member, start);
        let operator = Arc::clone(&member);
        let thread = thread::spawn(move || operator.force_return());
        ejector.advance(&Now::at(start + INTERVAL), std::slice::from_ref(&member), failing);
        thread.join().unwrap();
        assert_eq!(member.state(), EjectionState::ForcedIn);
        assert_eq!(budget.taken(BudgetKind::Outlier), 0);
        assert!(member.exclusions(&Now::at(start + INTERVAL)).is_empty());
    });
}

#[test]
fn loom_a_reader_never_takes_an_ejection_with_the_end_of_another() {
    let start = start();
    loom::model(move || {
        let budget = one_slot();
        let member = Arc::new(Ejection::new(Arc::clone(&budget)));
        let mut ejector = ejector(&member, start);
        let members = std::slice::from_ref(&member);
        ejector.advance(&Now::at(start + INTERVAL), members, failing);
        let other = Arc::clone(&member);
        // A time at which the first ejection is over and the second, as it will be told, is not.
        let thread = thread::spawn(move || {
            let before = other.epoch();
            let seen = other.changes_at(&Now::at(start + INTERVAL + TIME));
            (before, seen, other.epoch())
        });
        ejector.advance(&Now::at(start + INTERVAL + TIME), members, failing);
        let second = start + INTERVAL * 2 + TIME;
        ejector.advance(&Now::at(second), members, failing);
        let (before, seen, after) = thread.join().unwrap();
        assert_eq!(member.epoch(), 3, "out, in, and out again");
        match seen {
            None => assert!(before < 3, "whoever sees the second ejection sees its end"),
            Some(end) => {
                assert_eq!(end, second + TIME * 2);
                assert!(after > 1, "the end of the second is not that of the first");
            }
        }
    });
}

#[test]
fn loom_the_last_handle_gives_the_slot_back_also_while_a_sweep_runs() {
    let start = start();
    loom::model(move || {
        let budget = one_slot();
        let member = Arc::new(Ejection::new(Arc::clone(&budget)));
        let mut ejector = ejector(&member, start);
        ejector.advance(&Now::at(start + INTERVAL), std::slice::from_ref(&member), failing);
        assert_eq!(budget.taken(BudgetKind::Outlier), 1);
        let thread = thread::spawn(move || drop(member));
        ejector.advance(&Now::at(start + INTERVAL * 2), &[], failing);
        thread.join().unwrap();
        assert_eq!(budget.taken(BudgetKind::Outlier), 0);
    });
}
