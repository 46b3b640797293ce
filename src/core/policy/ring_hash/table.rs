//! The ring.

use std::ops::Range;

use super::RingReport;
use crate::core::policy::circle::Circle;
use crate::core::policy::identity::Identity;
use crate::core::view::lot;
use crate::core::{Candidate, PickError, Selection, Table, View};

/// How many points there are to each place of the index, so that they fill one cache line.
const PER_PLACE: usize = 8;

/// Points in ascending order, and the slots that own them.
#[derive(Debug, Default)]
pub struct Points {
    hashes: Vec<u64>,
    owners: Vec<u32>,
}

impl Points {
    pub(super) fn with_capacity(points: usize) -> Self {
        Self { hashes: Vec::with_capacity(points), owners: Vec::with_capacity(points) }
    }

    /// Appends a point that is not below the last one.
    pub(super) fn push(&mut self, hash: u64, owner: u32) {
        self.hashes.push(hash);
        self.owners.push(owner);
    }

    /// Appends some entries of a ring, whose owners have other `slots` now. A range that ends before it begins is empty.
    pub(super) fn copy(&mut self, ring: &RingTable, entries: Range<usize>, slots: &[u32]) {
        self.hashes.extend_from_slice(ring.points.get(entries.clone()).unwrap_or_default());
        let owners = ring.circle.owners().get(entries).unwrap_or_default();
        self.owners.extend(owners.iter().map(|owner| slots[*owner as usize]));
    }

    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }
}

/// Maps hashes to the members whose points follow them.
#[derive(Debug)]
pub struct RingTable {
    points: Box<[u64]>,
    /// The first point of each part of the range of hashes, parts being told apart by their leading bits; one more at the
    /// end.
    firsts: Box<[u32]>,
    /// By how much a hash is shifted to have its leading bits.
    shift: u32,
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
        let (firsts, shift) = index(&points.hashes);
        let circle = Circle::new(points.owners.into(), members.len(), 0, eligible);
        Self { points: points.hashes.into(), firsts, shift, circle, members: members.into(), report }
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
        let place = leading(hash, self.shift);
        let (first, end) = (self.firsts[place] as usize, self.firsts[place + 1] as usize);
        first + self.points[first..end].partition_point(|point| *point < hash)
    }
}

impl Table for RingTable {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        self.circle.set_eligible(slot, eligible);
    }
}

/// Returns where in ascending `points` each part of the range of hashes begins.
fn index(points: &[u64]) -> (Box<[u32]>, u32) {
    let places = points.len().div_ceil(PER_PLACE).next_power_of_two();
    let shift = u64::BITS - places.ilog2();
    let mut firsts = vec![0u32; places + 1];
    for point in points {
        firsts[leading(*point, shift) + 1] += 1;
    }
    (1..=places).for_each(|place| firsts[place] += firsts[place - 1]);
    (firsts.into(), shift)
}

#[expect(clippy::cast_possible_truncation, reason = "there are fewer than 2^32 places")]
#[inline]
fn leading(hash: u64, shift: u32) -> usize {
    hash.checked_shr(shift).unwrap_or(0) as usize
}
