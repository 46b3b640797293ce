//! The ejection of one member.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::core::{Changes, Exclusion, Exclusions, Now};
use crate::health::{BudgetKind, BudgetSlot, ExclusionBudget, HealthSignal, OutlierCause};
use crate::sync::{AtomicU64, Mutex, Ordering, lock};

use super::term::{Kind, Term};
use super::{EjectionState, EjectorConfig};

/// Says whether one member is ejected.
///
/// As a [`HealthSignal`] it gives [`Exclusion::Outlier`] while the member is out, and notifies after every transition. An
/// [`Ejector`](crate::health::Ejector) ejects and returns; an operator may [force](Self::force_eject) either.
///
/// It belongs to the allocation that it was made for: a member that is built anew gets a new one, and with it a clean
/// record. Dropping the last handle gives the slot of the budget back.
///
/// # Complexity
///
/// Asking a member that is in is one atomic load; one that is ejected costs three.
///
/// # Examples
///
/// ```
/// use poise::core::{Exclusion, Now};
/// use poise::health::{BudgetConfig, Ejection, EjectionState, ExclusionBudget, HealthSignal};
/// use std::sync::Arc;
///
/// let budget = Arc::new(ExclusionBudget::new(BudgetConfig::default()));
/// let ejection = Ejection::new(budget);
/// ejection.force_eject();
/// assert!(ejection.exclusions(&Now::lazy()).contains(Exclusion::Outlier));
/// assert!(ejection.lift());
/// assert_eq!(ejection.state(), EjectionState::In);
/// ```
pub struct Ejection {
    term: Term,
    ledger: Mutex<Ledger>,
    budget: Arc<ExclusionBudget>,
    /// The turn of the ejector in which it was last among the members.
    turn: AtomicU64,
}

/// What only transitions need.
#[derive(Default)]
struct Ledger {
    /// How often it was ejected of late.
    repeats: u32,
    /// How often it was ejected.
    ejections: u64,
    /// Of the ejection that is going on.
    record: Option<Record>,
    /// Held while it is out.
    slot: Option<BudgetSlot>,
    changes: Changes,
}

/// What is remembered of an ejection.
#[derive(Clone, Copy)]
pub(super) struct Record {
    pub(super) cause: OutlierCause,
    pub(super) since: Instant,
    pub(super) until: Option<Instant>,
    pub(super) epoch: u64,
    pub(super) repeats: u32,
}

/// What a verdict against a member led to.
pub(super) enum Verdict {
    Ejected(Record),
    Withheld,
    /// It is out already, or forced.
    Moot,
}

impl Ejection {
    /// Makes the ejection of a member that is in, which takes a slot of `budget` when it is ejected.
    #[must_use]
    pub fn new(budget: Arc<ExclusionBudget>) -> Self {
        Self { term: Term::new(), ledger: Mutex::new(Ledger::default()), budget, turn: AtomicU64::new(0) }
    }

    /// Ejects the member, at once and until it is lifted or forced to return.
    ///
    /// It is the operator's word and needs no slot of the budget; it takes one if there is one, so that fewer others are
    /// ejected beside it.
    pub fn force_eject(&self) {
        self.force(Kind::ForcedOut);
    }

    /// Returns the member, at once, and keeps it in until it is lifted or forced out.
    pub fn force_return(&self) {
        self.force(Kind::ForcedIn);
    }

    /// Ends a forced state: the member is in and its record is clean. Returns whether it was forced.
    pub fn lift(&self) -> bool {
        self.transition(|ledger| {
            let forced = matches!(self.term.kind(), Kind::ForcedOut | Kind::ForcedIn);
            if forced {
                ledger.repeats = 0;
                self.leave(ledger, Kind::In);
            }
            forced
        })
    }

    /// Returns the state.
    #[must_use]
    pub fn state(&self) -> EjectionState {
        let ledger = lock(&self.ledger);
        match (self.term.kind(), ledger.record) {
            (Kind::Ejected, Some(Record { cause, since, until, .. })) => {
                EjectionState::Ejected { cause, since, until }
            }
            (Kind::ForcedOut, _) => EjectionState::ForcedOut,
            (Kind::ForcedIn, _) => EjectionState::ForcedIn,
            _ => EjectionState::In,
        }
    }

    /// Tells whether the member is in, whatever the time.
    #[allow(dead_code, reason = "for whoever dispatches")]
    pub(crate) fn is_in(&self) -> bool {
        self.term.is_in()
    }

    /// Returns the current epoch. It grows with each transition, so of two different ones the larger is the later.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.term.epoch()
    }

    /// Returns how often the member was ejected of late: one more for each ejection, one less for each sweep that finds
    /// nothing against it.
    #[must_use]
    pub fn repeats(&self) -> u32 {
        lock(&self.ledger).repeats
    }

    /// Returns how often the member was ejected since this was made; what was forced does not count.
    #[must_use]
    pub fn ejections(&self) -> u64 {
        lock(&self.ledger).ejections
    }

    /// Notes that the member was there in a turn of the ejector.
    pub(super) fn attend(&self, turn: u64) {
        self.turn.store(turn, Ordering::Relaxed);
    }

    /// Tells whether the member was there in a turn. The ejector wrote it, so no ordering.
    pub(super) fn attended(&self, turn: u64) -> bool {
        self.turn.load(Ordering::Relaxed) == turn
    }

    /// Tells whether a sweep may judge the member: it takes traffic as any other.
    pub(super) fn takes_traffic(&self) -> bool {
        matches!(self.term.kind(), Kind::In | Kind::ForcedIn)
    }

    /// Ejects the member, if it may be and there is a slot.
    pub(super) fn eject(&self, cause: OutlierCause, config: &EjectorConfig, now: &Now) -> Verdict {
        self.transition(|ledger| {
            if self.term.kind() != Kind::In {
                return Verdict::Moot;
            }
            let Some(slot) = self.budget.try_take(BudgetKind::Outlier) else { return Verdict::Withheld };
            ledger.slot = Some(slot);
            ledger.repeats = config.one_more(ledger.repeats);
            ledger.ejections = ledger.ejections.saturating_add(1);
            let until = self.term.eject(config.ejection_after(ledger.repeats), now);
            let epoch = self.term.epoch();
            let record = Record { cause, since: now.instant(), until, epoch, repeats: ledger.repeats };
            ledger.record = Some(record);
            Verdict::Ejected(record)
        })
    }

    /// Returns the member if its time is over, and says what it was ejected for and the new epoch.
    pub(super) fn return_when_over(&self, now: &Now) -> Option<(OutlierCause, u64)> {
        if self.term.kind() != Kind::Ejected || self.term.is_out(now) {
            return None;
        }
        self.transition(|ledger| {
            if self.term.kind() != Kind::Ejected || self.term.is_out(now) {
                return None;
            }
            let record = ledger.record?;
            self.leave(ledger, Kind::In);
            Some((record.cause, self.term.epoch()))
        })
    }

    /// Ends an ejection because the member is no longer judged by anybody; what is forced stays so.
    pub(super) fn release(&self) {
        self.transition(|ledger| {
            if self.term.kind() == Kind::Ejected {
                self.leave(ledger, Kind::In);
            }
        });
    }

    /// Notes that a sweep found nothing against the member.
    pub(super) fn had_quiet_sweep(&self) {
        if self.term.kind() == Kind::In {
            let mut ledger = lock(&self.ledger);
            ledger.repeats = ledger.repeats.saturating_sub(1);
        }
    }

    #[cold]
    fn force(&self, kind: Kind) {
        self.transition(|ledger| {
            if self.term.kind() == kind {
                return;
            }
            if kind == Kind::ForcedOut {
                ledger.slot = ledger.slot.take().or_else(|| self.budget.try_take(BudgetKind::Outlier));
                ledger.record = None;
                self.term.enter(kind);
            } else {
                self.leave(ledger, kind);
            }
        });
    }

    /// Enters a state in which the member takes traffic. The slot goes back after the member is in, so that at no time
    /// more are out than there are slots taken.
    fn leave(&self, ledger: &mut Ledger, kind: Kind) {
        self.term.enter(kind);
        ledger.record = None;
        ledger.slot = None;
    }

    /// Runs `step` under the lock, and after it tells the pool when there is something to tell.
    fn transition<T>(&self, step: impl FnOnce(&mut Ledger) -> T) -> T {
        let mut ledger = lock(&self.ledger);
        let before = self.term.epoch();
        let result = step(&mut ledger);
        let changes = (self.term.epoch() != before).then(|| ledger.changes.clone());
        drop(ledger);
        if let Some(changes) = changes {
            changes.notify();
        }
        result
    }
}

impl HealthSignal for Ejection {
    #[inline]
    fn exclusions(&self, now: &Now) -> Exclusions {
        Exclusions::NONE.with_if(Exclusion::Outlier, self.term.is_out(now))
    }

    fn watch(&self, changes: Changes) {
        let previous = std::mem::replace(&mut lock(&self.ledger).changes, changes);
        // Dropping a listener may run code that asks this ejection: the lock is free again by now.
        drop(previous);
    }

    fn changes_at(&self, now: &Now) -> Option<Instant> {
        self.term.remaining(now).and_then(|left| now.instant().checked_add(left))
    }
}

impl fmt::Debug for Ejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ejection")
            .field("state", &self.state())
            .field("epoch", &self.epoch())
            .finish_non_exhaustive()
    }
}
