//! The table.

use super::modulus::Modulus;
use crate::core::policy::circle::Circle;
use crate::core::view::lot;
use crate::core::{Candidate, PickError, Selection, Table, View};

/// Maps entries to members.
#[derive(Debug)]
pub(crate) struct MaglevTable {
    circle: Circle,
    entries: Modulus,
}

impl MaglevTable {
    /// Makes the table with these owners of its entries, of which there is at least one.
    pub(super) fn new(owners: Box<[u32]>, members: usize, eligible: impl Fn(usize) -> bool) -> Self {
        let entries = Modulus::new(owners.len() as u64);
        Self { circle: Circle::new(owners, members, 0, eligible), entries }
    }

    /// Selects the first eligible owner at or after the entry of `hash`.
    #[inline]
    pub(super) fn find<C: Candidate>(&self, view: &View<'_, C>, hash: u64) -> Result<Selection, PickError> {
        let lots = |entry| lot(hash, entry as u64);
        self.circle.find(view, self.entry_of(hash), &lots).map(|found| view.select(found.slot))
    }

    /// Writes the first distinct eligible owners at or after the entry of `hash` into `into`.
    pub(super) fn find_distinct<C: Candidate>(
        &self,
        view: &View<'_, C>,
        hash: u64,
        into: &mut [Selection],
    ) -> Result<usize, PickError> {
        self.circle.find_distinct(view, self.entry_of(hash), into, &|entry| lot(hash, entry as u64))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the remainder is below the number of entries")]
    #[inline]
    fn entry_of(&self, hash: u64) -> usize {
        self.entries.of(hash) as usize
    }
}

impl Table for MaglevTable {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        self.circle.set_eligible(slot, eligible);
    }
}
