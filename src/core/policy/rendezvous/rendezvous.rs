//! The policy without weights.

use std::hash::{BuildHasher, Hash};

use super::identity::Identities;
use super::order::ByScore;
use super::score::spread;
use super::search::{first, replicas};
use crate::core::policy::Replicas;
use crate::core::policy::explain::{Explanation, explain_owner};
use crate::core::{Candidate, PickError, Policy, Prepare, Prepared, Selection, StableBuildHasher, View};

/// Chooses the member with the highest score for a key: highest random weight, or rendezvous, hashing.
///
/// The score mixes the hash of the key with the hash of the identity. Every member has an independent score, so
///
/// - each gets an equal share of the keys, whatever its [`weight`](Candidate::weight);
/// - placement depends on identities only: neither on the order of the members nor on the process;
/// - a member that joins takes its keys from all others alike, and one that leaves, or is excluded, gives its keys to all
///   others alike. No other key moves;
/// - a member that [ramps up](Candidate::ramp) gets that part of an equal share: its keys come to it one after the other, each
///   of them once, and no other key moves. Its score, as a number `u` between zero and one, is taken for `u^(1 / part)`, as in
///   P. S. Efraimidis, P. G. Spirakis, "Weighted random sampling with a reservoir", Information Processing Letters 97(5),
///   2006.
///
/// Source: D. Thaler, C. Ravishankar, "Using name-based mappings to increase hit rates", IEEE/ACM Transactions on
/// Networking 6(1), 1998. The score is this, modulo 2^64:
///
/// ```text
/// A     = 0xBF58476D1CE4E5B9
/// B     = 0x9E3779B97F4A7C15
/// x     = hash(key) * A
/// y     = (x ^ x >> 32) * B
/// score = ((y ^ y >> 32) ^ hash(id)) * B
/// ```
///
/// Identities are hashed by [`StableBuildHasher`] with the seed `0x1DE7717E`, and keys with the default one.
///
/// # Complexity
///
/// One scan, at less than a nanosecond for each member on a prepared view. Members that the hints exclude are not looked at, and
/// members are asked if they are eligible in the order of their scores, mostly only the first one; a second scan when that one
/// ramps up. Without a prepared table each pick hashes every identity.
///
/// # Allocation
///
/// None.
///
/// # Membership changes
///
/// Preparing hashes each identity once, and reports those that occur twice. On a plain slice, equal identities share their
/// keys as one member, of which the first eligible one is chosen.
///
/// # Examples
///
/// ```
/// use poise::core::policy::Rendezvous;
/// use poise::core::{Backend, PolicyExt};
///
/// let caches = ["cache-a", "cache-b", "cache-c"].map(Backend::new);
/// let owner = Rendezvous::new().choose(&caches, "user:42")?.id();
///
/// let [a, b, c] = caches.clone();
/// assert_eq!(Rendezvous::new().choose(&[c, a, b], "user:42")?.id(), owner, "order does not matter");
/// # Ok::<(), poise::core::PickError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Rendezvous<H = StableBuildHasher> {
    hasher: H,
}

impl Rendezvous {
    /// Makes the policy with the stable hash.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<H> Rendezvous<H> {
    /// Hashes keys in another way. Members are placed by the stable hash all the same.
    #[expect(clippy::unused_self, reason = "a step of a builder, as on other policies")]
    pub fn with_hasher<B: BuildHasher>(self, hasher: B) -> Rendezvous<B> {
        Rendezvous { hasher }
    }
}

impl<C: Candidate<Id: Hash>, H> Prepare<C> for Rendezvous<H> {
    fn prepare(&self, view: &View<'_, C>, _: Option<&Prepared>) -> Result<Prepared, PickError> {
        if view.is_empty() {
            return Ok(Prepared::none());
        }
        Ok(Prepared::keep(view.len(), Identities::new(view)?))
    }
}

impl<C: Candidate<Id: Hash>, K: Hash + ?Sized, H: BuildHasher> Policy<C, K> for Rendezvous<H> {
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        let key = spread(self.hasher.hash_one(key));
        let slot = match view.own_table::<Identities>() {
            Some(table) => first(view, &ByScore { key, members: table }),
            None => first(view, &ByScore { key, members: view }),
        };
        slot.map(|slot| view.select(slot))
    }

    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        explain_owner(self, view, key)
    }
}

/// One scan that asks only those if they are eligible that would be among the first. Hints are not looked at.
impl<C: Candidate<Id: Hash>, K: Hash + ?Sized, H: BuildHasher> Replicas<C, K> for Rendezvous<H> {
    fn pick_replicas(&self, view: &View<'_, C>, key: &K, into: &mut [Selection]) -> Result<usize, PickError> {
        let key = spread(self.hasher.hash_one(key));
        match view.own_table::<Identities>() {
            Some(table) => replicas(view, &ByScore { key, members: table }, into),
            None => replicas(view, &ByScore { key, members: view }, into),
        }
    }
}
