//! The ways in which policies read a view.

use super::View;
use super::lots::patience;
use super::memo::{Memo, SAMPLES};
use crate::core::eligibility::Slots;
use crate::core::{Candidate, Eligibility, ExclusionCounts, Exclusions, PickError, Rng, Selection};

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

    #[inline]
    pub(crate) fn refusal(&self, counts: ExclusionCounts) -> PickError {
        if self.is_empty() { PickError::Empty } else { PickError::NoEligible(counts) }
    }

    #[inline]
    pub(crate) fn sample<const N: usize>(&self, slot: usize, memo: &Memo<N>) -> Exclusions {
        memo.get(slot).unwrap_or_else(|| self.exclusions_at(slot))
    }
}
