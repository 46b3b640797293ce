//! How many points each member gets.

use super::config::MAX_POINTS;
use crate::core::PickError;

/// How many points a ring may have, and a unit of weight stands for.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub(super) scale: Scale,
    pub(super) max: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { scale: Scale::ByMedian, max: MAX_POINTS }
    }
}

impl Budget {
    /// Returns the points per unit of weight, and the points of each weight.
    pub(super) fn points(self, weights: &[u32]) -> Result<(f64, Vec<u32>), PickError> {
        let max = self.max as usize;
        if weights.len() > max {
            return Err(PickError::CapacityExceeded { candidates: weights.len(), places: max });
        }
        match self.scale {
            Scale::ByMedian => Ok(by_median(weights, self.max)),
            Scale::Fixed(scale) => {
                let points = scaled(weights, scale);
                let fits = total(&points) <= u64::from(self.max);
                if fits { Ok((scale, points)) } else { Err(PickError::WeightOverflow) }
            }
        }
    }
}

/// How many points a unit of weight stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Scale {
    /// A power of two such that the median weight has 128 to 255 points, or less where the ring would become too large.
    #[default]
    ByMedian,
    /// This many.
    Fixed(f64),
}

/// The points that the median weight has at least.
const MEDIAN_POINTS: u32 = 128;

fn by_median(weights: &[u32], max: u32) -> (f64, Vec<u32>) {
    let mut scale = f64::from(MEDIAN_POINTS) / power_of_two_below(median(weights));
    let mut points = scaled(weights, scale);
    // Ends when everybody has one point, at the latest.
    while total(&points) > u64::from(max) {
        scale /= 2.0;
        points = scaled(weights, scale);
    }
    (scale, points)
}

/// At least one point each. Products with a power of two are exact.
fn scaled(weights: &[u32], scale: f64) -> Vec<u32> {
    let points = |weight: &u32| (f64::from(*weight) * scale).round().clamp(1.0, f64::from(MAX_POINTS) + 1.0);
    weights.iter().map(|weight| whole(points(weight))).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number from one to the maximum"
)]
fn whole(points: f64) -> u32 {
    points as u32
}

fn total(points: &[u32]) -> u64 {
    points.iter().map(|points| u64::from(*points)).sum()
}

/// The lower one of two in the middle, which leaves more points to both.
fn median(weights: &[u32]) -> u32 {
    let mut weights = weights.to_vec();
    let middle = weights.len().saturating_sub(1) / 2;
    if weights.is_empty() { 1 } else { *weights.select_nth_unstable(middle).1 }
}

fn power_of_two_below(weight: u32) -> f64 {
    f64::from(1_u32 << weight.max(1).ilog2())
}

#[cfg(test)]
mod tests {
    use super::{Budget, MAX_POINTS, PickError, Scale};

    fn by_median(weights: &[u32], max: u32) -> (f64, Vec<u32>) {
        Budget { scale: Scale::ByMedian, max }.points(weights).unwrap()
    }

    #[test]
    fn the_median_weight_has_128_to_255_points() {
        for weight in [1, 2, 3, 100, 127, 128, 255, 256, 1_000_003, u32::MAX] {
            let (_, points) = by_median(&[weight; 3], MAX_POINTS);
            assert!((128..=255 + u32::from(weight > 1 << 30)).contains(&points[1]), "{weight}: {points:?}");
        }
        assert_eq!(by_median(&[100, 1, 100, 400], MAX_POINTS), (2.0, vec![200, 2, 200, 800]));
        assert_eq!(by_median(&[3, 1], MAX_POINTS), (128.0, vec![384, 128]), "the lower one of two");
        assert_eq!(by_median(&[1_000, 1_000, 1, 1_001], MAX_POINTS), (0.25, vec![250, 250, 1, 250]));
    }

    #[test]
    fn points_are_fewer_only_where_the_ring_would_be_too_large() {
        assert_eq!(by_median(&[1, 1, 1], 384), (128.0, vec![128; 3]));
        assert_eq!(by_median(&[1, 1, 1], 383), (64.0, vec![64; 3]));
        assert_eq!(by_median(&[1, 1, 1, u32::MAX], 5).1, [1, 1, 1, 2]);
        assert_eq!(by_median(&[u32::MAX; 4], 4).1, [1; 4]);
        let full = PickError::CapacityExceeded { candidates: 5, places: 4 };
        assert_eq!(Budget { scale: Scale::ByMedian, max: 4 }.points(&[1; 5]), Err(full));
    }

    #[test]
    fn a_fixed_scale_is_kept_or_refused() {
        let fixed = |scale, max, weights: &[u32]| Budget { scale: Scale::Fixed(scale), max }.points(weights);
        assert_eq!(fixed(0.5, 100, &[1, 2, 3, 40]), Ok((0.5, vec![1, 1, 2, 20])));
        assert_eq!(fixed(40.0, 120, &[1, 2]), Ok((40.0, vec![40, 80])));
        assert_eq!(fixed(40.0, 119, &[1, 2]), Err(PickError::WeightOverflow));
        assert_eq!(fixed(1e300, MAX_POINTS, &[u32::MAX]), Err(PickError::WeightOverflow));
    }
}
