//! Where to look for a hash among the points of a ring.

use std::ops::Range;

use super::edits::Edits;
use crate::core::policy::identity::leading;

/// How many points there are to each place of the index, so that they fill one cache line.
const PER_PLACE: usize = 8;

/// Tells parts of the range of hashes apart by their leading bits.
#[derive(Debug)]
pub(super) struct Index {
    /// The first point of each part; one more at the end.
    firsts: Box<[u32]>,
    /// By how much a hash is shifted to have its leading bits.
    shift: u32,
}

impl Index {
    /// Makes the index of ascending points.
    pub(super) fn of(points: &[u64]) -> Self {
        let places = places(points.len());
        let shift = u64::BITS - places.ilog2();
        let mut firsts = vec![0u32; places + 1];
        for point in points {
            firsts[leading(*point, shift) + 1] += 1;
        }
        (1..=places).for_each(|place| firsts[place] += firsts[place - 1]);
        Self { firsts: firsts.into(), shift }
    }

    /// Returns the index of so many points that these edits make of the ones of this index, if it is of the same size.
    pub(super) fn after(&self, edits: &Edits, points: usize) -> Option<Self> {
        if places(points) + 1 != self.firsts.len() {
            return None;
        }
        let mut firsts = Vec::with_capacity(self.firsts.len());
        let mut shift = 0u32;
        let mut copy = |places: Range<usize>, shift: u32| {
            let same = self.firsts.get(places).unwrap_or_default();
            firsts.extend(same.iter().map(|first| first.wrapping_add(shift)));
        };
        let mut from = 0;
        for (edit, shifted) in edits.shifts() {
            // The place of a point itself begins before it.
            let end = leading(edit.hash, self.shift) + 1;
            copy(from..end, shift);
            (from, shift) = (from.max(end), shifted);
        }
        copy(from..self.firsts.len(), shift);
        Some(Self { firsts: firsts.into(), shift: self.shift })
    }

    /// Returns the points among which the first at or after `hash` is, unless it is the one that follows them.
    #[inline]
    pub(super) fn part(&self, hash: u64) -> Range<usize> {
        let place = leading(hash, self.shift);
        self.firsts[place] as usize..self.firsts[place + 1] as usize
    }
}

fn places(points: usize) -> usize {
    points.div_ceil(PER_PLACE).next_power_of_two()
}
