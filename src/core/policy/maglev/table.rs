//! The table and the walk along it.

use std::fmt;

use super::fill::{Claimant, fill};
use crate::core::eligibility::{bit, next_set};
use crate::core::view::Memo;
use crate::core::{Candidate, ExclusionCounts, PickError, Table, View};
use crate::sync::{AtomicU64, Ordering};

/// How many entries a walk looks at before it asks all members instead.
const STEPS: usize = 256;
const BITS: usize = u64::BITS as usize;

/// Maps entries to members, and members to their entries.
pub(super) struct MaglevTable {
    /// The slot that owns each entry.
    owners: Box<[u32]>,
    /// The entries of each slot, ascending, one slot after the other.
    entries: Box<[u32]>,
    /// Where the entries of each slot begin; one more at the end.
    starts: Box<[u32]>,
    /// Bit `entry`: its owner is believed to be eligible.
    live: Box<[AtomicU64]>,
}

impl MaglevTable {
    /// Builds the table for claimants whose slots are `0..claimants.len()`, in any order.
    pub(super) fn new(claimants: &[Claimant], size: u32, eligible: impl Fn(usize) -> bool) -> Self {
        let owners = fill(claimants, size);
        let mut starts = vec![0u32; claimants.len() + 1];
        owners.iter().for_each(|owner| starts[*owner as usize + 1] += 1);
        (1..starts.len()).for_each(|slot| starts[slot] += starts[slot - 1]);
        let mut entries = vec![0u32; owners.len()];
        let mut next = starts.clone();
        for (entry, owner) in (0..).zip(&owners) {
            let at = &mut next[*owner as usize];
            entries[*at as usize] = entry;
            *at += 1;
        }
        let table = Self {
            live: (0..owners.len().div_ceil(BITS)).map(|_| AtomicU64::new(0)).collect(),
            owners,
            entries: entries.into(),
            starts: starts.into(),
        };
        (0..claimants.len()).filter(|slot| eligible(*slot)).for_each(|slot| table.set_eligible(slot, true));
        table
    }

    /// Returns the entries of `slot`, ascending.
    fn entries_of(&self, slot: usize) -> &[u32] {
        match (self.starts.get(slot), self.starts.get(slot + 1)) {
            (Some(start), Some(end)) => &self.entries[*start as usize..*end as usize],
            _ => &[],
        }
    }

    /// Returns the slot of the first eligible owner at or after the entry of `hash`.
    #[inline]
    pub(super) fn find<C: Candidate>(&self, view: &View<'_, C>, hash: u64) -> Result<usize, PickError> {
        let start = self.entry_of(hash);
        // Most owners are live, and need no search for the next one that is.
        let live = if self.is_live(start) { Some(start) } else { self.next_live(view, start) };
        let Some(entry) = live else {
            return self.find_beyond(view, start, Memo::new());
        };
        let slot = self.owners[entry] as usize;
        let exclusions = view.exclusions_at(slot);
        if exclusions.is_empty() {
            Ok(slot)
        } else {
            self.find_beyond(view, start, Memo::of(slot, exclusions))
        }
    }

    /// The part of [`find`](Self::find) for when the first owner cannot serve.
    #[cold]
    fn find_beyond<C: Candidate>(
        &self,
        view: &View<'_, C>,
        start: usize,
        mut memo: Memo,
    ) -> Result<usize, PickError> {
        match self.walk(view, start, &mut memo) {
            Some(slot) => Ok(slot),
            None => self.nearest(view, start, &memo),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "the remainder is below the number of entries")]
    #[inline]
    fn entry_of(&self, hash: u64) -> usize {
        (hash % self.owners.len() as u64) as usize
    }

    /// Walks along the entries that are believed to be live.
    fn walk<C: Candidate>(&self, view: &View<'_, C>, start: usize, memo: &mut Memo) -> Option<usize> {
        let mut at = start;
        for _ in 0..STEPS {
            let entry = self.next_live(view, at).or_else(|| self.next_live(view, 0))?;
            let slot = self.owners[entry] as usize;
            if view.try_slot(slot, memo) {
                return Some(slot);
            }
            if memo.is_full() {
                return None;
            }
            at = entry + 1;
        }
        None
    }

    #[inline]
    fn is_live(&self, entry: usize) -> bool {
        self.live[entry / BITS].load(Ordering::Relaxed) & bit(entry) != 0
    }

    #[inline]
    fn next_live<C: Candidate>(&self, view: &View<'_, C>, at: usize) -> Option<usize> {
        if view.is_panic() { Some(at).filter(|at| *at < self.owners.len()) } else { next_set(&self.live, at) }
    }

    /// Asks every member, and returns the eligible one whose next entry is the nearest: the same answer as a walk along all
    /// entries.
    fn nearest<C: Candidate>(
        &self,
        view: &View<'_, C>,
        start: usize,
        memo: &Memo,
    ) -> Result<usize, PickError> {
        let mut counts = ExclusionCounts::default();
        let mut best = None;
        for slot in 0..view.len() {
            let exclusions = view.sample(slot, memo);
            if exclusions.is_empty() {
                let found = (self.distance(slot, start), slot);
                best = Some(best.map_or(found, |best| found.min(best)));
            } else {
                counts.add(exclusions);
            }
        }
        best.map(|(_, slot)| slot).ok_or_else(|| view.refusal(counts))
    }

    /// Returns how many entries lie between `start` and the next entry of `slot`, wrapping around.
    fn distance(&self, slot: usize, start: usize) -> usize {
        let entries = self.entries_of(slot);
        let at = entries.partition_point(|entry| (*entry as usize) < start);
        match (entries.get(at), entries.first()) {
            (Some(entry), _) => *entry as usize - start,
            (None, Some(entry)) => *entry as usize + self.owners.len() - start,
            (None, None) => usize::MAX,
        }
    }
}

impl Table for MaglevTable {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        for entry in self.entries_of(slot) {
            let (word, bit) = (&self.live[*entry as usize / BITS], bit(*entry as usize));
            // A hint that carries nothing else: no ordering.
            if eligible {
                word.fetch_or(bit, Ordering::Relaxed);
            } else {
                word.fetch_and(!bit, Ordering::Relaxed);
            }
        }
    }
}

impl fmt::Debug for MaglevTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaglevTable")
            .field("members", &(self.starts.len() - 1))
            .field("entries", &self.owners.len())
            .finish_non_exhaustive()
    }
}
