//! The order by scores and weights.

use super::identity::Weigh;
use super::ln::ln;
use super::order::Order;
use super::scan::{Slots, scan};
use super::score::{score, unit};

/// Orders by weight over `-ln` of the score as a number between zero and one.
pub(super) struct ByWeight<M> {
    pub(super) key: u64,
    pub(super) members: M,
}

/// Compares by the first field; scores only break ties.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct WeightedRank {
    value: f64,
    score: u64,
    /// Made of the reciprocal of the value: who does not reach it ranks lower.
    reach: u64,
}

impl<M: Weigh> Order for ByWeight<M> {
    type Rank = WeightedRank;

    #[inline]
    fn rank(&self, slot: usize) -> WeightedRank {
        WeightedRank::new(self.score(slot), self.members.weight(slot))
    }

    #[inline]
    fn above(&self, slot: usize, floor: WeightedRank) -> Option<WeightedRank> {
        let (score, weight) = (self.score(slot), self.members.weight(slot));
        if reaches(score, weight, floor.reach) {
            WeightedRank::new(score, weight).higher_than(floor)
        } else {
            None
        }
    }

    fn first(
        &self,
        slots: Slots<impl Iterator<Item = usize> + Clone>,
        admits: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let alike = self.members.lightest() == self.members.heaviest();
        let first =
            if alike { self.ahead(slots.clone(), &admits) } else { self.certain(slots.clone(), &admits) };
        first.or_else(|| self.first_by_part(slots, |slot| admits(slot).then_some(1.0)))
    }

    fn by_part(&self) -> ByWeight<impl Weigh + '_> {
        ByWeight { key: self.key, members: &self.members }
    }
}

impl<M: Weigh> ByWeight<M> {
    /// Returns the one of `slots` whose rank, lowered to the part of its weight that it gets, is the highest. `part` is asked
    /// as rarely as possible, and gives none to those that are not let in.
    ///
    /// Ranks are lowered only, so who is not higher with all of its weight is not with a part of it.
    pub(super) fn first_by_part(
        &self,
        slots: Slots<impl Iterator<Item = usize>>,
        mut part: impl FnMut(usize) -> Option<f64>,
    ) -> Option<usize> {
        let mut best = None;
        slots.for_each(|slot| {
            let rank = self.better(slot, best);
            let lowered = rank.and_then(|rank| Some(rank.lowered(part(slot)?)));
            if let Some(rank) = lowered.filter(|rank| best.is_none_or(|(_, floor)| *rank > floor)) {
                best = Some((slot, rank));
            }
        });
        best.map(|(slot, _)| slot)
    }

    #[inline]
    fn score(&self, slot: usize) -> u64 {
        score(self.key, self.members.identity(slot))
    }

    /// Returns the first slot of those that weigh alike if its score is so far ahead that the logarithms cannot say otherwise.
    ///
    /// Those of numbers that are `CLOSE` differ by more than twice that part, and by more than their errors.
    fn ahead(
        &self,
        slots: Slots<impl Iterator<Item = usize>>,
        admits: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let (mut first, mut most, mut is_close) = (None, 0u64, false);
        scan(self.key, &self.members, slots, 0, |start, scores| {
            for (slot, score) in (start..).zip(scores.iter().copied()) {
                if score >= most.saturating_sub(CLOSE) && admits(slot) {
                    is_close |= first.is_some() && score <= most.saturating_add(CLOSE);
                    (first, most) = (Some(slot), score);
                }
            }
            // Nothing that comes makes it certain again.
            if is_close { u64::MAX } else { most.saturating_sub(CLOSE) }
        });
        first.filter(|_| !is_close)
    }

    /// Returns the first slot if that is certain without a logarithm, which it mostly is.
    ///
    /// With `d = 1 - u`, `d <= -ln u <= d (2 - d) / (2 (1 - d))`. The slot with the least `d / weight` is the first one if the
    /// upper bound for it is below the lower bounds of all others, so whose lower bound is above the least upper one is passed
    /// over. Where the search begins, six are expected below: nobody is in one of four hundred picks, and more often only where
    /// many are excluded.
    fn certain(
        &self,
        slots: Slots<impl Iterator<Item = usize>>,
        admits: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let (mut first, mut least) = (None, Bounds { lower: f64::INFINITY, upper: f64::INFINITY });
        let heaviest = u64::from(self.members.heaviest());
        let mut second = LIKELY / self.members.known_sum() as f64;
        let mut reach = reach_of(second);
        let floor = |reach: u64| !reach.saturating_mul(heaviest);
        // The scan decides about most without a look at their weights.
        scan(self.key, &self.members, slots, floor(reach), |start, scores| {
            for (slot, score) in (start..).zip(scores.iter().copied()) {
                let weight = self.members.weight(slot);
                if reaches(score, weight, reach) && admits(slot) {
                    let bounds = Bounds::new(score, weight);
                    if bounds.lower < least.lower {
                        second = second.min(least.lower);
                        (first, least) = (Some(slot), bounds);
                    } else {
                        second = second.min(bounds.lower);
                    }
                    reach = reach_of(second.min(least.upper));
                }
            }
            floor(reach)
        });
        first.filter(|_| least.upper < second)
    }
}

/// How many are expected below a bound where a search begins. The sum of all rates is the sum of the weights.
const LIKELY: f64 = 6.0;

/// 2^-47 of the range of scores.
const CLOSE: u64 = 1 << 17;

/// What `-ln u / weight` lies between.
#[derive(Clone, Copy)]
struct Bounds {
    lower: f64,
    upper: f64,
}

impl Bounds {
    /// Widens the bounds by more than what rounding can do, here and in the logarithm.
    #[inline]
    fn new(score: u64, weight: u32) -> Self {
        let (d, weight) = (1.0 - unit(score), f64::from(weight));
        let lower = d / weight;
        Self { lower: lower * (1.0 - MARGIN), upper: lower * (2.0 - d) / (2.0 - 2.0 * d) * (1.0 + MARGIN) }
    }
}

/// 2^-48: far above the error of the logarithm, which is below 2^-50.
const MARGIN: f64 = 1.0 / (1u64 << 48) as f64;

/// Tells whether the member may have `-ln u / weight` no greater than what `reach` was made of.
#[inline]
fn reaches(score: u64, weight: u32, reach: u64) -> bool {
    u64::from(weight).checked_mul(reach).is_none_or(|reach| !score <= reach)
}

/// Bounds from above `2^64 (1 - u) / weight` of those with `-ln u / weight` up to `cost`, as `-ln u >= 1 - u`.
///
/// The margins are for rounding and for the eleven bits of a score that `u` leaves out. What does not fit is cut off, and
/// reaches everybody all the same.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "costs are positive")]
#[inline]
fn reach_of(cost: f64) -> u64 {
    let bound = 2.0 * (1u64 << 63) as f64 * cost;
    ((bound * (1.0 + MARGIN)) as u64).saturating_add(1 << 11)
}

impl WeightedRank {
    fn new(score: u64, weight: u32) -> Self {
        let value = f64::from(weight) / -ln(unit(score));
        Self { value, score, reach: reach_of(1.0 / value) }
    }

    /// Returns the rank with this part of the weight.
    pub(super) fn lowered(self, part: f64) -> Self {
        if part < 1.0 {
            let value = self.value * part;
            Self { value, reach: reach_of(1.0 / value), ..self }
        } else {
            self
        }
    }

    fn higher_than(self, floor: Self) -> Option<Self> {
        Some(self).filter(|rank| *rank > floor)
    }
}

#[cfg(test)]
mod tests {
    use super::{ByWeight, CLOSE, Order, Slots};
    use crate::core::policy::rendezvous::identity::{Alike, Identify, Weigh};
    use crate::core::policy::rendezvous::score::score;

    const WEIGHTS: [u32; 8] = [1, 2, 1, u32::MAX, 3, 100, 99, 65_537];

    struct Made(usize);

    impl Identify for Made {
        fn identity(&self, slot: usize) -> u64 {
            (slot as u64 + 1).wrapping_mul(0xD134_2543_DE82_EF95)
        }
    }

    impl Weigh for Made {
        fn weight(&self, slot: usize) -> u32 {
            WEIGHTS[slot % self.0]
        }

        fn lightest(&self) -> u32 {
            WEIGHTS[..self.0].iter().copied().min().unwrap_or(1)
        }

        fn heaviest(&self) -> u32 {
            WEIGHTS[..self.0].iter().copied().max().unwrap_or(1)
        }

        fn known_sum(&self) -> u64 {
            (0..40).map(|slot| u64::from(self.weight(slot))).sum()
        }
    }

    fn highest(order: &ByWeight<impl Weigh>, slots: usize, admits: impl Fn(usize) -> bool) -> Option<usize> {
        let ranks = (0..slots).filter(|slot| admits(*slot)).map(|slot| (slot, order.rank(slot)));
        let higher = |best: (usize, _), next: (usize, _)| if next.1 > best.1 { next } else { best };
        ranks.reduce(higher).map(|(slot, _)| slot)
    }

    fn orders(members: &Made) -> impl Iterator<Item = ByWeight<&Made>> {
        (0..2_000u64).map(move |key| ByWeight { key: key.wrapping_mul(0x9E37_79B9_7F4A_7C15), members })
    }

    #[test]
    fn a_bound_without_a_logarithm_passes_over_nobody_who_is_higher() {
        for order in orders(&Made(8)) {
            for slot in 0..40 {
                let (rank, floor) = (order.rank(slot), order.rank((slot * 7 + 3) % 40));
                assert_eq!(order.above(slot, floor), Some(rank).filter(|rank| *rank > floor));
            }
        }
    }

    /// The identities of the last two slots are the same.
    struct Twins;

    impl Identify for Twins {
        fn identity(&self, slot: usize) -> u64 {
            Made(1).identity(slot.min(38))
        }
    }

    impl Weigh for Twins {
        fn weight(&self, _: usize) -> u32 {
            1
        }

        fn lightest(&self) -> u32 {
            1
        }

        fn heaviest(&self) -> u32 {
            1
        }

        fn known_sum(&self) -> u64 {
            40
        }
    }

    #[test]
    fn who_is_ahead_of_those_that_weigh_alike_is_first_and_twins_are_never_ahead() {
        let admits = |slot| slot % 5 != 2;
        let mut twins = 0;
        for key in (0..2_000u64).map(|key| key.wrapping_mul(0x9E37_79B9_7F4A_7C15)) {
            let order = ByWeight { key, members: &Twins };
            let first = highest(&order, 40, admits);
            let ahead = order.ahead(Slots::all(40), admits);
            if first == Some(38) {
                twins += 1;
                assert_eq!(ahead, None, "two have the highest score");
            } else {
                assert_eq!(ahead, first);
            }
        }
        assert!(twins > 0, "the twins are first for some keys");
    }

    #[test]
    fn who_is_first_without_a_logarithm_is_first_with_it_and_that_is_mostly_so() {
        for members in [1, 2, 3, 6, 8].map(Made) {
            for slots in [1, 2, 3, 10, 40] {
                let mut undecided = 0;
                for order in orders(&members) {
                    let admits = |slot| slot % 5 != 2;
                    match order.certain(Slots::all(slots), admits) {
                        Some(first) => assert_eq!(highest(&order, slots, admits), Some(first)),
                        None => undecided += 1,
                    }
                }
                let expected = slots < 40 || members.0 > 3 || undecided < 200;
                assert!(expected, "{undecided} of 2,000 are undecided");
            }
        }
    }

    /// Has these scores for the key zero.
    struct Scored<'a>(&'a [u64]);

    impl Identify for Scored<'_> {
        fn identity(&self, slot: usize) -> u64 {
            // Newton's iteration for the inverse of the factor, which is the score of one for zero.
            let factor = score(0, 1);
            let inverse =
                (0..6).fold(factor, |x, _| x.wrapping_mul(2u64.wrapping_sub(factor.wrapping_mul(x))));
            self.0[slot].wrapping_mul(inverse)
        }
    }

    #[test]
    fn nobody_is_ahead_of_one_that_is_close_whatever_comes_between() {
        const FAR: u64 = 1 << 40;
        let is_ahead = |scores: &[u64]| {
            let order = ByWeight { key: 0, members: Alike(&Scored(scores)) };
            assert!((0..).zip(scores).all(|(slot, score)| order.rank(slot).score == *score));
            order.ahead(Slots::all(scores.len()), |_| true)
        };
        for near in [0, 1, CLOSE] {
            assert_eq!(is_ahead(&[FAR, FAR - near]), None);
            assert_eq!(is_ahead(&[FAR - near, FAR]), None);
            assert_eq!(is_ahead(&[FAR - near, 7, FAR]), None);
        }
        assert_eq!(is_ahead(&[FAR, FAR - CLOSE - 1]), Some(0));
        assert_eq!(is_ahead(&[FAR - CLOSE - 1, FAR]), Some(1));
        let stairs = [0, CLOSE, 2 * CLOSE, 1].map(|below| FAR - below);
        assert_eq!(is_ahead(&stairs), None, "the last one is far above the one before, and below the first");
    }
}
