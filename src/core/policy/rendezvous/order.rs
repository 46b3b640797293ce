//! How the slots of a view are ordered for one key.

use std::hint::select_unpredictable;

use super::by_weight::ByWeight;
use super::identity::{Alike, Identify, Weigh};
use super::scan::{Slots, scan};
use super::score::score;

/// Orders the slots of a view for one key; the highest rank comes first.
pub(super) trait Order {
    /// No two distinct identities have the same one.
    type Rank: Copy + PartialOrd;

    /// Returns the rank of a slot.
    fn rank(&self, slot: usize) -> Self::Rank;

    /// Returns the rank of a slot if it is higher than `floor`.
    fn above(&self, slot: usize, floor: Self::Rank) -> Option<Self::Rank>;

    /// Returns the slot with the highest rank of those that `admits` lets in, which is asked as rarely as possible.
    fn first(
        &self,
        slots: Slots<impl Iterator<Item = usize> + Clone>,
        admits: impl Fn(usize) -> bool,
    ) -> Option<usize>;

    /// Returns the same order with ranks that can be [lowered](super::by_weight::WeightedRank::lowered) for those that ramp up.
    fn by_part(&self) -> ByWeight<impl Weigh + '_>;

    /// Returns the rank of a slot if it is higher than that of the best one so far.
    #[inline]
    fn better(&self, slot: usize, best: Option<(usize, Self::Rank)>) -> Option<Self::Rank> {
        match best {
            Some((_, floor)) => self.above(slot, floor),
            None => Some(self.rank(slot)),
        }
    }
}

/// Orders by the score alone.
pub(super) struct ByScore<'a, M> {
    pub(super) key: u64,
    pub(super) members: &'a M,
}

impl<M: Identify> Order for ByScore<'_, M> {
    type Rank = u64;

    #[inline]
    fn rank(&self, slot: usize) -> u64 {
        score(self.key, self.members.identity(slot))
    }

    #[inline]
    fn above(&self, slot: usize, floor: u64) -> Option<u64> {
        let rank = self.rank(slot);
        if rank > floor { Some(rank) } else { None }
    }

    #[inline]
    fn first(
        &self,
        slots: Slots<impl Iterator<Item = usize> + Clone>,
        admits: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let (mut first, mut most) = (None, 0);
        scan(self.key, self.members, slots, most, |start, scores| {
            let highest = highest(scores);
            if (scores[highest] > most || first.is_none()) && admits(start + highest) {
                (first, most) = (Some(start + highest), scores[highest]);
                return most;
            }
            let others = (start..).zip(scores).filter(|(slot, _)| *slot != start + highest);
            for (slot, score) in others {
                if (*score > most || first.is_none()) && admits(slot) {
                    (first, most) = (Some(slot), *score);
                }
            }
            most
        });
        first
    }

    fn by_part(&self) -> ByWeight<impl Weigh + '_> {
        ByWeight { key: self.key, members: Alike(self.members) }
    }
}

/// Returns where the highest score is, without branches that nobody could foresee.
#[inline]
fn highest(scores: &[u64]) -> usize {
    let (mut highest, mut most) = (0, 0);
    for (at, score) in scores.iter().enumerate() {
        let is_higher = *score > most;
        highest = select_unpredictable(is_higher, at, highest);
        most = most.max(*score);
    }
    highest
}
