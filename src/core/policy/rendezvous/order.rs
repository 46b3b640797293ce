//! How the slots of a view are ordered for one key.

use super::ln::ln;
use super::score::score;

/// Orders the slots of a view for one key; the highest rank comes first.
pub(super) trait Order {
    /// No two distinct identities have the same one.
    type Rank: Copy + PartialOrd;

    /// Returns the rank of a slot.
    fn rank(&self, slot: usize) -> Self::Rank;

    /// Returns the rank of a slot if it is higher than `floor`.
    fn above(&self, slot: usize, floor: Self::Rank) -> Option<Self::Rank>;

    /// Returns the rank of a slot if it is higher than that of the best one so far.
    #[inline]
    fn better(&self, slot: usize, best: Option<(usize, Self::Rank)>) -> Option<Self::Rank> {
        match best {
            Some((_, floor)) => self.above(slot, floor),
            None => Some(self.rank(slot)),
        }
    }
}

/// Orders by the score alone. `identities` gives the hash of the identity at a slot.
pub(super) struct ByScore<F> {
    pub(super) key: u64,
    pub(super) identities: F,
}

impl<F: Fn(usize) -> u64> Order for ByScore<F> {
    type Rank = u64;

    #[inline]
    fn rank(&self, slot: usize) -> u64 {
        score(self.key, (self.identities)(slot))
    }

    #[inline]
    fn above(&self, slot: usize, floor: u64) -> Option<u64> {
        let rank = self.rank(slot);
        if rank > floor { Some(rank) } else { None }
    }
}

/// Orders by weight over `-ln` of the score as a number between zero and one. `members` gives the hash of the identity and
/// the weight at a slot.
pub(super) struct ByWeight<F> {
    pub(super) key: u64,
    pub(super) members: F,
}

/// Compares by the first field; scores only break ties.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct WeightedRank {
    value: f64,
    score: u64,
}

impl<F: Fn(usize) -> (u64, u32)> Order for ByWeight<F> {
    type Rank = WeightedRank;

    #[inline]
    fn rank(&self, slot: usize) -> WeightedRank {
        let (identity, weight) = (self.members)(slot);
        WeightedRank::of(self.key, identity, weight)
    }

    #[inline]
    fn above(&self, slot: usize, floor: WeightedRank) -> Option<WeightedRank> {
        let (identity, weight) = (self.members)(slot);
        WeightedRank::above(self.key, identity, weight, floor)
    }
}

/// The part of the bound on a value that rounding cannot reach: the logarithm is off by at most 2^-50 of itself.
const MARGIN: f64 = 1.0 - 1.0 / (1u64 << 48) as f64;
/// 2^-53.
const UNIT: f64 = f64::EPSILON / 2.0;

impl WeightedRank {
    #[inline]
    pub(super) fn of(key: u64, identity: u64, weight: u32) -> Self {
        Self::new(score(key, identity), weight)
    }

    /// Returns the rank if it is higher than `floor`.
    #[inline]
    pub(super) fn above(key: u64, identity: u64, weight: u32, floor: Self) -> Option<Self> {
        let score = score(key, identity);
        if complement(score) * (floor.value * MARGIN) >= f64::from(weight) {
            return None;
        }
        let rank = Self::new(score, weight);
        if rank > floor { Some(rank) } else { None }
    }

    #[inline(never)]
    fn new(score: u64, weight: u32) -> Self {
        Self { value: f64::from(weight) / -ln(unit(score)), score }
    }
}

/// Returns the score as an odd multiple of 2^-53, which is neither zero nor one.
#[expect(clippy::cast_possible_wrap, reason = "53 bits are left, and a signed conversion is one instruction")]
#[inline]
fn unit(score: u64) -> f64 {
    ((score >> 11) | 1) as i64 as f64 * UNIT
}

/// Returns one minus [`unit`], without rounding. `-ln u >= 1 - u`, so a member that is no better than the best by this
/// bound needs no logarithm.
#[inline]
fn complement(score: u64) -> f64 {
    1.0 - unit(score)
}

#[cfg(test)]
mod tests {
    use super::{ByWeight, Order, complement, unit};

    #[test]
    fn units_lie_strictly_between_zero_and_one() {
        for score in [0, 1, u64::MAX, 1 << 63, 0x7FF] {
            let u = unit(score);
            assert!(u > 0.0 && u < 1.0 && complement(score) == 1.0 - u, "{score:x} is {u:e}");
        }
    }

    #[test]
    fn a_bound_without_a_logarithm_passes_over_nobody_who_is_higher() {
        let weights = [1, 2, 1, u32::MAX, 3, 100, 99, 65_537];
        let members =
            |slot: usize| ((slot as u64 + 1).wrapping_mul(0xD134_2543_DE82_EF95), weights[slot % 8]);
        for key in 0..2_000u64 {
            let order = ByWeight { key: key.wrapping_mul(0x9E37_79B9_7F4A_7C15), members };
            for slot in 0..40 {
                let (rank, floor) = (order.rank(slot), order.rank((slot * 7 + 3) % 40));
                assert_eq!(order.above(slot, floor), Some(rank).filter(|rank| *rank > floor));
            }
        }
    }
}
