//! A part of a membership with its own eligibility and its own prepared table.

use crate::core::{Eligibility, Prepared};

/// Holds the members of one level or locality, as positions, and what an inner policy has prepared for them.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) positions: Box<[u32]>,
    pub(crate) eligibility: Eligibility,
    pub(crate) prepared: Prepared,
}

impl Scope {
    /// Flips the member at `slot` of this scope, and tells whether that was news.
    pub(crate) fn set_eligible(&self, slot: usize, eligible: bool) -> bool {
        self.prepared.set_eligible(slot, eligible);
        self.eligibility.set(slot, eligible)
    }
}
