//! What candidates get that ramp up.

use super::View;
use super::memo::Memo;
use crate::core::{Candidate, ExclusionCounts, Exclusions, PickError, Rng, Selection};

/// How many are drawn before a scan decides: many, as a fleet that has just started ramps up together.
pub(crate) const DRAWS: usize = 32;

impl<C: Candidate> View<'_, C> {
    /// Tells whether the candidate at `slot` gets all of its weight, as nearly all do.
    #[inline]
    pub(crate) fn is_whole(&self, slot: usize) -> bool {
        self.ramp_at(slot) >= 1.0
    }

    /// Returns the part of its weight, from 0 to 1, that the candidate at `slot` gets.
    #[inline]
    pub(crate) fn part_at(&self, slot: usize) -> f64 {
        part(self.ramp_at(slot))
    }

    /// Tells whether the candidate at `slot`, which is eligible, [takes](takes) its turn.
    #[inline]
    pub(crate) fn takes_turn(&self, slot: usize, lot: impl FnOnce() -> f64) -> bool {
        takes(self.ramp_at(slot), lot)
    }

    /// As [`draw_by_part`](Self::draw_by_part), after a first draw that did not settle it.
    #[cold]
    pub(crate) fn draw_again(
        &self,
        rng: &Rng,
        looked: Option<(usize, Exclusions)>,
        draw: impl FnMut() -> Option<usize>,
        weight: impl Fn(usize, &C) -> u32,
    ) -> Result<Selection, PickError> {
        let first = looked.map(|(slot, _)| slot);
        self.draw_by_part(rng, Memo::<DRAWS>::of_missed(looked), first, draw, weight)
    }

    /// Draws until somebody is eligible and takes the turn, and after many draws in vain, or when `memo` is full, one of all
    /// that are eligible, by the weight of a slot and its candidate. The candidate `first` was drawn before; those in `memo`
    /// were sampled.
    #[cold]
    pub(crate) fn draw_by_part<const N: usize>(
        &self,
        rng: &Rng,
        mut memo: Memo<N>,
        mut first: Option<usize>,
        mut draw: impl FnMut() -> Option<usize>,
        weight: impl Fn(usize, &C) -> u32,
    ) -> Result<Selection, PickError> {
        for _ in 0..DRAWS {
            let more = || if memo.is_full() { None } else { draw() };
            let Some(slot) = first.take().or_else(more) else { break };
            if self.try_slot(slot, &mut memo) && self.takes_turn(slot, || 1.0 - rng.unit()) {
                return Ok(self.select(slot));
            }
        }
        self.draw_among_all(rng, &memo, weight)
    }

    /// Looks at every candidate, except those in `memo`, and draws one of the eligible ones by weight.
    ///
    /// Source: M. T. Chao, "A general purpose unequal probability sampling plan", Biometrika 69(3), 1982: each candidate
    /// takes the place of the one before with the chance of its weight divided by the sum so far.
    fn draw_among_all<const N: usize>(
        &self,
        rng: &Rng,
        memo: &Memo<N>,
        weight: impl Fn(usize, &C) -> u32,
    ) -> Result<Selection, PickError> {
        let mut counts = ExclusionCounts::default();
        let mut drawn = None;
        let mut total = 0.0;
        for slot in 0..self.len() {
            let exclusions = self.sample(slot, memo);
            let Some(candidate) = self.candidate(slot).filter(|_| exclusions.is_empty()) else {
                counts.add(exclusions);
                continue;
            };
            let weight = share(weight(slot, candidate), candidate.ramp(self.now()));
            total += weight;
            if drawn.is_none() || rng.unit() * total < weight {
                drawn = Some(slot);
            }
        }
        drawn.map(|slot| self.select(slot)).ok_or_else(|| self.refusal(counts))
    }

    /// A slot that names nobody is never found eligible.
    #[inline]
    fn ramp_at(&self, slot: usize) -> f32 {
        self.candidate(slot).map_or(1.0, |candidate| candidate.ramp(self.now()))
    }
}

/// Tells whether a candidate takes a turn: it does so with the chance of its part, as `lot` decides, which lies between zero
/// and one. A lot of zero takes every turn.
#[inline]
pub(crate) fn takes(ramp: f32, lot: impl FnOnce() -> f64) -> bool {
    // Most candidates are past their start, and need no lot.
    ramp >= 1.0 || lot() <= part(ramp)
}

/// Makes a part of what a candidate says; what is not a number is nothing.
#[inline]
pub(crate) fn part(ramp: f32) -> f64 {
    if ramp > 0.0 { f64::from(ramp).min(1.0) } else { 0.0 }
}

/// Returns the part of a weight that counts. It is never zero, so that somebody is chosen also when all are about to start.
fn share(weight: u32, ramp: f32) -> f64 {
    let weight = f64::from(weight);
    (weight * part(ramp)).max(weight * f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::{part, share};

    #[test]
    fn a_ramp_is_a_part_whatever_a_candidate_says() {
        let parts = [0.25, -1.0, 7.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY].map(part);
        assert!(
            parts.iter().zip([0.25, 0.0, 1.0, 0.0, 1.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-9),
            "{parts:?}"
        );
        assert!(share(1, 0.0) > 0.0 && share(u32::MAX, 0.0) > share(1, 0.0), "order is kept near zero");
    }
}
