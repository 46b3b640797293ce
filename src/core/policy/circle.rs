//! Entries around a circle, and the walk along them to the first owner that can serve.

use std::fmt;

use super::owned::{BITS, Owned, Owner};
use crate::core::eligibility::{bit, next_set, next_set_nearby};
use crate::core::view::{Found, Memo};
use crate::core::{Candidate, Exclusions, PickError, Selection, View};
use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// How many entries a walk looks at before it asks all members instead.
const STEPS: usize = 256;

/// What a walk has sampled: many, as a fleet that has just started ramps up together.
pub(super) type Looks = Memo<32>;

/// Maps entries to members, and members to their entries.
pub(super) struct Circle<O = u32> {
    /// The slot that owns each entry.
    owners: Box<[O]>,
    owned: Owned,
    /// How many bits of `live` are unset, but for those that are being flipped.
    dead: AtomicUsize,
    /// Bit `entry`: its owner is believed to be eligible.
    live: Box<[AtomicU64]>,
    /// The entry after the last one. Those before it are passed once only.
    rejoin: usize,
}

impl<O: Owner> Circle<O> {
    /// Closes `owners`, which are below `members` and fewer than `u32::MAX`, to a circle: the entry at `rejoin` follows the
    /// last one.
    pub(super) fn new(
        owners: Box<[O]>,
        members: usize,
        rejoin: usize,
        eligible: impl Fn(usize) -> bool,
    ) -> Self {
        let owned = Owned::by(&owners, members);
        Self::of(owners, owned, rejoin, eligible)
    }

    /// As [`new`](Self::new), where it is known which entries each slot owns.
    pub(super) fn of(
        owners: Box<[O]>,
        owned: Owned,
        rejoin: usize,
        eligible: impl Fn(usize) -> bool,
    ) -> Self {
        let live = owned.lit(eligible);
        let lit: usize = live.iter().map(|word| word.load(Ordering::Relaxed).count_ones() as usize).sum();
        Self { dead: AtomicUsize::new(owners.len() - lit), owners, owned, live, rejoin }
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
    pub(super) fn owners(&self) -> &[O] {
        &self.owners
    }

    /// Returns the entry that follows the last one.
    pub(super) fn rejoin(&self) -> usize {
        self.rejoin
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

    /// Finds the first entry at or after `start` whose owner is eligible. A member that ramps up takes an entry if its lot
    /// says so; when nobody takes one, one of them has it all the same.
    #[expect(
        clippy::inline_always,
        reason = "the common path of a pick, of which little is left beside the rest"
    )]
    #[inline(always)]
    pub(super) fn find<C: Candidate>(
        &self,
        view: &View<'_, C>,
        start: usize,
        lots: &impl Fn(usize) -> f64,
    ) -> Result<Found, PickError> {
        // Mostly everybody is live, and nothing but candidates decides who is eligible.
        let is_everybody_live = self.dead.load(Ordering::Relaxed) == 0;
        if is_everybody_live && let Some(candidates) = view.plain() {
            let slot = self.owners[start].slot();
            if let Some(candidate) = candidates.get(slot) {
                let exclusions = candidate.exclusions(view.now());
                if exclusions.is_empty() && candidate.ramp(view.now()) >= 1.0 {
                    return Ok(Found { entry: start, slot, missed: None });
                }
                return self.find_again(view, start, Some((slot, exclusions)), lots);
            }
        }
        let is_live = is_everybody_live || view.is_panic();
        let live = if is_live { Some(start) } else { next_set_nearby(&self.live, start) };
        let looked = match live {
            Some(entry) => {
                let slot = self.owners[entry].slot();
                let exclusions = view.exclusions_at(slot);
                if exclusions.is_empty() && view.is_whole(slot) {
                    return Ok(Found { entry, slot, missed: Some(start).filter(|start| *start != entry) });
                }
                Some((slot, exclusions))
            }
            None => None,
        };
        self.find_again(view, start, looked, lots)
    }

    /// As [`find`](Self::find), after a first look that did not settle it.
    #[cold]
    fn find_again<C: Candidate>(
        &self,
        view: &View<'_, C>,
        start: usize,
        looked: Option<(usize, Exclusions)>,
        lots: &impl Fn(usize) -> f64,
    ) -> Result<Found, PickError> {
        self.find_beyond(view, start, Looks::of_missed(looked), lots)
    }

    /// Writes the first distinct owners that [`find`](Self::find) would find one after the other, each without those before
    /// it, into `into`, and returns how many there are.
    pub(super) fn find_distinct<C: Candidate>(
        &self,
        view: &View<'_, C>,
        start: usize,
        into: &mut [Selection],
        lots: &impl Fn(usize) -> f64,
    ) -> Result<usize, PickError> {
        let mut memo = Looks::new();
        let (mut found, mut at) = (0, start);
        for _ in 0..STEPS.min(self.len()) {
            if found == into.len() {
                return Ok(found);
            }
            let Some(entry) = self.next_around(view, at).filter(|_| !memo.is_full()) else { break };
            let slot = self.owners[entry].slot();
            if !holds(&into[..found], view, slot)
                && view.try_slot(slot, &mut memo)
                && view.takes_turn(slot, || lots(entry))
            {
                into[found] = view.select(slot);
                found += 1;
            }
            at = self.after(entry);
        }
        if found == into.len() {
            Ok(found)
        } else {
            self.nearest_distinct(view, start, into, found, &memo, lots)
        }
    }

    /// The part of [`find`](Self::find) for when the first look did not settle it.
    pub(super) fn find_beyond<C: Candidate>(
        &self,
        view: &View<'_, C>,
        start: usize,
        mut memo: Looks,
        lots: &impl Fn(usize) -> f64,
    ) -> Result<Found, PickError> {
        match self.walk(view, start, &mut memo, lots) {
            Some(found) => Ok(found),
            None => self.nearest(view, start, &memo, lots),
        }
    }

    /// Walks along the entries that are believed to be live, once around at most.
    fn walk<C: Candidate>(
        &self,
        view: &View<'_, C>,
        start: usize,
        memo: &mut Looks,
        lots: &impl Fn(usize) -> f64,
    ) -> Option<Found> {
        let (mut at, mut missed) = (start, None);
        for _ in 0..STEPS.min(self.len()) {
            let entry = self.next_around(view, at)?;
            if entry != at {
                missed = missed.or(Some(at));
            }
            let slot = self.owners[entry].slot();
            if !view.try_slot(slot, memo) {
                missed = missed.or(Some(entry));
            } else if view.takes_turn(slot, || lots(entry)) {
                return Some(Found { entry, slot, missed });
            }
            if memo.is_full() {
                return None;
            }
            at = self.after(entry);
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

    /// Records that `slot` became eligible or ineligible.
    pub(super) fn set_eligible(&self, slot: usize, eligible: bool) {
        let mut flipped = 0;
        for entry in self.entries_of(slot) {
            let (word, bit) = (&self.live[*entry as usize / BITS], bit(*entry as usize));
            // A hint that carries nothing else: no ordering.
            let before = if eligible {
                word.fetch_or(bit, Ordering::Relaxed)
            } else {
                word.fetch_and(!bit, Ordering::Relaxed)
            };
            flipped += usize::from((before & bit != 0) != eligible);
        }
        // Each flip is counted once, whoever races, so that the count is exact in the end. It wraps for a moment when a bit that
        // is set again is counted before it was unset.
        if eligible {
            self.dead.fetch_sub(flipped, Ordering::Relaxed);
        } else {
            self.dead.fetch_add(flipped, Ordering::Relaxed);
        }
    }
}

impl<O: Owner> fmt::Debug for Circle<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Circle").field("members", &self.members()).field("entries", &self.len()).finish()
    }
}

pub(super) fn holds<C>(chosen: &[Selection], view: &View<'_, C>, slot: usize) -> bool {
    let position = view.position(slot);
    chosen.iter().any(|selection| selection.index() == position)
}
