//! The ways in which policies read a view.

use super::View;
use super::lots::patience;
use super::memo::{Memo, SAMPLES};
use crate::core::eligibility::Slots;
use crate::core::{Candidate, Eligibility, ExclusionCounts, Exclusions, PickError, Rng, Selection};

/// Holds two distinct eligible candidates, or the only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// One candidate.
    pub first: Selection,
    /// Another one, if there is one.
    pub second: Option<Selection>,
}

/// Whose turn it is, of turns that go around.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// Where the turn is.
    pub(crate) entry: usize,
    /// Whose it is.
    pub(crate) slot: usize,
    /// The first turn before it that was passed over because its owner is excluded.
    pub(crate) missed: Option<usize>,
}

impl<'a, C: Candidate> View<'a, C> {
    /// Finds the first eligible candidate at or after `start`, counted in slots and wrapping around, whether or not it
    /// [ramps up](Candidate::ramp).
    ///
    /// # Errors
    ///
    /// [`PickError::Empty`] or [`PickError::NoEligible`].
    ///
    /// # Complexity
    ///
    /// With an eligibility, the distance to the next eligible slot divided by 64; otherwise that distance.
    #[inline]
    pub fn first_from(&self, start: usize) -> Result<Selection, PickError> {
        self.first_turn_from(start, &|_| 0.0).map(|found| self.select(found.slot))
    }

    /// Draws one eligible candidate, all with the same chance, of which one that [ramps up](Candidate::ramp) gets its part.
    ///
    /// # Errors
    ///
    /// [`PickError::Empty`] or [`PickError::NoEligible`].
    ///
    /// # Complexity
    ///
    /// Constant with an eligibility. Otherwise constant while a fair part of the candidates is eligible, and one scan when
    /// several draws missed.
    #[inline]
    pub fn uniform(&self, rng: &Rng) -> Result<Selection, PickError> {
        let Some(slot) = self.draw_slot(rng) else { return self.uniform_missed(rng, None) };
        let exclusions = self.exclusions_at(slot);
        if exclusions.is_empty() && self.is_whole(slot) {
            Ok(self.select(slot))
        } else {
            self.uniform_missed(rng, Some((slot, exclusions)))
        }
    }

    /// Draws two distinct eligible candidates, all pairs with the same chance; only one when there is only one.
    ///
    /// # Errors
    ///
    /// [`PickError::Empty`] or [`PickError::NoEligible`].
    ///
    /// # Complexity
    ///
    /// As for [`uniform`](Self::uniform).
    #[inline]
    pub fn pair(&self, rng: &Rng) -> Result<Pair, PickError> {
        let Some((first, second)) = self.draw_slots(rng) else { return self.pair_beyond(rng, Memo::new()) };
        let both = self.plain().and_then(|candidates| candidates.get(first).zip(candidates.get(second)));
        let exclusions = match both {
            Some((one, other)) => {
                let exclusions = (one.exclusions(self.now()), other.exclusions(self.now()));
                if exclusions == (Exclusions::NONE, Exclusions::NONE) {
                    return Ok(Pair { first: Selection::new(first), second: Some(Selection::new(second)) });
                }
                exclusions
            }
            None => (self.exclusions_at(first), self.exclusions_at(second)),
        };
        if exclusions == (Exclusions::NONE, Exclusions::NONE) {
            return Ok(Pair { first: self.select(first), second: Some(self.select(second)) });
        }
        let mut memo = Memo::of(first, exclusions.0);
        memo.keep(second, exclusions.1);
        self.pair_beyond(rng, memo)
    }

    /// The part of [`pair`](Self::pair) for when the first two draws were not both eligible.
    #[cold]
    fn pair_beyond(&self, rng: &Rng, mut memo: Memo) -> Result<Pair, PickError> {
        let Some(first) = self.draw_known(rng, &mut memo) else {
            let (first, second) = self.scan(rng, &memo)?;
            return Ok(Pair { first: self.select(first), second: second.map(|slot| self.select(slot)) });
        };
        let only = self.hint().is_some_and(|hint| hint.count() == 1);
        let second =
            if only { None } else { self.draw(rng, &mut memo).or_else(|| self.scan_others(rng, &memo)) };
        Ok(Pair { first: self.select(first), second: second.map(|slot| self.select(slot)) })
    }

    /// Lists the eligible candidates with their positions. Each is sampled when the iterator reaches it.
    ///
    /// # Complexity
    ///
    /// One scan, also with an eligibility.
    pub fn eligible(&self) -> impl Iterator<Item = (Selection, &'a C)> + '_ {
        (0..self.len()).filter_map(|slot| {
            let candidate = self.candidate(slot)?;
            self.exclusions_at(slot).is_empty().then(|| (self.select(slot), candidate))
        })
    }

    /// Says precisely why nobody can be chosen: what a policy returns that found nobody.
    ///
    /// # Complexity
    ///
    /// One scan.
    #[must_use]
    pub fn refuse(&self) -> PickError {
        let mut counts = ExclusionCounts::default();
        (0..self.len()).for_each(|slot| counts.add(self.exclusions_at(slot)));
        self.refusal(counts)
    }

    /// Selects the candidate at `slot`.
    ///
    /// # Panics
    ///
    /// When `slot` is not below [`len`](Self::len) and the view has a scope.
    #[inline]
    pub fn select(&self, slot: usize) -> Selection {
        Selection::new(self.position(slot)).in_panic(self.is_panic())
    }

    /// As [`first_from`](Self::first_from); a candidate that ramps up takes the turn at its slot if the lot says so. When
    /// nobody does, one of them has it all the same.
    #[inline]
    pub(crate) fn first_turn_from(
        &self,
        start: usize,
        lots: &impl Fn(usize) -> f64,
    ) -> Result<Found, PickError> {
        let start = if start < self.len() { start } else { 0 };
        let first = match self.hint() {
            // Mostly it is the start, which a processor that guesses so need not wait for.
            Some(hint) if hint.contains(start) => Some(start),
            Some(hint) => hint.next_from(start),
            None => Some(start).filter(|start| *start < self.len()),
        };
        let Some(slot) = first else { return self.first_turn_beyond(start, Memo::<SAMPLES>::new(), lots) };
        let exclusions = self.exclusions_at(slot);
        if exclusions.is_empty() && self.is_whole(slot) {
            Ok(Found { entry: slot, slot, missed: Some(start).filter(|start| *start != slot) })
        } else {
            self.first_turn_beyond(start, Memo::<SAMPLES>::of(slot, exclusions), lots)
        }
    }

    /// As [`first_turn_from`](Self::first_turn_from), for a start that is a slot, knowing what has been sampled before.
    #[cold]
    pub(crate) fn first_turn_beyond<const N: usize>(
        &self,
        start: usize,
        mut memo: Memo<N>,
        lots: &impl Fn(usize) -> f64,
    ) -> Result<Found, PickError> {
        if let Some(found) = self.first_believed(start, &mut memo, lots) {
            return Ok(found);
        }
        let mut counts = ExclusionCounts::default();
        let (mut missed, mut best) = (None, None);
        let mut least = f64::INFINITY;
        for slot in (start..self.len()).chain(0..start) {
            let exclusions = self.sample(slot, &memo);
            if !exclusions.is_empty() {
                counts.add(exclusions);
                missed = missed.or(Some(slot));
                continue;
            }
            let found = Found { entry: slot, slot, missed };
            if self.takes_turn(slot, || lots(slot)) {
                return Ok(found);
            }
            let patience = patience(lots(slot), self.part_at(slot));
            if best.is_none() || patience < least {
                (best, least) = (Some(found), patience);
            }
        }
        best.ok_or_else(|| self.refusal(counts))
    }

    /// Goes around those that are believed to be eligible.
    fn first_believed<const N: usize>(
        &self,
        start: usize,
        memo: &mut Memo<N>,
        lots: &impl Fn(usize) -> f64,
    ) -> Option<Found> {
        let hint = self.hint()?;
        let (mut at, mut wrapped, mut missed) = (start, false, None);
        while !memo.is_full() {
            let next = hint.next_from(at);
            if next != Some(at) && at < self.len() {
                missed = missed.or(Some(at));
            }
            match next {
                Some(slot) if wrapped && slot >= start => return None,
                Some(slot) => {
                    if !self.try_slot(slot, memo) {
                        missed = missed.or(Some(slot));
                    } else if self.takes_turn(slot, || lots(slot)) {
                        return Some(Found { entry: slot, slot, missed });
                    }
                    at = slot + 1;
                }
                None if wrapped => return None,
                None => (at, wrapped) = (0, true),
            }
        }
        None
    }

    /// Returns where to look when few are believed to be eligible. Otherwise it is faster to go through all slots, and to
    /// ask whether one [is promising](Self::is_promising) as late as possible.
    #[inline]
    pub(crate) fn few(&self) -> Option<Slots<'a>> {
        self.hint().filter(|hint| hint.count() < self.len() / 4).map(Eligibility::slots)
    }

    /// Samples `slot` unless that was done before, keeps the sample while there is room, and tells whether the candidate may
    /// be chosen.
    #[inline]
    pub(crate) fn try_slot<const N: usize>(&self, slot: usize, memo: &mut Memo<N>) -> bool {
        if let Some(exclusions) = memo.get(slot) {
            return exclusions.is_empty();
        }
        let exclusions = self.exclusions_at(slot);
        memo.keep(slot, exclusions);
        exclusions.is_empty()
    }

    /// Draws two distinct slots that are believed to be eligible, if there are two.
    #[inline]
    fn draw_slots(&self, rng: &Rng) -> Option<(usize, usize)> {
        let Some(hint) = self.hint() else {
            return Some(self.len()).filter(|count| *count > 1).map(|count| rng.pair(count));
        };
        let (first, second) = Some(hint.count()).filter(|count| *count > 1).map(|count| rng.pair(count))?;
        let slots = (hint.nth(first), hint.nth(second));
        // Two places of a permutation that is being changed may show the same slot for a moment.
        Some(slots).filter(|(first, second)| first != second)
    }

    /// Takes an eligible one that has been sampled already, or draws.
    fn draw_known(&self, rng: &Rng, memo: &mut Memo) -> Option<usize> {
        memo.eligible().or_else(|| self.draw(rng, memo))
    }

    /// Draws one of the slots that are believed to be eligible.
    #[inline]
    pub(crate) fn draw_slot(&self, rng: &Rng) -> Option<usize> {
        match self.hint() {
            Some(hint) => {
                Some(hint.count()).filter(|count| *count > 0).map(|count| hint.nth(rng.below(count)))
            }
            None => Some(self.len()).filter(|count| *count > 0).map(|count| rng.below(count)),
        }
    }

    /// The part of [`uniform`](Self::uniform) for when the first draw did not settle it.
    #[cold]
    fn uniform_missed(&self, rng: &Rng, looked: Option<(usize, Exclusions)>) -> Result<Selection, PickError> {
        self.draw_again(rng, looked, || self.draw_slot(rng), |_, _| 1)
    }

    /// As [`uniform`](Self::uniform), knowing what has been sampled before. One of these that is eligible is drawn with the
    /// same chance as any other.
    #[cold]
    pub(crate) fn uniform_beyond<const N: usize>(
        &self,
        rng: &Rng,
        memo: Memo<N>,
    ) -> Result<Selection, PickError> {
        self.draw_by_part(rng, memo, None, || self.draw_slot(rng), |_, _| 1)
    }

    /// Draws until an eligible candidate is found that is not in `memo`, which keeps every sample, or until `memo` is
    /// full.
    fn draw(&self, rng: &Rng, memo: &mut Memo) -> Option<usize> {
        for _ in 0..SAMPLES {
            let slot = self.draw_slot(rng)?;
            if memo.is_full() {
                return None;
            }
            if memo.get(slot).is_none() {
                let exclusions = self.exclusions_at(slot);
                memo.keep(slot, exclusions);
                if exclusions.is_empty() {
                    return Some(slot);
                }
            }
        }
        None
    }

    /// Scans all candidates and draws up to two of the eligible ones.
    fn scan(&self, rng: &Rng, memo: &Memo) -> Result<(usize, Option<usize>), PickError> {
        let mut counts = ExclusionCounts::default();
        let mut drawn = [None; 2];
        let mut seen = 0;
        for slot in 0..self.len() {
            let exclusions = self.sample(slot, memo);
            if !exclusions.is_empty() {
                counts.add(exclusions);
                continue;
            }
            seen += 1;
            if seen <= 2 {
                drawn[seen - 1] = Some(slot);
            } else if let Some(place) = drawn.get_mut(rng.below(seen)) {
                *place = Some(slot);
            }
        }
        if drawn[1].is_some() && rng.coin() {
            drawn.swap(0, 1);
        }
        drawn[0].map(|slot| (slot, drawn[1])).ok_or_else(|| self.refusal(counts))
    }

    /// Scans the candidates that have not been sampled and draws one of the eligible ones.
    fn scan_others(&self, rng: &Rng, memo: &Memo) -> Option<usize> {
        let mut drawn = None;
        let mut seen = 0;
        for slot in 0..self.len() {
            if memo.get(slot).is_none() && self.exclusions_at(slot).is_empty() {
                seen += 1;
                if rng.below(seen) == 0 {
                    drawn = Some(slot);
                }
            }
        }
        drawn
    }

    pub(crate) fn refusal(&self, counts: ExclusionCounts) -> PickError {
        if self.is_empty() { PickError::Empty } else { PickError::NoEligible(counts) }
    }

    #[inline]
    pub(crate) fn sample<const N: usize>(&self, slot: usize, memo: &Memo<N>) -> Exclusions {
        memo.get(slot).unwrap_or_else(|| self.exclusions_at(slot))
    }
}
