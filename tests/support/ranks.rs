//! Slow answers that are right by inspection: the eligible members in the order of a key.

use std::hash::{BuildHasher, Hash};

use poise::core::{Candidate, StableBuildHasher, View};

/// The score of an identity for a key, as it is published.
pub(crate) fn score(key: impl Hash, id: impl Hash) -> u64 {
    let [key, id] =
        [StableBuildHasher::default().hash_one(key), StableBuildHasher::with_seed(0x1DE7_717E).hash_one(id)];
    let [one, other] = [0xBF58_476D_1CE4_E5B9_u64, 0x9E37_79B9_7F4A_7C15];
    let x = key.wrapping_mul(one);
    let x = (x ^ (x >> 32)).wrapping_mul(other);
    ((x ^ (x >> 32)) ^ id).wrapping_mul(other)
}

/// The value of a score for a weight, as it is published.
pub(crate) fn value(score: u64, weight: u32) -> f64 {
    let u = ((score >> 11) | 1) as f64 / 2f64.powi(53);
    -f64::from(weight) / u.ln()
}

/// Lists the positions of those who may be chosen, highest value first, then highest score, then first slot.
pub(crate) fn ranked<C: Candidate<Id = u64>>(
    view: &View<'_, C>,
    key: u64,
    value: impl Fn(u64, u32) -> f64,
) -> Vec<usize> {
    let mut slots: Vec<_> = (0..view.len()).filter(|slot| view.exclusions_at(*slot).is_empty()).collect();
    let rank = |slot: &usize| {
        let candidate = view.candidate(*slot).expect("an eligible slot names somebody");
        let score = score(key, candidate.id());
        (value(score, candidate.weight().value()), score)
    };
    slots.sort_by(|a, b| rank(b).partial_cmp(&rank(a)).expect("values are numbers"));
    slots.into_iter().map(|slot| view.position(slot)).collect()
}
