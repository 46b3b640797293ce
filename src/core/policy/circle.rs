//! Entries around a circle, and the walk along them to the first owner that can serve.

use std::fmt;

use super::owned::{BITS, Owned};
use crate::core::eligibility::{bit, next_set};
use crate::core::view::Memo;
use crate::core::{Candidate, ExclusionCounts, Exclusions, PickError, Selection, View};
use crate::sync::{AtomicU64, Ordering};

/// How many entries a walk looks at before it asks all members instead.
const STEPS: usize = 256;

/// Maps entries to members, and members to their entries.
pub(super) struct Circle {
    /// The slot that owns each entry.
    owners: Box<[u32]>,
    owned: Owned,
    /// Bit `entry`: its owner is believed to be eligible.
    live: Box<[AtomicU64]>,
    /// The entry after the last one. Those before it are passed once only.
    rejoin: usize,
}

/// An entry whose owner can serve.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) entry: usize,
    pub(super) slot: usize,
}

impl Circle {
    /// Closes `owners`, which are below `members` and fewer than `u32::MAX`, to a circle: the entry at `rejoin` follows the
    /// last one.
    pub(super) fn new(
        owners: Box<[u32]>,
        members: usize,
        rejoin: usize,
        eligible: impl Fn(usize) -> bool,
    ) -> Self {
        let owned = Owned::by(&owners, members);
        Self::of(owners, owned, rejoin, eligible)
    }

    /// As [`new`](Self::new), where it is known which entries each slot owns.
    pub(super) fn of(
        owners: Box<[u32]>,
        owned: Owned,
        rejoin: usize,
        eligible: impl Fn(usize) -> bool,
    ) -> Self {
        Self { live: owned.lit(eligible), owners, owned, rejoin }
    }

    /// Returns how many entries there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.owners.len()
    }

    /// Returns how many slots the entries belong to.
    pub(super) fn members(&self) -> usize {
        self.owned.members()
    }

    #[inline]
    pub(super) fn owners(&self) -> &[u32] {
        &self.owners
    }

    /// Returns the entry that follows `entry`.
    #[inline]
    pub(super) fn after(&self, entry: usize) -> usize {
        if entry + 1 < self.owners.len() { entry + 1 } else { self.rejoin }
    }

    /// Returns the entries of `slot`, ascending.
    pub(super) fn entries_of(&self, slot: usize) -> &[u32] {
        self.owned.of(slot)
    }

    /// Finds the first entry at or after `start` whose owner is eligible.
    #[expect(
        clippy::inline_always,
        reason = "the common path of a pick, of which little is left beside the rest"
    )]
    #[inline(always)]
    pub(super) fn find<C: Candidate>(&self, view: &View<'_, C>, start: usize) -> Result<Found, PickError> {
        // Most owners are live, and need no search for the next one that is.
        let live = if self.is_live(start) { Some(start) } else { self.next_live(view, start) };
        let missed = match live {
            Some(entry) => {
                let slot = self.owners[entry] as usize;
                let exclusions = view.exclusions_at(slot);
                if exclusions.is_empty() {
                    return Ok(Found { entry, slot });
                }
                Some((slot, exclusions))
            }
            None => None,
        };
        self.find_again(view, start, missed)
    }

    /// As [`find`](Self::find), after a first look that missed.
    #[cold]
    fn find_again<C: Candidate>(
        &self,
        view: &View<'_, C>,
        start: usize,
        missed: Option<(usize, Exclusions)>,
    ) -> Result<Found, PickError> {
        self.find_beyond(view, start, Memo::of_missed(missed))
    }

    /// Writes the first distinct eligible owners at or after `start` into `into`, and returns how many there are.
    pub(super) fn find_distinct<C: Candidate>(
        &self,
        view: &View<'_, C>,
        start: usize,
        into: &mut [Selection],
    ) -> Result<usize, PickError> {
        let mut memo = Memo::new();
        let (mut found, mut at) = (0, start);
        for _ in 0..STEPS {
            if found == into.len() {
                return Ok(found);
            }
            let Some(entry) = self.next_around(view, at).filter(|_| !memo.is_full()) else { break };
            let slot = self.owners[entry] as usize;
            if !holds(&into[..found], view, slot) && is_new(view, slot, &mut memo) {
                into[found] = view.select(slot);
                found += 1;
            }
            at = entry + 1;
        }
        self.nearest_distinct(view, start, into, found, &memo)
    }

    /// The part of [`find`](Self::find) for when the first owner cannot serve.
    pub(super) fn find_beyond<C: Candidate>(
        &self,
        view: &View<'_, C>,
        start: usize,
        mut memo: Memo,
    ) -> Result<Found, PickError> {
        match self.walk(view, start, &mut memo) {
            Some(found) => Ok(found),
            None => self.nearest(view, start, &memo),
        }
    }

    /// Walks along the entries that are believed to be live.
    fn walk<C: Candidate>(&self, view: &View<'_, C>, start: usize, memo: &mut Memo) -> Option<Found> {
        let mut at = start;
        for _ in 0..STEPS {
            let entry = self.next_around(view, at)?;
            let slot = self.owners[entry] as usize;
            if view.try_slot(slot, memo) {
                return Some(Found { entry, slot });
            }
            if memo.is_full() {
                return None;
            }
            at = entry + 1;
        }
        None
    }

    /// Tells whether the owner of `entry` is believed to be eligible.
    #[inline]
    pub(super) fn is_live(&self, entry: usize) -> bool {
        self.live[entry / BITS].load(Ordering::Relaxed) & bit(entry) != 0
    }

    #[inline]
    fn next_live<C: Candidate>(&self, view: &View<'_, C>, at: usize) -> Option<usize> {
        if view.is_panic() { Some(at).filter(|at| *at < self.owners.len()) } else { next_set(&self.live, at) }
    }

    fn next_around<C: Candidate>(&self, view: &View<'_, C>, at: usize) -> Option<usize> {
        self.next_live(view, at).or_else(|| self.next_live(view, self.rejoin))
    }

    /// Asks every member, and returns the eligible one whose next entry is the nearest: the same answer as a walk along all
    /// entries.
    fn nearest<C: Candidate>(
        &self,
        view: &View<'_, C>,
        start: usize,
        memo: &Memo,
    ) -> Result<Found, PickError> {
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
        let (distance, slot) = best.ok_or_else(|| view.refusal(counts))?;
        Ok(Found { entry: self.entry_at(start, distance), slot })
    }

    /// Asks every member that is not yet among the first `found` or in `memo`, and appends the nearest.
    #[cold]
    fn nearest_distinct<C: Candidate>(
        &self,
        view: &View<'_, C>,
        start: usize,
        into: &mut [Selection],
        found: usize,
        memo: &Memo,
    ) -> Result<usize, PickError> {
        let mut counts = ExclusionCounts::default();
        let mut others = Vec::new();
        for slot in (0..view.len()).filter(|slot| !holds(&into[..found], view, *slot)) {
            let exclusions = view.sample(slot, memo);
            if exclusions.is_empty() {
                others.push((self.distance(slot, start), slot));
            } else {
                counts.add(exclusions);
            }
        }
        if found == 0 && others.is_empty() {
            return Err(view.refusal(counts));
        }
        others.sort_unstable();
        let places = into[found..].iter_mut().zip(others);
        Ok(found + places.map(|(place, (_, slot))| *place = view.select(slot)).count())
    }

    /// Returns how many entries lie between `start` and the next entry of `slot`, going around.
    fn distance(&self, slot: usize, start: usize) -> usize {
        let entries = self.entries_of(slot);
        let next = |from: usize| entries.get(entries.partition_point(|entry| (*entry as usize) < from));
        match (next(start), next(self.rejoin)) {
            (Some(entry), _) => *entry as usize - start,
            (None, Some(entry)) => *entry as usize - self.rejoin + self.owners.len() - start,
            (None, None) => usize::MAX,
        }
    }

    /// Returns the entry that lies `distance` entries after `start`, going around.
    fn entry_at(&self, start: usize, distance: usize) -> usize {
        let left = self.owners.len() - start;
        if distance < left {
            start + distance
        } else {
            self.rejoin.saturating_add(distance - left) % self.owners.len()
        }
    }

    /// Records that `slot` became eligible or ineligible.
    pub(super) fn set_eligible(&self, slot: usize, eligible: bool) {
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

impl fmt::Debug for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Circle").field("members", &self.members()).field("entries", &self.len()).finish()
    }
}

fn holds<C>(chosen: &[Selection], view: &View<'_, C>, slot: usize) -> bool {
    let position = view.position(slot);
    chosen.iter().any(|selection| selection.index() == position)
}

/// Samples `slot` unless it was found excluded before, and tells whether it may be chosen. `memo` keeps the excluded ones.
fn is_new<C: Candidate>(view: &View<'_, C>, slot: usize, memo: &mut Memo) -> bool {
    if memo.get(slot).is_some() {
        return false;
    }
    let exclusions = view.exclusions_at(slot);
    if !exclusions.is_empty() {
        memo.keep(slot, exclusions);
    }
    exclusions.is_empty()
}
