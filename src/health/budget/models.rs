//! Every interleaving of callers that share a budget.

use super::{BudgetConfig, BudgetKind, ExclusionBudget};
use loom::thread;
use std::sync::Arc;

fn budget(members: usize) -> Arc<ExclusionBudget> {
    let config = BudgetConfig::default().with_min_eligible(2).with_at_least_one();
    let budget = Arc::new(ExclusionBudget::new(config));
    budget.set_members(members);
    budget
}

#[test]
fn loom_kinds_that_race_for_the_last_slot_get_it_once() {
    loom::model(|| {
        let budget = budget(3);
        let other = Arc::clone(&budget);
        let thread = thread::spawn(move || other.try_take(BudgetKind::Outlier));
        let mine = budget.try_take(BudgetKind::Circuit);
        let theirs = thread.join().unwrap();
        assert_eq!(u8::from(mine.is_some()) + u8::from(theirs.is_some()), 1);
    });
}

#[test]
fn loom_a_slot_is_never_held_twice_while_it_changes_hands() {
    loom::model(|| {
        let budget = budget(3);
        let held = loom::sync::Arc::new(loom::sync::atomic::AtomicU32::new(0));
        let work = move |budget: Arc<ExclusionBudget>, held: loom::sync::Arc<_>, kind| {
            if let Some(slot) = budget.try_take(kind) {
                let counter: &loom::sync::atomic::AtomicU32 = &held;
                assert_eq!(counter.fetch_add(1, loom::sync::atomic::Ordering::SeqCst), 0);
                counter.fetch_sub(1, loom::sync::atomic::Ordering::SeqCst);
                drop(slot);
            }
        };
        let other = (Arc::clone(&budget), held.clone());
        let thread = thread::spawn(move || work(other.0, other.1, BudgetKind::Outlier));
        work(Arc::clone(&budget), held, BudgetKind::Circuit);
        thread.join().unwrap();
        assert_eq!(budget.taken(BudgetKind::Circuit) + budget.taken(BudgetKind::Outlier), 0);
    });
}

#[test]
fn loom_a_pool_that_shrinks_meanwhile_loses_no_count() {
    loom::model(|| {
        let budget = budget(4);
        let other = Arc::clone(&budget);
        let thread = thread::spawn(move || other.set_members(3));
        let first = budget.try_take(BudgetKind::Circuit);
        let second = budget.try_take(BudgetKind::Outlier);
        thread.join().unwrap();
        assert!(first.is_some());
        assert_eq!(budget.members(), 3);
        let held = u32::from(first.is_some()) + u32::from(second.is_some());
        assert_eq!(budget.taken(BudgetKind::Circuit) + budget.taken(BudgetKind::Outlier), held);
        assert!(budget.try_take(BudgetKind::Outlier).is_none());
    });
}
