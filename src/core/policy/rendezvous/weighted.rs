//! The policy with weights.

use std::hash::{BuildHasher, Hash};

use super::by_weight::ByWeight;
use super::identity::Members;
use super::score::spread;
use super::search::{first, replicas};
use crate::core::policy::Replicas;
use crate::core::policy::explain::{Explanation, explain_owner};
use crate::core::{Candidate, PickError, Policy, Prepare, Prepared, Selection, StableBuildHasher, View};

/// Chooses the member with the highest weighted score for a key.
///
/// With the score of [`Rendezvous`](super::Rendezvous) taken as a number `u` between zero and one, it is the member with the
/// highest `-weight / ln u`. So
///
/// - shares of the keys are exactly proportional to the weights, without rounding to points or entries;
/// - a member whose weight grows takes keys from all others alike, one whose weight falls gives keys to all others alike,
///   and no other key moves; nor does it when a member joins, leaves or is excluded;
/// - a member that [ramps up](Candidate::ramp) has that part of its weight, so that its keys come to it one after the other
///   and each of them once, from all others alike;
/// - placement depends on identities and weights only: neither on the order of the members nor on the process.
///
/// Source: J. Mosheyev, "Weighted rendezvous hashing", SNIA SDC 2015; the order is that of exponential variables with the
/// weights as rates. `u` is `((score >> 11) | 1) * 2^-53`. The logarithm is computed here, from additions, multiplications
/// and divisions alone, as those of platforms differ in the last bit; but as
/// `1 - u <= -ln u <= (1 - u) (1 + u) / (2 u)`, the first member is mostly known without one.
///
/// # Complexity
///
/// One scan, as for [`Rendezvous`](super::Rendezvous); in few picks, fewer the more members there are, a second one with some
/// logarithms.
///
/// # Allocation
///
/// None.
///
/// # Membership changes
///
/// Preparing hashes each identity once, and reports those that occur twice. On a plain slice, equal identities with equal
/// weights share their keys as one member, of which the first eligible one is chosen.
///
/// # Examples
///
/// ```
/// use poise::core::policy::WeightedRendezvous;
/// use poise::core::{Backend, Policy, Weight};
///
/// let shards = [Backend::new("small"), Backend::new("large").with_weight(Weight::new(3)?)];
/// let policy = WeightedRendezvous::new();
/// let owners: Vec<_> = (0..1_000).map(|key| policy.pick(&shards, &key)).collect::<Result<_, _>>()?;
/// let large = owners.iter().filter(|owner| owner.index() == 1).count();
/// assert!((700..800).contains(&large), "three of four: {large}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct WeightedRendezvous<H = StableBuildHasher> {
    hasher: H,
}

impl WeightedRendezvous {
    /// Makes the policy with the stable hash.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<H> WeightedRendezvous<H> {
    /// Hashes keys in another way. Members are placed by the stable hash all the same.
    #[expect(clippy::unused_self, reason = "a step of a builder, as on other policies")]
    pub fn with_hasher<B: BuildHasher>(self, hasher: B) -> WeightedRendezvous<B> {
        WeightedRendezvous { hasher }
    }
}

impl<C: Candidate<Id: Hash>, H> Prepare<C> for WeightedRendezvous<H> {
    fn prepare(&self, view: &View<'_, C>, _: Option<&Prepared>) -> Result<Prepared, PickError> {
        if view.is_empty() {
            return Ok(Prepared::none());
        }
        Ok(Prepared::keep(view.len(), Members::new(view)?))
    }
}

impl<C: Candidate<Id: Hash>, K: Hash + ?Sized, H: BuildHasher> Policy<C, K> for WeightedRendezvous<H> {
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        let key = spread(self.hasher.hash_one(key));
        let slot = match view.own_table::<Members>() {
            Some(table) => first(view, &ByWeight { key, members: table }),
            None => first(view, &ByWeight { key, members: view }),
        };
        slot.map(|slot| view.select(slot))
    }

    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        explain_owner(self, view, key)
    }
}

/// One scan that asks only those if they are eligible that would be among the first. Hints are not looked at.
impl<C: Candidate<Id: Hash>, K: Hash + ?Sized, H: BuildHasher> Replicas<C, K> for WeightedRendezvous<H> {
    fn pick_replicas(&self, view: &View<'_, C>, key: &K, into: &mut [Selection]) -> Result<usize, PickError> {
        let key = spread(self.hasher.hash_one(key));
        match view.own_table::<Members>() {
            Some(table) => replicas(view, &ByWeight { key, members: table }, into),
            None => replicas(view, &ByWeight { key, members: view }, into),
        }
    }
}
