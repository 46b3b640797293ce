//! How many members of a pool health may exclude at once.
//!
//! [`ExclusionBudget`] is shared by the circuits and the outlier detection of one pool. What always holds:
//!
//! 1. No slot is given that would exceed the cap of its kind, or leave fewer than the least number of members in, as the
//!    members were counted at that moment.
//! 2. A slot is given back exactly once, when its [`BudgetSlot`] is dropped.

mod config;
mod counts;
#[cfg(all(test, loom))]
mod models;
mod slots;

pub use self::config::{BudgetConfig, BudgetConfigError};
pub use self::slots::{BudgetKind, BudgetSlot, ExclusionBudget};
