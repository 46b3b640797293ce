//! Who owns which entry.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A member as the fill sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claimant {
    /// Where its permutation of the entries starts.
    pub(super) offset: u32,
    /// How far apart successive entries of its permutation are.
    pub(super) skip: u32,
    pub(super) weight: u32,
    pub(super) slot: u32,
}

const FREE: u32 = u32::MAX;

/// Gives each of `size` entries to a claimant: in turns, each takes the next free entry of its own permutation, until it
/// has its quota.
pub(super) fn fill(claimants: &[Claimant], size: u32) -> Box<[u32]> {
    let mut owners = vec![FREE; size as usize].into_boxed_slice();
    let mut active: Vec<_> = claimants
        .iter()
        .zip(quotas(claimants, size))
        .map(|(claimant, quota)| (*claimant, claimant.offset, quota))
        .collect();
    while !active.is_empty() {
        for (claimant, at, quota) in &mut active {
            while owners[*at as usize] != FREE {
                *at = step(*at, claimant.skip, size);
            }
            owners[*at as usize] = claimant.slot;
            *quota -= 1;
        }
        active.retain(|(_, _, quota)| *quota > 0);
    }
    owners
}

fn step(at: u32, skip: u32, size: u32) -> u32 {
    let next = at + skip;
    if next >= size { next - size } else { next }
}

/// Divides `size` entries by weight: the largest remainders are rounded up, earlier claimants first, and each gets at least
/// one, which those with the most give up.
fn quotas(claimants: &[Claimant], size: u32) -> Vec<u32> {
    let total: u64 = claimants.iter().map(|claimant| u64::from(claimant.weight)).sum();
    let ideal = |claimant: &Claimant| u64::from(size) * u64::from(claimant.weight);
    let mut quotas: Vec<u64> = claimants.iter().map(|claimant| ideal(claimant) / total).collect();
    let left = u64::from(size) - quotas.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..claimants.len()).collect();
    order.sort_by_key(|at| Reverse(ideal(&claimants[*at]) % total));
    order.into_iter().zip(0..left).for_each(|(at, _)| quotas[at] += 1);
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
    use super::{Claimant, fill, quotas};

    fn claimants(weights: &[u32]) -> Vec<Claimant> {
        let of = |(slot, weight): (u32, &u32)| Claimant { offset: 0, skip: 1, weight: *weight, slot };
        (0..).zip(weights).map(of).collect()
    }

    #[test]
    fn the_vector_of_the_paper_comes_out() {
        let of = |(slot, (offset, skip))| Claimant { offset, skip, weight: 1, slot };
        let claimants: Vec<_> = (0..).zip([(3, 4), (0, 2), (3, 1)]).map(of).collect();
        assert_eq!(*fill(&claimants, 7), [1, 0, 1, 0, 2, 2, 0]);
    }

    #[test]
    fn quotas_are_within_one_of_the_ideal() {
        assert_eq!(quotas(&claimants(&[1, 1, 1]), 7), [3, 2, 2]);
        assert_eq!(quotas(&claimants(&[1, 2, 4]), 7), [1, 2, 4]);
        assert_eq!(quotas(&claimants(&[u32::MAX, u32::MAX, 1]), 101), [50, 50, 1]);
    }

    #[test]
    fn nobody_is_left_without_an_entry() {
        let quotas = quotas(&claimants(&[1, 1, 1, u32::MAX]), 11);
        assert_eq!(quotas, [1, 1, 1, 8]);
    }
}
