//! The policy.

use std::hash::BuildHasher;

use super::budget::{Budget, Scale};
use super::config::{check_max, check_sizes};
use super::placement::{EnvoyRing, Placement, PointsBy, RingMembers};
use super::table::RingTable;
use super::{RingHashError, RingReport};
use crate::core::policy::Replicas;
use crate::core::policy::explain::{Explanation, explain_owner};
use crate::core::policy::identity::{ByIdentity, distinct, fingerprint};
use crate::core::policy::keys::{HashKey, KeyBytes};
use crate::core::policy::unprepared::Unprepared;
use crate::core::{
    Candidate, Exclusions, PickError, Policy, Prepare, Prepared, Selection, StableBuildHasher, View,
};

/// Chooses the owner of a key by points on a ring, of which each member has as many as its weight asks for.
///
/// A key belongs to the owner of the first point at or after its hash, going around.
///
/// - A member has `max(1, round(weight * scale))` points. The scale is a power of two such that the median weight has 128
///   to 255 points, and smaller only where the ring would pass its maximum of 8,388,608. So a member whose weight changes
///   gains or loses a few points of its own, and no key moves between two others.
///   [`with_points_per_weight`](Self::with_points_per_weight) fixes the scale.
/// - A median that crosses a power of two changes the scale and the place of many keys; [`RingReport::of`] says so.
/// - Placement depends on identities and weights only: neither on the order of the members nor on the process.
/// - A member that is excluded loses its keys to the next distinct owners along the ring; keys of other members stay where
///   they are. Nothing is rebuilt: an exclusion flips bits.
/// - A member that [ramps up](crate::core::Candidate::ramp) gets that part of its keys, as if it had that part of its
///   points: each key has a lot of its own there, and goes on along the ring while the part is below that lot. So a key comes
///   to the member once and stays, and keys of other members stay where they are. Nothing is rebuilt.
///
/// Shares are less even than those of [`Maglev`](crate::core::policy::Maglev): with 128 points each they differ by about a tenth.
/// In return, a member that leaves moves its own keys only.
///
/// Source: D. Karger et al., "Consistent hashing and random trees", STOC 1997.
///
/// # Complexity
///
/// A pick on a prepared view is one hash, a look into an index of the ring, a search among the few points there, and one
/// check of the owner. Points that crowd, as a function of the user may place them, cost a binary search. When the hints
/// are wrong, one scan. Without a prepared table, each pick hashes every identity to find the table among the last four
/// that it built.
///
/// # Allocation
///
/// None per pick on a prepared view.
///
/// # Membership changes
///
/// The points of members that stay are taken from the ring before; only new points are hashed and sorted. That is linear
/// in the number of points.
///
/// # Examples
///
/// ```
/// use poise::core::policy::RingHash;
/// use poise::core::{Backend, Policy};
///
/// let policy = RingHash::new();
/// let caches = ["cache-a", "cache-b", "cache-c"].map(Backend::new);
/// let owner = policy.pick(&caches, "user:42")?.index();
/// assert_eq!(policy.pick(&caches, "user:42")?.index(), owner);
/// # Ok::<(), poise::core::PickError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct RingHash<H = StableBuildHasher, P = ByIdentity> {
    budget: Budget,
    hasher: H,
    placement: P,
    unprepared: Unprepared,
}

impl RingHash {
    /// Makes the policy with the stable hash and as many points as the weights ask for.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl RingHash<KeyBytes, EnvoyRing> {
    /// Makes the policy that places keys where Envoy's `ring_hash` does with its default hash function and with rings of at
    /// least `min` and at most `max` points. Envoy's defaults are 1,024 and 8,388,608.
    ///
    /// Members are placed by the text that their identities show as: for Envoy that is the address with its port, such as
    /// `10.0.0.1:80`. Keys are byte strings, hashed by XXH64 with seed 0. Where the weights do not divide the ring, the
    /// order of the members matters, as it does in Envoy.
    ///
    /// # Errors
    ///
    /// [`RingHashError`] when `max` is zero or above 8,388,608, or `min` is zero or above `max`.
    ///
    /// # Examples
    ///
    /// ```
    /// use poise::core::policy::RingHash;
    /// use poise::core::{Backend, Policy};
    ///
    /// let servers = ["10.0.0.1:80", "10.0.0.2:80"].map(Backend::new);
    /// let policy = RingHash::envoy(1_024, 8_388_608)?;
    /// assert!(policy.pick(&servers, "/index.html").is_ok());
    /// # Ok::<(), poise::core::policy::RingHashError>(())
    /// ```
    pub fn envoy(min: u32, max: u32) -> Result<Self, RingHashError> {
        let (min, max) = check_sizes(min, max)?;
        let placement = EnvoyRing { min, max };
        Ok(Self { budget: Budget::default(), hasher: KeyBytes, placement, unprepared: Unprepared::new() })
    }
}

impl<H> RingHash<H> {
    /// Fixes how many points a unit of weight stands for. Each member has one at least.
    ///
    /// A membership for which that is more than the maximum is refused with [`PickError::WeightOverflow`].
    ///
    /// # Errors
    ///
    /// [`RingHashError::PointsPerWeight`] when it is not a positive, finite number.
    pub fn with_points_per_weight(self, points: f64) -> Result<Self, RingHashError> {
        if !points.is_finite() || points <= 0.0 {
            return Err(RingHashError::PointsPerWeight { points });
        }
        let budget = Budget { scale: Scale::Fixed(points), ..self.budget };
        Ok(Self { budget, unprepared: Unprepared::new(), ..self })
    }

    /// Sets the most points that a ring may have, in `1..=8_388_608`; the default is the largest. A point takes about
    /// seventeen bytes.
    ///
    /// # Errors
    ///
    /// [`RingHashError::MaxPoints`] when it is out of range.
    pub fn with_max_points(self, points: u32) -> Result<Self, RingHashError> {
        let budget = Budget { max: check_max(points)?, ..self.budget };
        Ok(Self { budget, unprepared: Unprepared::new(), ..self })
    }

    /// Places members at points of one's own: `points` is called for each member and appends its points.
    ///
    /// A member without points serves only when nobody else can. A membership without any is refused with
    /// [`PickError::InconsistentTopology`], one with more than the maximum with [`PickError::CapacityExceeded`]. Points that
    /// meet are in an order that does not depend on the list.
    ///
    /// # Examples
    ///
    /// ```
    /// use poise::core::policy::{RingHash, RingMembers};
    /// use poise::core::{Backend, Policy, Prehashed, PrehashedBuildHasher};
    ///
    /// let shards = [Backend::new(0_u64), Backend::new(1)];
    /// let quarter = |shard: &Backend<u64>, _: &RingMembers, points: &mut Vec<u64>| {
    ///     points.extend([*shard.id() << 62, (*shard.id() + 2) << 62]);
    /// };
    /// let policy = RingHash::new().with_points(quarter).with_hasher(PrehashedBuildHasher);
    /// assert_eq!(policy.pick(&shards, &Prehashed(1))?.index(), 1, "the point of the second shard is next");
    /// # Ok::<(), poise::core::PickError>(())
    /// ```
    pub fn with_points<C, F>(self, points: F) -> RingHash<H, PointsBy<F>>
    where
        F: Fn(&C, &RingMembers, &mut Vec<u64>),
    {
        let Self { budget, hasher, .. } = self;
        RingHash { budget, hasher, placement: PointsBy(points), unprepared: Unprepared::new() }
    }
}

impl<H, P> RingHash<H, P> {
    /// Hashes keys in another way. Members are placed as before.
    pub fn with_hasher<B: BuildHasher>(self, hasher: B) -> RingHash<B, P> {
        let Self { budget, placement, unprepared, .. } = self;
        RingHash { budget, hasher, placement, unprepared }
    }

    fn build<C>(
        &self,
        view: &View<'_, C>,
        previous: Option<&Prepared>,
        eligible: impl Fn(usize) -> bool,
    ) -> Result<Prepared, PickError>
    where
        C: Candidate,
        P: Placement<C>,
    {
        if view.is_empty() {
            return Err(PickError::Empty);
        }
        let previous = previous.and_then(Prepared::own_earlier::<RingTable>);
        let members = distinct(view, &self.placement)?;
        let (points, points_per_weight) = self.placement.place(view, &members, self.budget, previous)?;
        if points.len() == 0 {
            return Err(PickError::InconsistentTopology);
        }
        let rescaled = previous.is_some_and(|before| before.report().points_per_weight != points_per_weight);
        let report = RingReport { points: points.len(), points_per_weight, rescaled };
        Ok(Prepared::keep(view.len(), RingTable::new(points, members, report, eligible)))
    }

    /// Finds or builds the ring of a view that brings none.
    fn unprepared<C: Candidate>(&self, view: &View<'_, C>) -> Result<Prepared, PickError>
    where
        P: Placement<C>,
    {
        // Nobody flips the bits of this ring, so all are set and the members decide.
        let fingerprint = fingerprint(view, &self.placement);
        self.unprepared.get_or_follow(fingerprint, |last| self.build(view, last, |_| true))
    }

    /// A pick on a view that brings no ring.
    #[cold]
    fn pick_unprepared<C: Candidate>(&self, view: &View<'_, C>, hash: u64) -> Result<Selection, PickError>
    where
        P: Placement<C>,
    {
        let prepared = self.unprepared(view)?;
        prepared.own::<RingTable>(view.len()).ok_or(PickError::InconsistentTopology)?.find(view, hash)
    }
}

impl<C: Candidate, H, P: Placement<C>> Prepare<C> for RingHash<H, P> {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        if view.is_empty() {
            return Ok(Prepared::none());
        }
        self.build(view, previous, |slot| view.exclusions_at(slot).only(Exclusions::SLOW).is_empty())
    }
}

impl<C: Candidate, K: ?Sized, H: HashKey<K>, P: Placement<C>> Policy<C, K> for RingHash<H, P> {
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        let hash = self.hasher.hash_key(key);
        match view.own_table::<RingTable>() {
            Some(table) => table.find(view, hash),
            None => self.pick_unprepared(view, hash),
        }
    }

    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        explain_owner(self, view, key)
    }
}

/// The first few along the ring.
impl<C: Candidate, K: ?Sized, H: HashKey<K>, P: Placement<C>> Replicas<C, K> for RingHash<H, P> {
    fn pick_replicas(&self, view: &View<'_, C>, key: &K, into: &mut [Selection]) -> Result<usize, PickError> {
        let hash = self.hasher.hash_key(key);
        if let Some(table) = view.own_table::<RingTable>() {
            return table.find_distinct(view, hash, into);
        }
        let prepared = self.unprepared(view)?;
        let table = prepared.own::<RingTable>(view.len()).ok_or(PickError::InconsistentTopology)?;
        table.find_distinct(view, hash, into)
    }
}
