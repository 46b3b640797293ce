//! Two at once.

use super::View;
use super::memo::{Memo, SAMPLES};
use crate::core::{Candidate, ExclusionCounts, Exclusions, PickError, Rng, Selection};

/// Holds two distinct eligible candidates, or the only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// One candidate.
    pub first: Selection,
    /// Another one, if there is one.
    pub second: Option<Selection>,
}

impl<C: Candidate> View<'_, C> {
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
}
