//! The ring.

use std::ops::Range;

use super::RingReport;
use super::edits::Edits;
use super::index::Index;
use crate::core::policy::circle::Circle;
use crate::core::policy::identity::Identity;
use crate::core::policy::owned::Owned;
use crate::core::view::lot;
use crate::core::{Candidate, PickError, Selection, Table, View};

/// Points in ascending order, and the slots that own them.
#[derive(Debug, Default)]
pub struct Points {
    hashes: Vec<u64>,
    owners: Vec<u32>,
    /// What the ring before makes cheaper to know than the points themselves.
    known: Option<(Owned, Index)>,
}

impl Points {
    pub(super) fn with_capacity(points: usize) -> Self {
        Self { hashes: Vec::with_capacity(points), owners: Vec::with_capacity(points), known: None }
    }

    /// Appends a point that is not below the last one.
    pub(super) fn push(&mut self, hash: u64, owner: u32) {
        self.hashes.push(hash);
        self.owners.push(owner);
    }

    /// Appends some entries of a ring, whose owners have other `slots` now or, for all that matters yet, the same. A range that
    /// ends before it begins is empty.
    pub(super) fn copy(&mut self, ring: &RingTable, entries: Range<usize>, slots: Option<&[u32]>) {
        self.hashes.extend_from_slice(ring.points.get(entries.clone()).unwrap_or_default());
        let owners = ring.circle.owners().get(entries).unwrap_or_default();
        match slots {
            Some(slots) => self.owners.extend(owners.iter().map(|owner| slots[*owner as usize])),
            None => self.owners.extend_from_slice(owners),
        }
    }

    /// Derives what there is to know of these points from a ring of which they are all that `edits` leaves and adds. For each
    /// slot, `origins` has the one that its owner had there; owners that were copied as they are get their slots.
    pub(super) fn derive(&mut self, ring: &RingTable, edits: &Edits, origins: &[u32]) {
        let mut added: Vec<_> = edits.added().collect();
        added.sort_unstable();
        let mut added = &added[..];
        let mut loses = vec![false; ring.members.len()];
        for edit in edits.iter().filter(|edit| edit.added.is_none()) {
            loses[ring.circle.owners()[edit.entry as usize] as usize] = true;
        }
        let mut owned = Owned::with_capacity(self.len(), origins.len());
        for (slot, origin) in (0u32..).zip(origins) {
            let kept = ring.entries_of(*origin).iter();
            if loses.get(*origin as usize).is_some_and(|loses| *loses) {
                let kept = kept.filter(|entry| !edits.is_removed(**entry));
                owned.extend(kept.map(|entry| edits.moved(*entry)));
            } else {
                owned.extend(kept.map(|entry| edits.moved(*entry)));
            }
            let new = added.iter().take_while(|(owner, _)| *owner == slot).count();
            owned.close(added[..new].iter().map(|(_, entry)| *entry));
            added = &added[new..];
            if slot != *origin {
                owned.of(slot as usize).iter().for_each(|entry| self.owners[*entry as usize] = slot);
            }
        }
        let index = ring.index.after(edits, self.len()).unwrap_or_else(|| Index::of(&self.hashes));
        self.known = Some((owned, index));
    }

    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }
}

/// Maps hashes to the members whose points follow them.
#[derive(Debug)]
pub struct RingTable {
    points: Box<[u64]>,
    index: Index,
    circle: Circle,
    /// In the order of their hashes.
    members: Box<[Identity]>,
    report: RingReport,
}

impl RingTable {
    /// Makes the ring of these points, of which there is at least one and each has an owner among `members`.
    pub(super) fn new(
        points: Points,
        members: Vec<Identity>,
        report: RingReport,
        eligible: impl Fn(usize) -> bool,
    ) -> Self {
        let Points { hashes, owners, known } = points;
        let (owned, index) = known.unwrap_or_else(|| (Owned::by(&owners, members.len()), Index::of(&hashes)));
        let circle = Circle::of(owners.into(), owned, 0, eligible);
        Self { points: hashes.into(), index, circle, members: members.into(), report }
    }

    pub(super) fn report(&self) -> RingReport {
        self.report
    }

    pub(super) fn members(&self) -> &[Identity] {
        &self.members
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// Returns the entries of the member at `slot`, ascending.
    pub(super) fn entries_of(&self, slot: u32) -> &[u32] {
        self.circle.entries_of(slot as usize)
    }

    /// Returns how many points the member at `slot` has.
    pub(super) fn count_of(&self, slot: u32) -> u32 {
        u32::try_from(self.entries_of(slot).len()).unwrap_or(u32::MAX)
    }

    /// Returns the hash of the point at `entry`.
    pub(super) fn hash_of(&self, entry: u32) -> u64 {
        self.points.get(entry as usize).copied().unwrap_or(u64::MAX)
    }

    /// Returns the entry of a point of the member at `slot`.
    pub(super) fn entry_at(&self, slot: u32, hash: u64) -> Option<u32> {
        let entries = self.entries_of(slot);
        let at = entries.partition_point(|entry| self.points[*entry as usize] < hash);
        entries.get(at).copied()
    }

    /// Returns the entry before which a point belongs that comes after the points of lower rank with the same hash.
    pub(super) fn place_of(&self, (hash, rank): (u64, u32), ranks: &[u32]) -> usize {
        let first = self.first_from(hash);
        let met = self.points[first..].iter().zip(&self.circle.owners()[first..]);
        first + met.take_while(|(point, owner)| **point == hash && ranks[**owner as usize] < rank).count()
    }

    /// Selects the owner of the first point at or after `hash` that is eligible.
    #[inline]
    pub(super) fn find<C: Candidate>(&self, view: &View<'_, C>, hash: u64) -> Result<Selection, PickError> {
        let lots = |entry| self.lot(hash, entry);
        self.circle.find(view, self.entry_of(hash), &lots).map(|found| view.select(found.slot))
    }

    /// Writes the first distinct eligible owners at or after `hash` into `into`.
    pub(super) fn find_distinct<C: Candidate>(
        &self,
        view: &View<'_, C>,
        hash: u64,
        into: &mut [Selection],
    ) -> Result<usize, PickError> {
        self.circle.find_distinct(view, self.entry_of(hash), into, &|entry| self.lot(hash, entry))
    }

    /// Returns the lot by which the owner of a point takes the key with this hash while it ramps up. Points stay where they
    /// are when members come and go, so lots stay too.
    fn lot(&self, hash: u64, entry: usize) -> f64 {
        lot(hash, self.points[entry])
    }

    /// Returns the first point at or after `hash`, wrapping around.
    #[inline]
    fn entry_of(&self, hash: u64) -> usize {
        let entry = self.first_from(hash);
        if entry < self.points.len() { entry } else { 0 }
    }

    #[inline]
    fn first_from(&self, hash: u64) -> usize {
        let part = self.index.part(hash);
        part.start + self.points[part].partition_point(|point| *point < hash)
    }
}

impl Table for RingTable {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        self.circle.set_eligible(slot, eligible);
    }
}
