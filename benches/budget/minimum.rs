//! What each pick would cost at least: written by hand for these very candidates, without generality or a second try.
//!
//! Each knows beforehand who is eligible, as a list of positions or a lookup table, and asks the chosen candidate once. It
//! measures a load as the policy does, so that the difference is the choice.

use std::hash::BuildHasher;
use std::hint::select_unpredictable;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use poise::core::{LoadMetric, Now, StableBuildHasher};

use crate::pool::{Key, Node, Pool};

/// One addition, one state.
#[inline]
pub(crate) fn turn<L>(pool: &Pool<L>, _: &Key, _: &Now) -> usize {
    let turn = pool.cursor.0.fetch_add(1, Ordering::Relaxed);
    checked(&pool.nodes, pool.live[turn % pool.live.len()])
}

/// One draw, one state.
#[inline]
pub(crate) fn draw<L>(pool: &Pool<L>, _: &Key, _: &Now) -> usize {
    checked(&pool.nodes, one_of(&pool.live))
}

/// Two draws, two states, two loads, a comparison.
#[inline]
pub(crate) fn two_draws<L: LoadMetric>(pool: &Pool<L>, _: &Key, now: &Now) -> usize {
    let [one, other] = [(); 2].map(|()| one_of(&pool.live));
    let [a, b] = [one, other].map(|at| &*pool.nodes[at as usize]);
    if a.is_excluded() || b.is_excluded() {
        return usize::MAX;
    }
    // A branch would be guessed wrongly every other time, which costs more than all the rest.
    select_unpredictable(a.load.measure(now) <= b.load.measure(now), one, other) as usize
}

/// The state of each, and the load of those that are eligible.
#[inline]
pub(crate) fn scan<L: LoadMetric>(pool: &Pool<L>, _: &Key, now: &Now) -> usize {
    let mut least = (f64::INFINITY, usize::MAX);
    for (at, node) in pool.nodes.iter().enumerate() {
        if !node.is_excluded() {
            let load = node.load.measure(now);
            if load < least.0 {
                least = (load, at);
            }
        }
    }
    least.1
}

/// One hash, one entry, one state.
#[inline]
pub(crate) fn lookup<L>(pool: &Pool<L>, key: &Key, _: &Now) -> usize {
    checked(&pool.nodes, owner(&pool.owners, key))
}

/// One draw for the level, and a lookup in it.
#[inline]
pub(crate) fn level_and_lookup<L>(pool: &Pool<L>, key: &Key, _: &Now) -> usize {
    let drawn = below(100);
    let level = pool.levels.iter().find(|(up_to, _)| drawn < *up_to);
    level.map_or(usize::MAX, |(_, owners)| checked(&pool.nodes, owner(owners, key)))
}

#[inline]
fn checked<L>(nodes: &[Arc<Node<L>>], at: u32) -> usize {
    if nodes[at as usize].is_excluded() { usize::MAX } else { at as usize }
}

#[inline]
fn owner(owners: &[u32], key: &Key) -> u32 {
    let hash = StableBuildHasher::default().hash_one(key);
    #[expect(clippy::cast_possible_truncation, reason = "the remainder is below a length")]
    let entry = (hash % owners.len() as u64) as usize;
    owners[entry]
}

#[inline]
fn one_of(live: &[u32]) -> u32 {
    live[below(live.len())]
}

/// Draws from the generator that the policies use.
#[expect(clippy::cast_possible_truncation, reason = "the upper half of the product is below `n`")]
#[inline]
fn below(n: usize) -> usize {
    ((u128::from(fastrand::u64(..)) * n as u128) >> 64) as usize
}
