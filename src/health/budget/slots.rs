//! The budget and its slots.

use std::fmt;
use std::sync::Arc;

use crate::sync::{AtomicU64, Ordering};

use super::BudgetConfig;
use super::counts::Counts;

/// Says what a slot of an [`ExclusionBudget`] is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BudgetKind {
    /// A circuit that tripped.
    Circuit,
    /// A member that was ejected as an outlier.
    Outlier,
}

/// Caps how many members of a pool are out at once because of health.
///
/// Trips and ejections of one pool share it: each takes a slot first, and does not happen when there is none. So however
/// many endpoints fail together, the configured part of them stays in. A member that is both tripped and ejected holds
/// two slots; the caps are met all the more then.
///
/// When the pool shrinks and more slots are taken than the caps now allow, nobody is forced back in: further ones are
/// refused until enough are released.
///
/// # Complexity
///
/// All counts stand in one atomic word; every operation is one exchange on it. Pools of more than 2,097,151 members are
/// taken to have that many.
///
/// # Examples
///
/// ```
/// use poise::health::{BudgetConfig, BudgetKind, ExclusionBudget};
/// use std::sync::Arc;
///
/// let budget = Arc::new(ExclusionBudget::new(BudgetConfig::default()));
/// budget.set_members(5);
/// let first = budget.try_take(BudgetKind::Circuit);
/// let second = budget.try_take(BudgetKind::Circuit);
/// assert!(second.is_some());
/// assert!(budget.try_take(BudgetKind::Circuit).is_none(), "half of five, rounded down");
///
/// drop(first);
/// assert_eq!(budget.taken(BudgetKind::Circuit), 1);
/// ```
pub struct ExclusionBudget {
    config: BudgetConfig,
    word: AtomicU64,
}

impl ExclusionBudget {
    /// Makes a budget for a pool without members, which has no slots yet.
    #[must_use]
    pub fn new(config: BudgetConfig) -> Self {
        Self { config, word: AtomicU64::new(0) }
    }

    /// Says how many members the pool has.
    pub fn set_members(&self, members: usize) {
        let members = u32::try_from(members).unwrap_or(u32::MAX).min(Counts::LIMIT);
        let mut seen = self.load();
        while let Err(found) = self.exchange(seen, Counts { members, ..seen }) {
            seen = found;
        }
    }

    /// Takes a slot, or returns `None` when a cap is reached.
    #[must_use = "dropping the slot gives it back at once"]
    pub fn try_take(self: &Arc<Self>, kind: BudgetKind) -> Option<BudgetSlot> {
        let mut seen = self.load();
        while self.config.allows(kind, seen) {
            match self.exchange(seen, seen.with_one_more(kind)) {
                Ok(()) => return Some(BudgetSlot { budget: Arc::clone(self), kind }),
                Err(found) => seen = found,
            }
        }
        None
    }

    /// Returns how many slots are taken for this reason.
    #[must_use]
    pub fn taken(&self, kind: BudgetKind) -> u32 {
        self.load().taken(kind)
    }

    /// Returns how many members the pool has.
    #[must_use]
    pub fn members(&self) -> u32 {
        self.load().members
    }

    /// Returns the caps.
    #[must_use]
    pub const fn config(&self) -> &BudgetConfig {
        &self.config
    }

    /// Relaxed: what was read is checked by the exchange that follows.
    fn load(&self) -> Counts {
        Counts::unpack(self.word.load(Ordering::Relaxed))
    }

    /// Acquire: a slot changes hands like a lock, so its next holder sees what the last one did.
    fn exchange(&self, seen: Counts, next: Counts) -> Result<(), Counts> {
        match self.word.compare_exchange(seen.pack(), next.pack(), Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(found) => Err(Counts::unpack(found)),
        }
    }

    /// Release: the other half of the hand-over.
    fn release(&self, kind: BudgetKind) {
        // A slot exists once per count, so this cannot borrow from the neighbouring field.
        self.word.fetch_sub(Counts::one(kind), Ordering::Release);
    }
}

impl fmt::Debug for ExclusionBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExclusionBudget").field("config", &self.config).field("word", &self.load()).finish()
    }
}

/// Holds one slot of an [`ExclusionBudget`] and gives it back when dropped.
#[derive(Debug)]
#[must_use = "dropping the slot gives it back at once"]
pub struct BudgetSlot {
    budget: Arc<ExclusionBudget>,
    kind: BudgetKind,
}

impl BudgetSlot {
    /// Returns what the slot was taken for.
    #[must_use]
    pub const fn kind(&self) -> BudgetKind {
        self.kind
    }
}

impl Drop for BudgetSlot {
    fn drop(&mut self) {
        self.budget.release(self.kind);
    }
}
