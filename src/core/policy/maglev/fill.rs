//! Who owns which entry.

use crate::core::eligibility::bit;
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

const BITS: usize = u64::BITS as usize;

/// In turns, each takes the next free entry of its own permutation, until it has its quota.
fn fill(claimants: &[Claimant], size: u32) -> Box<[u32]> {
    let weights: Vec<u32> = claimants.iter().map(|claimant| claimant.weight).collect();
    let mut entries = Entries::new(size);
    let mut active: Vec<_> = claimants
        .iter()
        .zip(quotas(&weights, size))
        .map(|(claimant, quota)| (*claimant, claimant.offset, quota))
        .collect();
    while !active.is_empty() {
        for (claimant, at, quota) in &mut active {
            entries.take(claimant, at, size);
            *quota -= 1;
        }
        active.retain(|(_, _, quota)| *quota > 0);
    }
    entries.owners
}

/// In turns, each takes the next free entry, unless it has had its share of the turns so far. The arithmetic is Envoy's, to
/// the last bit.
fn fill_in_turns(claimants: &[Claimant], size: u32) -> Box<[u32]> {
    let total: f64 = claimants.iter().map(|claimant| f64::from(claimant.weight)).sum();
    let share = |claimant: &Claimant| f64::from(claimant.weight) / total;
    let most = claimants.iter().map(share).fold(0.0, f64::max);
    let mut entries = Entries::new(size);
    let mut active: Vec<_> =
        claimants.iter().map(|claimant| (claimant, claimant.offset, share(claimant), 0.0)).collect();
    let (mut left, mut turn) = (size, 0.0);
    while left > 0 {
        turn += 1.0;
        for (claimant, at, share, target) in &mut active {
            if left > 0 && turn * *share >= *target {
                *target += most;
                entries.take(claimant, at, size);
                left -= 1;
            }
        }
    }
    entries.owners
}

/// Who owns each entry, while the table is filled.
struct Entries {
    owners: Box<[u32]>,
    /// Bit `entry`: it is taken. Most looks find an entry taken, and all of these bits fit into the innermost cache.
    taken: Box<[u64]>,
    free: u32,
    /// The free entries, once they are few.
    last: Vec<u32>,
}

/// From so few free entries on, it is faster to compute which one a permutation reaches first than to walk along it: half
/// of all steps would be those to the last few.
const FEW: u32 = 128;

impl Entries {
    fn new(size: u32) -> Self {
        let taken = vec![0; (size as usize).div_ceil(BITS)].into();
        Self { owners: vec![0; size as usize].into(), taken, free: size, last: Vec::new() }
    }

    /// Takes the next free entry of the permutation of `claimant`, which has come to `at`. There is one.
    fn take(&mut self, claimant: &Claimant, at: &mut u32, size: u32) {
        *at = if self.free > FEW {
            self.walk(claimant.skip, *at, size)
        } else {
            self.jump(claimant.skip, *at, size).unwrap_or(*at)
        };
        self.owners[*at as usize] = claimant.slot;
        self.free -= 1;
    }

    fn walk(&mut self, skip: u32, mut at: u32, size: u32) -> u32 {
        while self.is_taken(at) {
            let next = at + skip;
            at = if next < size { next } else { next - size };
        }
        self.taken[at as usize / BITS] |= bit(at as usize);
        at
    }

    fn jump(&mut self, skip: u32, at: u32, size: u32) -> Option<u32> {
        if self.last.is_empty() {
            self.last = (0..size).filter(|entry| !self.is_taken(*entry)).collect();
        }
        let (steps, size) = (u64::from(inverse(skip, size)), u64::from(size));
        let distance = |entry: u32| (u64::from(entry) + size - u64::from(at)) * steps % size;
        let (place, _) = self.last.iter().enumerate().min_by_key(|(_, entry)| distance(**entry))?;
        Some(self.last.swap_remove(place))
    }

    fn is_taken(&self, entry: u32) -> bool {
        self.taken[entry as usize / BITS] & bit(entry as usize) != 0
    }
}

/// Returns what times `number` is one, modulo a prime that is above it (Euclid's algorithm, extended).
fn inverse(number: u32, prime: u32) -> u32 {
    let (prime, mut pair, mut factors) = (i64::from(prime), (i64::from(prime), i64::from(number)), (0, 1));
    while pair.1 != 0 {
        let quotient = pair.0 / pair.1;
        pair = (pair.1, pair.0 - quotient * pair.1);
        factors = (factors.1, factors.0 - quotient * factors.1);
    }
    u32::try_from(factors.0.rem_euclid(prime)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{BITS, Claimant, Entries, FEW, bit, fill, fill_in_turns, inverse};

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

    #[test]
    fn inverses_undo_multiplications() {
        for prime in [3, 7, 65_537, 16_777_213] {
            for number in [1, 2, prime / 2, prime - 1] {
                let product = u64::from(number) * u64::from(inverse(number, prime));
                assert_eq!(product % u64::from(prime), 1, "{number} modulo {prime}");
            }
        }
    }

    #[test]
    fn a_jump_to_one_of_the_last_entries_ends_where_a_walk_does() {
        let size = 251;
        let mut entries = Entries::new(size);
        for entry in (0..size).filter(|entry| entry % 7 != 3) {
            entries.taken[entry as usize / BITS] |= bit(entry as usize);
        }
        for step in 0..size.div_ceil(7).min(FEW) {
            let (skip, at) = (step * 37 % (size - 1) + 1, step * 11 % size);
            let walked =
                (0..size).map(|steps| (at + steps * skip) % size).find(|entry| !entries.is_taken(*entry));
            assert_eq!(entries.jump(skip, at, size), walked);
            let walked = walked.expect("one is free") as usize;
            entries.taken[walked / BITS] |= bit(walked);
        }
    }
}
