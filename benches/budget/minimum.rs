//! What each pick would cost at least: written by hand for these very candidates, without generality or a second try.
//!
//! Each knows beforehand who is eligible, as a list of positions or a lookup table, and asks the chosen candidate once. It
//! measures a load as the policy does, so that the difference is the choice.

use std::hash::{BuildHasher, Hash};
use std::hint::select_unpredictable;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use poise::core::{AdditiveLoad, LoadMetric, Now, StableBuildHasher};

use crate::load::Weigh;
use crate::pool::{Node, Pool};

/// One addition, one state.
#[inline]
pub(crate) fn turn<L, K>(pool: &Pool<L>, _: &K, _: &Now) -> usize {
    let turn = pool.cursor.0.fetch_add(1, Ordering::Relaxed);
    checked(&pool.nodes, pool.live[turn % pool.live.len()])
}

/// One draw, one state.
#[inline]
pub(crate) fn draw<L, K>(pool: &Pool<L>, _: &K, _: &Now) -> usize {
    checked(&pool.nodes, one_of(&pool.live))
}

/// Two draws, two states, two loads, a comparison.
#[inline]
pub(crate) fn two_draws<L: LoadMetric, K>(pool: &Pool<L>, _: &K, now: &Now) -> usize {
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
pub(crate) fn scan<L: LoadMetric, K>(pool: &Pool<L>, _: &K, now: &Now) -> usize {
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
pub(crate) fn lookup<L, K: Hash>(pool: &Pool<L>, key: &K, _: &Now) -> usize {
    checked(&pool.nodes, owner(&pool.owners, key))
}

/// One addition, one entry of a schedule, one state.
#[inline]
pub(crate) fn scheduled<L, K>(pool: &Pool<L>, _: &K, _: &Now) -> usize {
    let turn = pool.cursor.0.fetch_add(1, Ordering::Relaxed);
    checked(&pool.nodes, pool.owners[turn % pool.owners.len()])
}

/// One draw, one entry of an alias table, one state.
#[inline]
pub(crate) fn alias<L, K>(pool: &Pool<L>, _: &K, _: &Now) -> usize {
    let drawn = fastrand::u64(..);
    let (up_to, one, other) = pool.aliases[scaled(drawn, pool.aliases.len())];
    let lot = drawn & u64::from(u32::MAX);
    checked(&pool.nodes, select_unpredictable(lot < up_to, one, other))
}

/// Two draws, two states, two loads with their weights, a comparison.
#[inline]
pub(crate) fn two_requests<L: AdditiveLoad + Weigh, K>(pool: &Pool<L>, _: &K, _: &Now) -> usize {
    let [one, other] = [(); 2].map(|()| one_of(&pool.live));
    let [a, b] = [one, other].map(|at| &*pool.nodes[at as usize]);
    if a.is_excluded() || b.is_excluded() {
        return usize::MAX;
    }
    let cost = |node: &Node<L>| (node.load.count() + 1) as f64 / f64::from(node.load.weight().value());
    select_unpredictable(cost(a) <= cost(b), one, other) as usize
}

/// One hash, a binary search, one state.
#[inline]
pub(crate) fn search<L, K: Hash>(pool: &Pool<L>, key: &K, _: &Now) -> usize {
    let (hash, (points, owners)) = (hashed(key), &pool.points);
    let entry = points.partition_point(|point| *point < hash);
    checked(&pool.nodes, owners[if entry < owners.len() { entry } else { 0 }])
}

/// One hash, a multiplication for each hash of an identity, one state.
#[inline]
pub(crate) fn highest<L, K: Hash>(pool: &Pool<L>, key: &K, _: &Now) -> usize {
    checked(&pool.nodes, highest_of(&pool.hashes, hashed(key), |_| true))
}

/// One hash, the sum of the states and loads of all, and then a multiplication for each hash of an identity; again among
/// those that have room when the first one has none.
#[inline]
pub(crate) fn highest_with_room<L: AdditiveLoad, K: Hash>(pool: &Pool<L>, key: &K, _: &Now) -> usize {
    let key = hashed(key);
    let live = pool.nodes.iter().filter(|node| !node.is_excluded());
    let total: u64 = live.map(|node| node.load.count()).sum();
    let cap = ((total + 1) * 5).div_ceil(pool.hashes.len() as u64 * 4);
    let has_room = |at: u32| pool.nodes[at as usize].load.count() < cap;
    let owner = highest_of(&pool.hashes, key, |_| true);
    let chosen = if has_room(owner) { owner } else { highest_of(&pool.hashes, key, has_room) };
    checked(&pool.nodes, chosen)
}

/// One draw for the zone, one draw in it, one state.
#[inline]
pub(crate) fn zone_and_draw<L, K>(pool: &Pool<L>, _: &K, _: &Now) -> usize {
    checked(&pool.nodes, one_of(&pool.zones[below(pool.zones.len())]))
}

/// One draw for the level unless the first one gets everything, and a lookup in it.
#[inline]
pub(crate) fn level_and_lookup<L, K: Hash>(pool: &Pool<L>, key: &K, _: &Now) -> usize {
    let drawn = if pool.levels[0].0 < 100 { below(100) } else { 0 };
    let level = pool.levels.iter().find(|(up_to, _)| drawn < *up_to);
    level.map_or(usize::MAX, |(_, owners)| checked(&pool.nodes, owner(owners, key)))
}

#[inline]
fn checked<L>(nodes: &[Arc<Node<L>>], at: u32) -> usize {
    if nodes[at as usize].is_excluded() { usize::MAX } else { at as usize }
}

/// Kept apart from its callers, so that they all measure the same code.
#[inline(never)]
fn highest_of(hashes: &[(u64, u32)], key: u64, admits: impl Fn(u32) -> bool) -> u32 {
    let mut highest = (0, u32::MAX);
    for (hash, at) in hashes {
        let score = (hash ^ key).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        if score >= highest.0 && admits(*at) {
            highest = (score, *at);
        }
    }
    highest.1
}

#[inline]
fn hashed(key: &impl Hash) -> u64 {
    StableBuildHasher::default().hash_one(key)
}

#[inline]
fn owner(owners: &[u32], key: &impl Hash) -> u32 {
    let hash = hashed(key);
    #[expect(clippy::cast_possible_truncation, reason = "the remainder is below a length")]
    let entry = (hash % owners.len() as u64) as usize;
    owners[entry]
}

#[inline]
fn one_of(live: &[u32]) -> u32 {
    live[below(live.len())]
}

/// Draws from the generator that the policies use.
#[inline]
fn below(n: usize) -> usize {
    scaled(fastrand::u64(..), n)
}

#[expect(clippy::cast_possible_truncation, reason = "the upper half of the product is below `n`")]
#[inline]
fn scaled(drawn: u64, n: usize) -> usize {
    ((u128::from(drawn) * n as u128) >> 64) as usize
}
