//! Turns by weight, without a schedule that would have to be built.
//!
//! Source: gRPC's static stride scheduler. Time is cut into generations, in each of which every member is offered a turn
//! in order. A member with the weight `w` of at most `W` takes `w / W` of them, evenly spread: at the generations `g` where
//! `w * g` has just passed a multiple of `W`. An offset by position keeps members of equal weight from taking theirs together.

/// The largest weight.
pub(super) const LARGEST: u64 = 65_535;
/// By how much the generations of neighbours are shifted: about a half.
const OFFSET: u64 = 32_767;

/// Tells whether the member at `place` takes its turn in this generation.
#[inline]
pub(super) fn takes(weight: u64, place: u64, generation: u64) -> bool {
    let shifted = weight * (generation % LARGEST) + place % LARGEST * OFFSET;
    shifted % LARGEST >= LARGEST - weight
}

/// Maps weights so that the largest one is [`LARGEST`]; members without one get the mean of the others. With fewer than
/// two weights all are equal.
pub(super) fn scale(weights: impl Iterator<Item = Option<f64>> + Clone) -> impl Iterator<Item = u64> {
    let known = || weights.clone().flatten();
    let (count, largest) =
        known().fold((0, 0.0), |(count, largest), weight| (count + 1, weight.max(largest)));
    // Divided one by one: the sum of the largest numbers is none.
    let mean: f64 = known().map(|weight| weight / f64::from(count)).sum();
    weights.map(move |weight| match count {
        0 | 1 => LARGEST,
        _ => rounded(weight.unwrap_or(mean) / largest),
    })
}

/// Nobody that has a weight is left without turns. Weights that changed meanwhile are no reason to exceed the largest.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range")]
fn rounded(part: f64) -> u64 {
    (part * LARGEST as f64).round().clamp(1.0, LARGEST as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::{LARGEST, scale, takes};

    fn turns(weights: &[u64], count: usize) -> Vec<u64> {
        let places = weights.len() as u64;
        let offers = (0_u64..).map(|offer| (offer % places, offer / places));
        let taken = offers.filter(|(place, generation)| {
            takes(weights[usize::try_from(*place).unwrap()], *place, *generation)
        });
        taken.map(|(place, _)| place).take(count).collect()
    }

    fn scaled<const N: usize>(weights: [Option<f64>; N]) -> Vec<u64> {
        scale(weights.into_iter()).collect()
    }

    #[test]
    fn turns_are_in_the_order_of_grpc() {
        let weights = scaled([Some(1.0), Some(2.0), Some(3.0)]);
        assert_eq!(weights, [21_845, 43_690, 65_535]);
        assert_eq!(turns(&weights, 12), [1, 2, 2, 0, 1, 2, 1, 2, 2, 0, 1, 2]);
        assert_eq!(turns(&[LARGEST; 3], 6), [0, 1, 2, 0, 1, 2], "equal weights are plain turns");
    }

    #[test]
    fn whoever_has_no_weight_gets_the_mean_and_one_weight_alone_is_none() {
        assert_eq!(scaled([Some(1.0), None, Some(3.0)]), [21_845, 43_690, 65_535]);
        assert_eq!(scaled([None, Some(7.0), None]), [LARGEST; 3]);
        assert_eq!(scaled([None, None]), [LARGEST; 2]);
    }

    #[test]
    fn extreme_weights_leave_nobody_out() {
        assert_eq!(scaled([Some(1e-300), Some(f64::MAX), Some(f64::MAX)]), [1, LARGEST, LARGEST]);
        assert_eq!(scaled([Some(f64::MAX), None, Some(f64::MAX)]), [LARGEST; 3]);
        let turns = turns(&[1, LARGEST], 2 * 65_536);
        assert_eq!(turns.iter().filter(|place| **place == 0).count(), 2);
    }

    #[test]
    fn shares_are_exact_over_all_generations() {
        for weight in [1, 2, 1_000, 21_845, 65_534] {
            let taken = (0..LARGEST).filter(|generation| takes(weight, 3, *generation)).count() as u64;
            assert_eq!(taken, weight);
        }
    }
}
