//! The search along a circle for when a walk has gone far enough: one look at everybody.

use super::circle::{Circle, Looks, holds};
use super::owned::Owner;
use crate::core::view::{Found, patience};
use crate::core::{Candidate, ExclusionCounts, PickError, Selection, View};

/// How many lots of one member are drawn before it counts as one that takes no entry.
const LOTS: usize = 32;

/// Where a member would be found; the least comes first.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Standing {
    /// Zero for who takes an entry. The others wait until nobody does.
    patience: f64,
    /// How far its entry is from the start, going around.
    distance: usize,
    slot: usize,
    entry: usize,
}

impl<O: Owner> Circle<O> {
    /// Asks every member, and returns the eligible one that takes the nearest entry: the same answer as a walk along all
    /// entries.
    pub(super) fn nearest<C: Candidate>(
        &self,
        view: &View<'_, C>,
        start: usize,
        memo: &Looks,
        lots: &impl Fn(usize) -> f64,
    ) -> Result<Found, PickError> {
        let mut counts = ExclusionCounts::default();
        let (mut best, mut missed) = (None, None);
        for slot in 0..view.len() {
            let exclusions = view.sample(slot, memo);
            if exclusions.is_empty() {
                let standing = self.standing(view, slot, start, lots);
                best = Some(best.map_or(standing, |best| if standing < best { standing } else { best }));
            } else {
                counts.add(exclusions);
                let next = self.around(slot, start).next().map(|entry| (self.distance(entry, start), entry));
                missed = [missed, next].into_iter().flatten().min();
            }
        }
        let Standing { slot, entry, distance, .. } = best.ok_or_else(|| view.refusal(counts))?;
        let missed = missed.filter(|(passed, _)| *passed < distance).map(|(_, entry)| entry);
        Ok(Found { entry, slot, missed })
    }

    /// Asks every member that is not yet among the first `found` or in `memo`, and appends those that come next.
    #[cold]
    pub(super) fn nearest_distinct<C: Candidate>(
        &self,
        view: &View<'_, C>,
        start: usize,
        into: &mut [Selection],
        found: usize,
        memo: &Looks,
        lots: &impl Fn(usize) -> f64,
    ) -> Result<usize, PickError> {
        let mut counts = ExclusionCounts::default();
        let mut others = Vec::new();
        for slot in (0..view.len()).filter(|slot| !holds(&into[..found], view, *slot)) {
            let exclusions = view.sample(slot, memo);
            if exclusions.is_empty() {
                others.push(self.standing(view, slot, start, lots));
            } else {
                counts.add(exclusions);
            }
        }
        if found == 0 && others.is_empty() {
            return Err(view.refusal(counts));
        }
        others.sort_unstable_by(|one, other| {
            let by_patience = one.patience.total_cmp(&other.patience);
            by_patience.then((one.distance, one.slot).cmp(&(other.distance, other.slot)))
        });
        let places = into[found..].iter_mut().zip(others);
        Ok(found + places.map(|(place, standing)| *place = view.select(standing.slot)).count())
    }

    /// Finds the first entry at or after `start` that `slot`, which is eligible, takes. Who has none serves when nobody else
    /// can.
    fn standing<C: Candidate>(
        &self,
        view: &View<'_, C>,
        slot: usize,
        start: usize,
        lots: &impl Fn(usize) -> f64,
    ) -> Standing {
        let mut entries = self.around(slot, start);
        let Some(first) = entries.next() else {
            return Standing { patience: f64::INFINITY, distance: usize::MAX, slot, entry: start };
        };
        let at = |entry| Standing { patience: 0.0, distance: self.distance(entry, start), slot, entry };
        if view.is_whole(slot) {
            return at(first);
        }
        let part = view.part_at(slot);
        let taken = std::iter::once(first).chain(entries).take(LOTS).find(|entry| lots(*entry) <= part);
        taken.map_or_else(|| Standing { patience: patience(lots(first), part), ..at(first) }, at)
    }

    /// Lists the entries of `slot` from `start` on, once around.
    fn around(&self, slot: usize, start: usize) -> impl Iterator<Item = usize> {
        let entries = self.entries_of(slot);
        let from = |place: usize| entries.partition_point(|entry| (*entry as usize) < place);
        let (ahead, again) = (from(start), from(self.rejoin()));
        let behind = entries.get(again..ahead).unwrap_or_default();
        entries[ahead..].iter().chain(behind).map(|entry| *entry as usize)
    }

    /// Returns how many entries lie between `start` and `entry`, going around.
    fn distance(&self, entry: usize, start: usize) -> usize {
        if entry >= start {
            entry - start
        } else {
            (entry + self.len()).saturating_sub(self.rejoin() + start)
        }
    }
}
