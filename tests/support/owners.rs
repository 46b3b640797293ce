//! Slow answers that are right by inspection: who owns the entries of a table.

use std::cmp::Reverse;
use std::hash::{BuildHasher, Hash};

use poise::core::StableBuildHasher;

/// The owner of each of `size` entries: identities with weights, each with its permutation written out.
pub(crate) fn maglev<I: Hash>(members: &[(I, u32)], size: usize) -> Vec<usize> {
    let hash = |seed, id: &I| StableBuildHasher::with_seed(seed).hash_one(id);
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by_key(|at| (hash(0, &members[*at].0), hash(0xCA11_AB1E, &members[*at].0)));
    let permutation = |at: usize| {
        let (offset, skip) = (hash(0, &members[at].0), hash(0xCA11_AB1E, &members[at].0));
        let (size, skip) = (size as u128, u128::from(skip) % (size as u128 - 1) + 1);
        let entry = move |j: u128| ((u128::from(offset) + skip * j) % size) as usize;
        (0..size).map(entry).collect::<Vec<_>>()
    };
    let mut left = quotas(&order.iter().map(|at| members[*at].1).collect::<Vec<_>>(), size);
    let permutations: Vec<_> = order.iter().map(|at| permutation(*at)).collect();
    let mut owners = vec![None; size];
    while left.iter().any(|quota| *quota > 0) {
        for (place, at) in order.iter().enumerate().filter(|(place, _)| left[*place] > 0).collect::<Vec<_>>()
        {
            let free = permutations[place].iter().find(|entry| owners[**entry].is_none());
            owners[*free.expect("quotas add up to the size")] = Some(*at);
            left[place] -= 1;
        }
    }
    owners.into_iter().flatten().collect()
}

/// Divides `size` by weight: largest remainders, then at least one each at the cost of the largest.
pub(crate) fn quotas(weights: &[u32], size: usize) -> Vec<usize> {
    let total: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let ideal = |weight: u32| size as u128 * u128::from(weight);
    let mut quotas: Vec<usize> = weights.iter().map(|weight| (ideal(*weight) / total) as usize).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|at| Reverse(ideal(weights[*at]) % total));
    let left = size - quotas.iter().sum::<usize>();
    order.iter().take(left).for_each(|at| quotas[*at] += 1);
    let missing = quotas.iter().filter(|quota| **quota == 0).count();
    for quota in &mut quotas {
        *quota = (*quota).max(1);
    }
    for _ in 0..missing {
        let most = *quotas.iter().max().expect("somebody is missing");
        let first = quotas.iter().position(|quota| *quota == most).expect("it was just found");
        quotas[first] -= 1;
    }
    quotas
}
