//! No more members are out than the caps allow.

use std::sync::Arc;
use std::time::Duration;

use crate::support::clock::Clock;
use poise::core::{Now, Outcome};
use poise::health::{
    BudgetConfig, BudgetConfigError, BudgetKind, BudgetSlot, CircuitConfig, CircuitState, Completion,
    ExclusionBudget, PassiveHealth,
};

const OPEN_FOR: Duration = Duration::from_secs(10);

fn budget(config: BudgetConfig, members: usize) -> Arc<ExclusionBudget> {
    let budget = Arc::new(ExclusionBudget::new(config));
    budget.set_members(members);
    budget
}

fn take_all(budget: &Arc<ExclusionBudget>, kind: BudgetKind) -> Vec<BudgetSlot> {
    std::iter::from_fn(|| budget.try_take(kind)).collect()
}

fn circuit(failures: u32, budget: &Arc<ExclusionBudget>) -> PassiveHealth {
    PassiveHealth::new(CircuitConfig::new(failures, OPEN_FOR).unwrap()).with_budget(Arc::clone(budget))
}

fn fail(circuit: &PassiveHealth, now: &Now) -> Completion {
    circuit.try_acquire(now).expect("the circuit admits").complete(Outcome::Failure, now)
}

fn open_circuits(budget: &ExclusionBudget) -> u32 {
    budget.taken(BudgetKind::Circuit)
}

#[test]
fn shares_are_rounded_down_and_one_member_always_stays() {
    for (members, circuits, outliers) in [(0, 0, 0), (1, 0, 0), (2, 1, 0), (5, 2, 0), (10, 5, 1), (29, 14, 2)]
    {
        let budget = budget(BudgetConfig::default(), members);
        assert_eq!(take_all(&budget, BudgetKind::Circuit).len(), circuits, "of {members}");
        assert_eq!(take_all(&budget, BudgetKind::Outlier).len(), outliers, "of {members}");
    }
}

#[test]
fn a_share_that_comes_to_a_whole_number_is_not_lost_to_rounding() {
    for percent in 1..=100_u32 {
        let config =
            BudgetConfig::default().with_circuits(f64::from(percent) / 100.0).unwrap().with_min_eligible(0);
        assert_eq!(config.cap(BudgetKind::Circuit, 100), percent);
        assert_eq!(config.cap(BudgetKind::Circuit, 2_000_000), percent * 20_000);
    }
}

#[test]
fn at_least_one_outlier_is_an_option_that_yields_to_the_members_left_in() {
    let config = BudgetConfig::default().with_at_least_one();
    assert_eq!([1, 2, 9, 20].map(|members| config.cap(BudgetKind::Outlier, members)), [0, 1, 1, 2]);
    assert_eq!(config.with_min_eligible(3).cap(BudgetKind::Outlier, 3), 0);
}

#[test]
fn both_kinds_together_leave_the_least_number_of_members_in() {
    let config =
        BudgetConfig::default().with_circuits(1.0).unwrap().with_outliers(1.0).unwrap().with_min_eligible(2);
    let budget = budget(config, 5);
    let first = budget.try_take(BudgetKind::Outlier);
    assert!(first.is_some());
    assert_eq!(take_all(&budget, BudgetKind::Circuit).len(), 2);
    drop(first);
    assert_eq!(take_all(&budget, BudgetKind::Circuit).len(), 3);
}

#[test]
fn a_pool_that_shrinks_forces_nobody_back_and_refuses_more() {
    let budget = budget(BudgetConfig::default(), 10);
    let mut slots = take_all(&budget, BudgetKind::Circuit);
    budget.set_members(4);
    assert_eq!(open_circuits(&budget), 5);
    while slots.len() >= 2 {
        assert!(budget.try_take(BudgetKind::Circuit).is_none(), "{} of four are out", slots.len());
        slots.pop();
    }
    assert!(budget.try_take(BudgetKind::Circuit).is_some());
}

#[test]
fn fractions_out_of_range_are_typed_errors() {
    for fraction in [-0.01, 1.01, f64::NAN, f64::INFINITY] {
        let config = BudgetConfig::default();
        let circuits = BudgetConfigError::InvalidFraction(BudgetKind::Circuit);
        assert_eq!(config.with_circuits(fraction), Err(circuits));
        let outliers = BudgetConfigError::InvalidFraction(BudgetKind::Outlier);
        assert_eq!(config.with_outliers(fraction), Err(outliers));
    }
}

#[test]
fn a_pool_beyond_the_counts_is_taken_for_the_largest() {
    let budget = budget(BudgetConfig::default(), usize::MAX);
    assert_eq!(budget.members(), 2_097_151);
    assert!(budget.try_take(BudgetKind::Outlier).is_some());
}

#[test]
fn no_sequence_of_events_exceeds_a_cap() {
    fn property(events: Vec<(u8, u8)>) -> bool {
        let config = BudgetConfig::default().with_outliers(0.3).unwrap().with_min_eligible(2);
        let budget = budget(config, 6);
        let mut slots: Vec<BudgetSlot> = Vec::new();
        for (event, detail) in events {
            match event % 4 {
                0 => budget.set_members(usize::from(detail % 20)),
                1 if !slots.is_empty() => drop(slots.swap_remove(usize::from(detail) % slots.len())),
                even_or_odd => {
                    let kind = if even_or_odd == 2 { BudgetKind::Circuit } else { BudgetKind::Outlier };
                    if let Some(slot) = budget.try_take(kind) {
                        slots.push(slot);
                        let members = budget.members();
                        let out = u32::try_from(slots.len()).unwrap();
                        assert!(budget.taken(kind) <= config.cap(kind, members));
                        assert!(out + 2 <= members, "two of {members} stay in");
                    }
                }
            }
            let held = |kind| slots.iter().filter(|slot| slot.kind() == kind).count();
            for kind in [BudgetKind::Circuit, BudgetKind::Outlier] {
                assert_eq!(budget.taken(kind) as usize, held(kind), "one count for one slot");
            }
        }
        true
    }
    quickcheck::QuickCheck::new().tests(2_000).quickcheck(property as fn(Vec<(u8, u8)>) -> bool);
}

#[test]
fn when_all_fail_at_once_half_stay_in_and_the_others_ask_again() {
    use Completion::{Tripped, Withheld};

    let now = Clock::new().at(Duration::ZERO);
    let budget = budget(BudgetConfig::default(), 4);
    let circuits = [(); 4].map(|()| circuit(2, &budget));
    let results = circuits.each_ref().map(|circuit| (fail(circuit, &now), fail(circuit, &now)).1);
    assert_eq!(results, [Tripped, Tripped, Withheld, Withheld]);
    assert_eq!(circuits[2].state(&now), CircuitState::Closed { failures: 2 });
    assert_eq!(fail(&circuits[2], &now), Withheld, "there is still no slot");

    circuits[0].force_close();
    assert_eq!(fail(&circuits[3], &now), Tripped, "it asks again at each failure");
    assert_eq!(open_circuits(&budget), 2);
}

#[test]
fn a_success_takes_a_withheld_circuit_back_from_its_threshold() {
    let now = Clock::new().at(Duration::ZERO);
    let budget = budget(BudgetConfig::default(), 1);
    let circuit = circuit(2, &budget);
    fail(&circuit, &now);
    assert_eq!(fail(&circuit, &now), Completion::Withheld);
    circuit.try_acquire(&now).unwrap().complete(Outcome::Success, &now);
    budget.set_members(2);
    assert_eq!(fail(&circuit, &now), Completion::Counted);
    assert_eq!(fail(&circuit, &now), Completion::Tripped);
}

#[test]
fn a_slot_is_held_through_half_open_and_given_back_on_closing() {
    let clock = Clock::new();
    let budget = budget(BudgetConfig::default(), 4);
    let circuit = circuit(1, &budget);
    fail(&circuit, &clock.at(Duration::ZERO));
    assert_eq!(open_circuits(&budget), 1);
    fail(&circuit, &clock.at(OPEN_FOR));
    assert_eq!(open_circuits(&budget), 1, "a circuit that opens again needs no second slot");
    let now = clock.at(OPEN_FOR * 2);
    let probe = circuit.try_acquire(&now).unwrap();
    assert_eq!(open_circuits(&budget), 1);
    probe.complete(Outcome::Success, &now);
    assert_eq!(open_circuits(&budget), 0);
}

#[test]
fn forcing_closed_lifting_and_dropping_give_the_slot_back() {
    let now = Clock::new().at(Duration::ZERO);
    let budget = budget(BudgetConfig::default(), 4);
    let tripped = || {
        let circuit = circuit(1, &budget);
        fail(&circuit, &now);
        assert_eq!(open_circuits(&budget), 1);
        circuit
    };
    let forced = tripped();
    forced.force_close();
    assert_eq!(open_circuits(&budget), 0);
    let lifted = tripped();
    lifted.force_open();
    assert_eq!(open_circuits(&budget), 1, "forcing open keeps the slot");
    lifted.lift();
    assert_eq!(open_circuits(&budget), 0);
    drop(tripped());
    assert_eq!(open_circuits(&budget), 0);
}

#[test]
fn an_operator_needs_no_slot_but_leaves_less_to_trip() {
    let now = Clock::new().at(Duration::ZERO);
    let budget = budget(BudgetConfig::default(), 4);
    let circuits = [(); 4].map(|()| circuit(1, &budget));
    for circuit in &circuits[..3] {
        circuit.force_open();
        assert_eq!(circuit.state(&now), CircuitState::ForcedOpen);
    }
    assert_eq!(open_circuits(&budget), 2, "the cap holds for slots");
    assert_eq!(fail(&circuits[3], &now), Completion::Withheld, "the last one stays in");
    circuits[..3].iter().for_each(|circuit| assert!(circuit.lift()));
    assert_eq!(open_circuits(&budget), 0);
}

#[test]
fn without_a_budget_there_is_no_cap() {
    let now = Clock::new().at(Duration::ZERO);
    let circuits = [(); 4].map(|()| PassiveHealth::new(CircuitConfig::new(1, OPEN_FOR).unwrap()));
    assert!(circuits.iter().all(|circuit| fail(circuit, &now) == Completion::Tripped));
}
