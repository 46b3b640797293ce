//! The least cost of all.

use std::cmp::Ordering;

use super::View;
use crate::core::{Candidate, Eligibility, ExclusionCounts, Exclusions, PickError, Rng, Selection};

impl<'a, C: Candidate> View<'a, C> {
    /// Finds the eligible candidate for which `cost` is least; ties are broken by chance. Not-a-number counts as infinite.
    ///
    /// `cost` is called once for each eligible candidate.
    ///
    /// # Errors
    ///
    /// [`PickError::Empty`] or [`PickError::NoEligible`].
    ///
    /// # Complexity
    ///
    /// One scan; over those that the eligibility names where they are few.
    pub fn least(&self, rng: &Rng, cost: impl FnMut(&'a C) -> f64) -> Result<Selection, PickError> {
        // Going from bit to bit pays only where most are unset.
        let few = self.hint().filter(|hint| hint.count() < self.len() / 4);
        let (None, Some(candidates)) = (few, self.plain()) else { return self.least_among(few, rng, cost) };
        let mut search = Search::new(rng, cost);
        let now = self.now();
        for (slot, candidate) in candidates.iter().enumerate() {
            search.compare(slot, candidate, candidate.exclusions(now));
        }
        search.end(self)
    }

    /// The part of [`least`](Self::least) for when not only candidates decide who is eligible, or when `few` are believed to be.
    #[inline(never)]
    fn least_among(
        &self,
        few: Option<&Eligibility>,
        rng: &Rng,
        cost: impl FnMut(&'a C) -> f64,
    ) -> Result<Selection, PickError> {
        let mut search = Search::new(rng, cost);
        for slot in few.into_iter().flat_map(Eligibility::slots) {
            search.look(self, slot);
        }
        if search.ties == 0 {
            for slot in (0..self.len()).filter(|slot| few.is_none_or(|few| !few.contains(*slot))) {
                search.look(self, slot);
            }
        }
        search.end(self)
    }
}

/// How many of those that tie are kept until the end, when one draw decides among them.
const KEPT: usize = 8;

/// Looks for the least cost.
struct Search<'r, F> {
    rng: &'r Rng,
    cost: F,
    least: f64,
    /// The first few that have the least cost.
    tied: [usize; KEPT],
    /// One that came after these and takes their place.
    late: Option<usize>,
    /// How many have the least cost; zero while nobody was found.
    ties: usize,
    /// The number of the tie that takes the place of the one before; zero while it is not drawn.
    next: usize,
    counts: ExclusionCounts,
}

impl<'r, F> Search<'r, F> {
    #[inline]
    fn new(rng: &'r Rng, cost: F) -> Self {
        let (least, tied, counts) = (f64::INFINITY, [0; KEPT], ExclusionCounts::default());
        Self { rng, cost, least, tied, late: None, ties: 0, next: 0, counts }
    }

    #[inline]
    fn end<C: Candidate>(self, view: &View<'_, C>) -> Result<Selection, PickError> {
        if self.ties == 0 { Err(view.refusal(self.counts)) } else { Ok(view.select(self.slot())) }
    }

    #[inline]
    fn look<'a, C: Candidate>(&mut self, view: &View<'a, C>, slot: usize)
    where
        F: FnMut(&'a C) -> f64,
    {
        let exclusions = view.exclusions_at(slot);
        match view.candidate(slot) {
            Some(candidate) => self.compare(slot, candidate, exclusions),
            None => self.counts.add(exclusions),
        }
    }

    #[expect(clippy::inline_always, reason = "all that is done for most candidates, in a few instructions")]
    #[inline(always)]
    fn compare<C>(&mut self, slot: usize, candidate: C, exclusions: Exclusions)
    where
        F: FnMut(C) -> f64,
    {
        if !exclusions.is_empty() {
            return self.counts.add(exclusions);
        }
        let cost = (self.cost)(candidate);
        // What is not a number is not greater, either.
        if cost.partial_cmp(&self.least) != Some(Ordering::Greater) {
            self.take(slot, sane(cost));
        }
    }

    /// Takes a candidate unless it costs more than the least so far.
    ///
    /// Of several that tie, each is to be taken with the same chance. The first few are kept, as a draw in the midst of a
    /// scan is a branch that no predictor foresees. After them, the `n`-th takes the place of those before with the chance
    /// `1 / n`. After the `n`-th did, none up to the `m`-th does with the chance `n / m`, so one draw tells which one is the
    /// next, and most ties take none (J. S. Vitter, "Random sampling with a reservoir", 1985).
    #[inline]
    fn take(&mut self, slot: usize, cost: f64) {
        if cost < self.least || self.ties == 0 {
            (self.least, self.tied[0], self.ties) = (cost, slot, 1);
            (self.late, self.next) = (None, 0);
        } else if cost > self.least {
            // Not a number, which counts as infinite.
        } else if let Some(place) = self.tied.get_mut(self.ties) {
            *place = slot;
            self.ties += 1;
        } else {
            self.take_late(slot);
        }
    }

    fn take_late(&mut self, slot: usize) {
        self.ties += 1;
        if self.next == 0 {
            self.next = self.draw_next(KEPT);
        }
        if self.ties == self.next {
            (self.late, self.next) = (Some(slot), self.draw_next(self.ties));
        }
    }

    /// Returns the one that was taken, if anybody was found.
    fn slot(&self) -> usize {
        match (self.late, self.ties) {
            (Some(late), _) => late,
            (None, 0 | 1) => self.tied[0],
            (None, ties) => self.tied[self.rng.below(ties.min(KEPT))],
        }
    }

    /// Draws the number of the tie that takes the place of the `taken`-th.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "saturates: no tie has that number"
    )]
    #[cold]
    fn draw_next(&self, taken: usize) -> usize {
        ((taken as f64 / (1.0 - self.rng.unit())) as usize).saturating_add(1)
    }
}

/// Makes a cost comparable.
#[inline]
pub(super) fn sane(cost: f64) -> f64 {
    if cost.is_nan() { f64::INFINITY } else { cost }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Search};
    use crate::core::{ExclusionCounts, Rng};

    #[test]
    fn a_tie_that_never_comes_has_a_number_too() {
        let (rng, counts) = (Rng::seeded(1), ExclusionCounts::default());
        let cost = |(): ()| 0.0;
        let search =
            Search { rng: &rng, cost, least: 0.0, tied: [0; KEPT], late: None, ties: 0, next: 0, counts };
        assert_eq!(search.draw_next(usize::MAX), usize::MAX);
    }
}
