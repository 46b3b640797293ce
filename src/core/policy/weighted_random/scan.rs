//! The slow way, which is exact also without a table.

use crate::core::view::Memo;
use crate::core::{Candidate, ExclusionCounts, PickError, Rng, Selection, View};

/// Looks at every candidate, except those in `memo`, and draws one of the eligible ones by the weight of its slot and its ramp.
///
/// Source: M. T. Chao, "A general purpose unequal probability sampling plan", Biometrika 69(3), 1982: each candidate takes
/// the place of the one before with the chance of its weight divided by the sum so far.
pub(in crate::core::policy) fn scan<C: Candidate, const N: usize>(
    view: &View<'_, C>,
    rng: &Rng,
    memo: &Memo<N>,
    weigh: impl Fn(usize, &C) -> u32,
) -> Result<Selection, PickError> {
    let mut counts = ExclusionCounts::default();
    let mut drawn = None;
    let mut total = 0.0;
    for slot in 0..view.len() {
        let exclusions = view.sample(slot, memo);
        let Some(candidate) = view.candidate(slot).filter(|_| exclusions.is_empty()) else {
            counts.add(exclusions);
            continue;
        };
        let weight = ramped(weigh(slot, candidate), candidate.ramp(view.now()));
        total += weight;
        if drawn.is_none() || rng.unit() * total < weight {
            drawn = Some(slot);
        }
    }
    drawn.map(|slot| view.select(slot)).ok_or_else(|| view.refusal(counts))
}

/// Returns the part of a weight that counts. It is never zero, so that somebody is chosen also when all are about to start.
fn ramped(weight: u32, ramp: f32) -> f64 {
    let weight = f64::from(weight);
    (weight * part(ramp)).max(weight * f64::MIN_POSITIVE)
}

/// Makes a part of what a candidate says; what is not a number is nothing.
pub(in crate::core::policy) fn part(ramp: f32) -> f64 {
    if ramp > 0.0 { f64::from(ramp).min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::{part, ramped};

    #[test]
    fn a_ramp_is_a_part_whatever_a_candidate_says() {
        let parts = [0.25, -1.0, 7.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY].map(part);
        assert!(
            parts.iter().zip([0.25, 0.0, 1.0, 0.0, 1.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-9),
            "{parts:?}"
        );
        assert!(ramped(1, 0.0) > 0.0 && ramped(u32::MAX, 0.0) > ramped(1, 0.0), "order is kept near zero");
    }
}
