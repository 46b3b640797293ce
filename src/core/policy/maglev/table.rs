//! The table.

use super::modulus::Modulus;
use crate::core::policy::circle::Circle;
use crate::core::policy::owned::Owner;
use crate::core::view::lot;
use crate::core::{Candidate, PickError, Selection, Table, View};

/// Maps entries to members.
#[derive(Debug)]
pub(crate) struct MaglevTable {
    owners: Owners,
    entries: Modulus,
}

#[derive(Debug)]
enum Owners {
    /// Of few enough members for half the bytes.
    Narrow(Circle<u16>),
    Wide(Circle<u32>),
}

impl MaglevTable {
    /// Makes the table with these owners of its entries, of which there is at least one.
    pub(super) fn new(owners: Box<[u32]>, members: usize, eligible: impl Fn(usize) -> bool) -> Self {
        let entries = Modulus::new(owners.len() as u64);
        let owners = if u16::try_from(members).is_ok() {
            let narrow = owners.iter().map(|owner| u16::try_from(*owner).unwrap_or(u16::MAX));
            Owners::Narrow(Circle::new(narrow.collect(), members, 0, eligible))
        } else {
            Owners::Wide(Circle::new(owners, members, 0, eligible))
        };
        Self { owners, entries }
    }

    /// Selects the first eligible owner at or after the entry of `hash`.
    #[inline]
    pub(super) fn find<C: Candidate>(&self, view: &View<'_, C>, hash: u64) -> Result<Selection, PickError> {
        let entry = self.entry_of(hash);
        match &self.owners {
            Owners::Narrow(circle) => find_in(circle, view, hash, entry),
            Owners::Wide(circle) => find_wide(circle, view, hash, entry),
        }
    }

    /// Writes the first distinct eligible owners at or after the entry of `hash` into `into`.
    pub(super) fn find_distinct<C: Candidate>(
        &self,
        view: &View<'_, C>,
        hash: u64,
        into: &mut [Selection],
    ) -> Result<usize, PickError> {
        let (entry, lots) = (self.entry_of(hash), |entry| lot(hash, entry as u64));
        match &self.owners {
            Owners::Narrow(circle) => circle.find_distinct(view, entry, into, &lots),
            Owners::Wide(circle) => circle.find_distinct(view, entry, into, &lots),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the remainder is below the number of entries")]
    #[inline]
    fn entry_of(&self, hash: u64) -> usize {
        self.entries.of(hash) as usize
    }
}

#[inline]
fn find_in<C: Candidate>(
    circle: &Circle<impl Owner>,
    view: &View<'_, C>,
    hash: u64,
    entry: usize,
) -> Result<Selection, PickError> {
    let found = circle.find(view, entry, &|entry| lot(hash, entry as u64))?;
    Ok(view.select(found.slot))
}

/// Apart from the common path, which is short then.
#[inline(never)]
fn find_wide<C: Candidate>(
    circle: &Circle<u32>,
    view: &View<'_, C>,
    hash: u64,
    entry: usize,
) -> Result<Selection, PickError> {
    find_in(circle, view, hash, entry)
}

impl Table for MaglevTable {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        match &self.owners {
            Owners::Narrow(circle) => circle.set_eligible(slot, eligible),
            Owners::Wide(circle) => circle.set_eligible(slot, eligible),
        }
    }
}
