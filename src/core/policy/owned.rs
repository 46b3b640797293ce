//! The entries that each slot owns.

use crate::core::eligibility::bit;
use crate::sync::AtomicU64;

pub(super) const BITS: usize = u64::BITS as usize;

/// Names the slot that owns an entry, in as few bytes as there are slots to name: a small table stays in a near cache.
pub(super) trait Owner: Copy {
    fn slot(self) -> usize;
}

impl Owner for u16 {
    #[inline]
    fn slot(self) -> usize {
        self.into()
    }
}

impl Owner for u32 {
    #[inline]
    fn slot(self) -> usize {
        self as usize
    }
}

/// Lists the entries of each slot.
#[derive(Debug)]
pub(super) struct Owned {
    /// Ascending for each slot, one slot after the other.
    entries: Vec<u32>,
    /// Where the entries of each slot begin; one more at the end.
    starts: Vec<u32>,
}

impl Owned {
    /// Sorts the entries of `owners`, which are below `members` and fewer than `u32::MAX`.
    pub(super) fn by(owners: &[impl Owner], members: usize) -> Self {
        let mut starts = vec![0u32; members + 1];
        for owner in owners {
            starts[owner.slot() + 1] += 1;
        }
        (1..starts.len()).for_each(|slot| starts[slot] += starts[slot - 1]);
        let mut entries = vec![0u32; owners.len()];
        let mut next = starts.clone();
        for (entry, owner) in (0..).zip(owners) {
            let at = &mut next[owner.slot()];
            entries[*at as usize] = entry;
            *at += 1;
        }
        Self { entries, starts }
    }

    /// Makes the lists of nobody, with room for so many entries of so many members.
    pub(super) fn with_capacity(entries: usize, members: usize) -> Self {
        let mut starts = Vec::with_capacity(members + 1);
        starts.push(0);
        Self { entries: Vec::with_capacity(entries), starts }
    }

    /// Appends ascending entries of the next slot.
    #[inline]
    pub(super) fn extend(&mut self, entries: impl Iterator<Item = u32>) {
        self.entries.extend(entries);
    }

    /// Appends other entries of the next slot, in any order, which are its last.
    pub(super) fn close(&mut self, others: impl Iterator<Item = u32>) {
        let ascending = self.entries.len();
        self.entries.extend(others);
        if self.entries.len() > ascending {
            let start = self.starts.last().map_or(0, |start| *start as usize);
            self.entries[start..].sort_unstable();
        }
        self.starts.push(u32::try_from(self.entries.len()).unwrap_or(u32::MAX));
    }

    /// Returns how many slots there are.
    pub(super) fn members(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the entries of `slot`, ascending.
    pub(super) fn of(&self, slot: usize) -> &[u32] {
        match (self.starts.get(slot), self.starts.get(slot + 1)) {
            (Some(start), Some(end)) => &self.entries[*start as usize..*end as usize],
            _ => &[],
        }
    }

    /// Sets the bit of each entry whose owner is eligible.
    pub(super) fn lit(&self, eligible: impl Fn(usize) -> bool) -> Box<[AtomicU64]> {
        let (on, off): (Vec<usize>, Vec<usize>) = (0..self.members()).partition(|slot| eligible(*slot));
        let count = |slots: &[usize]| slots.iter().map(|slot| self.of(*slot).len()).sum::<usize>();
        // Mostly next to nobody is ineligible.
        let mostly_on = count(&on) >= count(&off);
        let mut words = vec![if mostly_on { u64::MAX } else { 0 }; self.entries.len().div_ceil(BITS)];
        for slot in if mostly_on { off } else { on } {
            self.of(slot).iter().for_each(|entry| words[*entry as usize / BITS] ^= bit(*entry as usize));
        }
        // There is nothing beyond the last entry.
        if let (Some(word), rest @ 1..) = (words.last_mut(), self.entries.len() % BITS) {
            *word &= bit(rest) - 1;
        }
        words.into_iter().map(AtomicU64::new).collect()
    }
}
