//! What a reconciliation did.

use crate::discovery::Revision;

/// Counts what a snapshot did to the endpoints of a balance.
///
/// [`retained`](Self::retained), [`added`](Self::added) and [`rebuilt`](Self::rebuilt) together are the members of the
/// snapshot; those that [drain](Self::draining) are counted among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReconcileReport {
    pub(super) revision: Revision,
    pub(super) retained: usize,
    pub(super) added: usize,
    pub(super) rebuilt: usize,
    pub(super) removed: usize,
    pub(super) draining: usize,
}

impl ReconcileReport {
    /// Returns the revision that is in effect now.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Counts the members whose key and allocation are what they were: their service, reservation, quarantine and load stay.
    #[must_use]
    pub fn retained(&self) -> usize {
        self.retained
    }

    /// Counts the members whose key is new.
    #[must_use]
    pub fn added(&self) -> usize {
        self.added
    }

    /// Counts the members whose key is known and whose allocation is new: they have a new service and a new tracker.
    #[must_use]
    pub fn rebuilt(&self) -> usize {
        self.rebuilt
    }

    /// Counts the endpoints whose key is gone.
    #[must_use]
    pub fn removed(&self) -> usize {
        self.removed
    }

    /// Counts the members of the snapshot that drain.
    #[must_use]
    pub fn draining(&self) -> usize {
        self.draining
    }

    /// Tells whether any endpoint came, went or was replaced.
    #[must_use]
    pub fn is_effective(&self) -> bool {
        self.added + self.rebuilt + self.removed > 0
    }
}
