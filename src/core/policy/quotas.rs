//! Dividing a whole number of parts by weight.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Divides `size` parts, at least one for each, by weight: the largest remainders are rounded up, earlier ones first, and
/// each gets at least one, which those with the most give up.
pub(super) fn quotas(weights: &[u32], size: u32) -> Vec<u32> {
    let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    let ideals = || weights.iter().map(|weight| u64::from(size) * u64::from(*weight));
    let mut quotas: Vec<u64> = ideals().map(|ideal| ideal / total).collect();
    let left = u64::from(size) - quotas.iter().sum::<u64>();
    let mut order: Vec<_> = ideals()
        .zip(&quotas)
        .zip(0..)
        .map(|((ideal, quota), at)| (Reverse(ideal - quota * total), at))
        .collect();
    // The order among those that are rounded up does not matter.
    let rounded = usize::try_from(left).unwrap_or(usize::MAX).min(order.len());
    if (1..order.len()).contains(&rounded) {
        order.select_nth_unstable(rounded);
    }
    order[..rounded].iter().for_each(|(_, at)| quotas[*at] += 1);
    let mut missing = 0;
    for quota in &mut quotas {
        if *quota == 0 {
            *quota = 1;
            missing += 1;
        }
    }
    let mut most: BinaryHeap<_> = if missing == 0 {
        BinaryHeap::new()
    } else {
        quotas.iter().enumerate().map(|(at, quota)| (*quota, Reverse(at))).collect()
    };
    for _ in 0..missing {
        if let Some((quota, Reverse(at))) = most.pop() {
            quotas[at] = quota - 1;
            most.push((quota - 1, Reverse(at)));
        }
    }
    quotas.into_iter().map(|quota| u32::try_from(quota).unwrap_or(size)).collect()
}

#[cfg(test)]
mod tests {
    use super::quotas;

    #[test]
    fn quotas_are_within_one_of_the_ideal() {
        assert_eq!(quotas(&[1, 1, 1], 7), [3, 2, 2]);
        assert_eq!(quotas(&[1, 2, 4], 7), [1, 2, 4]);
        assert_eq!(quotas(&[u32::MAX, u32::MAX, 1], 101), [50, 50, 1]);
    }

    #[test]
    fn nobody_is_left_with_nothing() {
        assert_eq!(quotas(&[1, 1, 1, u32::MAX], 11), [1, 1, 1, 8]);
    }
}
