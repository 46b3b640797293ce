//! Who owns which entry.

use crate::core::policy::identity::Identity;
use crate::core::policy::quotas::quotas;

/// How weights become entries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Fill {
    /// Each has a number of entries by its weight. Members take turns in the order of their hashes.
    #[default]
    Quotas,
    /// Who weighs less sits out turns, in the order of the view.
    Turns,
}

impl Fill {
    /// Gives each of `size` entries to a member, of which there are as many at most.
    pub(super) fn owners(self, identities: &[Identity], size: u32) -> Box<[u32]> {
        let mut claimants: Vec<_> = identities.iter().map(|identity| Claimant::new(identity, size)).collect();
        match self {
            Self::Quotas => fill(&claimants, size),
            Self::Turns => {
                claimants.sort_unstable_by_key(|claimant| claimant.slot);
                fill_in_turns(&claimants, size)
            }
        }
    }
}

/// A member as the fill sees it.
#[derive(Clone, Copy, Debug)]
struct Claimant {
    /// Where its permutation of the entries starts.
    offset: u32,
    /// How far apart successive entries of its permutation are.
    skip: u32,
    weight: u32,
    slot: u32,
}

impl Claimant {
    fn new(identity: &Identity, size: u32) -> Self {
        let [offset, skip] = identity.hashes;
        Self {
            offset: below(offset, size),
            skip: below(skip, size - 1) + 1,
            weight: identity.weight,
            slot: identity.slot,
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the remainder is below a `u32`")]
fn below(hash: u64, bound: u32) -> u32 {
    (hash % u64::from(bound)) as u32
}

const FREE: u32 = u32::MAX;

/// In turns, each takes the next free entry of its own permutation, until it has its quota.
fn fill(claimants: &[Claimant], size: u32) -> Box<[u32]> {
    let weights: Vec<u32> = claimants.iter().map(|claimant| claimant.weight).collect();
    let mut owners = vec![FREE; size as usize].into_boxed_slice();
    let mut active: Vec<_> = claimants
        .iter()
        .zip(quotas(&weights, size))
        .map(|(claimant, quota)| (*claimant, claimant.offset, quota))
        .collect();
    while !active.is_empty() {
        for (claimant, at, quota) in &mut active {
            take(&mut owners, claimant, at, size);
            *quota -= 1;
        }
        active.retain(|(_, _, quota)| *quota > 0);
    }
    owners
}

/// In turns, each takes the next free entry, unless it has had its share of the turns so far. The arithmetic is Envoy's, to
/// the last bit.
fn fill_in_turns(claimants: &[Claimant], size: u32) -> Box<[u32]> {
    let total: f64 = claimants.iter().map(|claimant| f64::from(claimant.weight)).sum();
    let share = |claimant: &Claimant| f64::from(claimant.weight) / total;
    let most = claimants.iter().map(share).fold(0.0, f64::max);
    let mut owners = vec![FREE; size as usize].into_boxed_slice();
    let mut active: Vec<_> =
        claimants.iter().map(|claimant| (claimant, claimant.offset, share(claimant), 0.0)).collect();
    let (mut left, mut turn) = (size, 0.0);
    while left > 0 {
        turn += 1.0;
        for (claimant, at, share, target) in &mut active {
            if left > 0 && turn * *share >= *target {
                *target += most;
                take(&mut owners, claimant, at, size);
                left -= 1;
            }
        }
    }
    owners
}

/// Takes the next free entry of the permutation of `claimant`, which has come to `at`.
fn take(owners: &mut [u32], claimant: &Claimant, at: &mut u32, size: u32) {
    while owners[*at as usize] != FREE {
        let next = *at + claimant.skip;
        *at = if next < size { next } else { next - size };
    }
    owners[*at as usize] = claimant.slot;
}

#[cfg(test)]
mod tests {
    use super::{Claimant, fill, fill_in_turns};

    fn claimants(weights: [u32; 3]) -> Vec<Claimant> {
        let of = |((slot, (offset, skip)), weight)| Claimant { offset, skip, weight, slot };
        (0..).zip([(3, 4), (0, 2), (3, 1)]).zip(weights).map(of).collect()
    }

    #[test]
    fn the_vector_of_the_paper_comes_out() {
        assert_eq!(*fill(&claimants([1; 3]), 7), [1, 0, 1, 0, 2, 2, 0]);
        assert_eq!(*fill_in_turns(&claimants([1; 3]), 7), [1, 0, 1, 0, 2, 2, 0]);
    }

    #[test]
    fn who_weighs_half_as_much_sits_out_every_other_turn() {
        // The turns are 0 1 2, 0 1 2, 0: all start with a turn in hand, as in Envoy.
        assert_eq!(*fill_in_turns(&claimants([2, 1, 1]), 7), [1, 0, 1, 0, 2, 2, 0]);
    }
}
