//! Slow answers that are right by inspection: points on a ring.

use std::hash::{BuildHasher, Hash};

use poise::core::StableBuildHasher;
use twox_hash::XxHash64;

/// The points of identities with weights, ascending, and the index of their owners.
pub(crate) fn ring<I: Hash>(members: &[(I, u32)], most: u64) -> Vec<(u64, usize)> {
    let hash = |seed, id: &I| StableBuildHasher::with_seed(seed).hash_one(id);
    let mut ring = Vec::new();
    for (at, ((id, _), count)) in members.iter().zip(counts(members, most)).enumerate() {
        for nth in 0..u32::try_from(count).expect("small") {
            let bytes = [&hash(0xCA11_AB1E, id).to_le_bytes()[..], &nth.to_le_bytes()[..]].concat();
            ring.push((XxHash64::oneshot(hash(0, id), &bytes), at));
        }
    }
    ring.sort_unstable();
    ring
}

/// The number of points of each: by the power of two that gives the median from 128 to 255, halved until all fit.
fn counts<I>(members: &[(I, u32)], most: u64) -> Vec<u64> {
    let mut weights: Vec<u32> = members.iter().map(|member| member.1).collect();
    weights.sort_unstable();
    let Some(median) = weights.get(weights.len().saturating_sub(1) / 2) else { return Vec::new() };
    // Doublings, or halvings when negative: the bits of 128 are eight.
    let mut doublings = 7 - median.ilog2().cast_signed();
    loop {
        let counts: Vec<u64> = members.iter().map(|member| count(member.1.into(), doublings)).collect();
        if counts.iter().sum::<u64>() <= most {
            return counts;
        }
        doublings -= 1;
    }
}

fn count(weight: u64, doublings: i32) -> u64 {
    let halvings = doublings.saturating_neg().max(0);
    let half = if halvings > 0 { 1 << (halvings - 1) } else { 0 };
    (((weight << doublings.max(0)) + half) >> halvings).max(1)
}

/// The owners from a hash on, once around.
pub(crate) fn from(ring: &[(u64, usize)], hash: u64) -> Vec<usize> {
    let after = ring.iter().filter(|(point, _)| *point >= hash);
    after.chain(ring.iter().filter(|(point, _)| *point < hash)).map(|(_, owner)| *owner).collect()
}
