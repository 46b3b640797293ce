//! The table.

use crate::core::policy::circle::Circle;
use crate::core::{Candidate, PickError, Selection, Table, View};

/// Maps entries to members.
#[derive(Debug)]
pub(super) struct MaglevTable(Circle);

impl MaglevTable {
    /// Makes the table with these owners of its entries, of which there is at least one.
    pub(super) fn new(owners: Box<[u32]>, members: usize, eligible: impl Fn(usize) -> bool) -> Self {
        Self(Circle::new(owners, members, 0, eligible))
    }

    /// Returns the slot of the first eligible owner at or after the entry of `hash`.
    #[inline]
    pub(super) fn find<C: Candidate>(&self, view: &View<'_, C>, hash: u64) -> Result<usize, PickError> {
        self.0.find(view, self.entry_of(hash)).map(|found| found.slot)
    }

    /// Writes the first distinct eligible owners at or after the entry of `hash` into `into`.
    pub(super) fn find_distinct<C: Candidate>(
        &self,
        view: &View<'_, C>,
        hash: u64,
        into: &mut [Selection],
    ) -> Result<usize, PickError> {
        self.0.find_distinct(view, self.entry_of(hash), into)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the remainder is below the number of entries")]
    #[inline]
    fn entry_of(&self, hash: u64) -> usize {
        (hash % self.0.len() as u64) as usize
    }
}

impl Table for MaglevTable {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        self.0.set_eligible(slot, eligible);
    }
}
