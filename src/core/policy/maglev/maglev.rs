//! The policy.

use std::hash::BuildHasher;

use super::fill::Fill;
use super::size::{DEFAULT, MaglevError, check, for_members};
use super::table::MaglevTable;
use crate::core::policy::Replicas;
use crate::core::policy::explain::{Explanation, explain_owner};
use crate::core::policy::identity::{ByIdentity, ByName, Naming, distinct, fingerprint};
use crate::core::policy::keys::{HashKey, KeyBytes};
use crate::core::policy::unprepared::Unprepared;
use crate::core::{
    Candidate, Exclusions, PickError, Policy, Prepare, Prepared, Selection, StableBuildHasher, View,
};

/// Chooses the owner of a key by a lookup table that changes little when the membership does.
///
/// Each member has a permutation of the entries of the table, made of two hashes of its identity. In turns, in the order of
/// those hashes, each member takes the next free entry of its permutation until it has its quota. A key belongs to the
/// owner of the entry `hash(key) mod size`.
///
/// - Shares are within one entry of the ideal by weight. A member whose ideal is less than one entry has one, which the
///   members with the most entries give up.
/// - Placement depends on identities and weights only: neither on the order of the members nor on the process.
/// - A member that is excluded loses its keys to the next distinct owners along the table; keys of other members stay where
///   they are. Nothing is rebuilt: an exclusion flips bits.
/// - A member that [ramps up](crate::core::Candidate::ramp) gets that part of its keys, as if it had that part of its
///   entries: each key has a lot of its own there, and goes on along the table while the part is below that lot. So a key comes
///   to the member once and stays, and keys of other members stay where they are. Nothing is rebuilt.
///
/// Source: D. Eisenbud et al., "Maglev: A fast and reliable software network load balancer", NSDI 2016. The fill differs
/// in that quotas, not turns, carry the weights.
///
/// The table has 65,537 entries unless [`with_table_size`](Self::with_table_size) says otherwise; a membership that does not
/// fit gets the first prime above ten times its number.
///
/// # Complexity
///
/// A pick on a prepared view is constant: one hash, one table read, one check of the owner. When the hints are wrong, one
/// scan. Without a prepared table, each pick hashes every identity to find the table among the
/// last four that it built.
///
/// # Allocation
///
/// None per pick on a prepared view.
///
/// # Membership changes
///
/// The table is built anew, in `O(size log size)`; few entries change their owner beyond those that must.
///
/// # Examples
///
/// ```
/// use poise::core::policy::Maglev;
/// use poise::core::{Backend, Policy};
///
/// let policy = Maglev::new();
/// let caches = ["cache-a", "cache-b", "cache-c"].map(Backend::new);
/// let owner = policy.pick(&caches, "user:42")?.index();
/// assert_eq!(policy.pick(&caches, "user:42")?.index(), owner);
/// # Ok::<(), poise::core::PickError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Maglev<H = StableBuildHasher, N = ByIdentity> {
    size: Option<u32>,
    fill: Fill,
    hasher: H,
    naming: N,
    unprepared: Unprepared,
}

impl Maglev {
    /// Makes the policy with a table of the default size and the stable hash.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Maglev<KeyBytes, ByName> {
    /// Makes the policy that places keys where Envoy's `maglev` does, with a table of 65,537 entries.
    ///
    /// Members are placed by the text that their identities show as: for Envoy that is the address with its port, such as
    /// `10.0.0.1:80`. Keys are byte strings, hashed by XXH64 with seed 0. A member that weighs less than the heaviest sits
    /// out turns of the fill. Turns are taken in the order of the members, so that order matters, as it does in Envoy.
    ///
    /// ```
    /// use poise::core::policy::Maglev;
    /// use poise::core::{Backend, Policy};
    ///
    /// let servers = ["10.0.0.1:80", "10.0.0.2:80"].map(Backend::new);
    /// assert!(Maglev::envoy().pick(&servers, "/index.html").is_ok());
    /// ```
    #[must_use]
    pub fn envoy() -> Self {
        Self {
            size: Some(DEFAULT),
            fill: Fill::Turns,
            hasher: KeyBytes,
            naming: ByName,
            unprepared: Unprepared::new(),
        }
    }
}

impl<H, N> Maglev<H, N> {
    /// Sets the number of entries: a prime, at most 16,777,216. More entries mean finer shares and less movement when the
    /// membership changes, for a slower build and about six bytes each, eight with more than 65,535 members.
    ///
    /// # Errors
    ///
    /// [`MaglevError`] when the size is no prime or too large.
    pub fn with_table_size(self, size: u32) -> Result<Self, MaglevError> {
        Ok(Self { size: Some(check(size)?), unprepared: Unprepared::new(), ..self })
    }

    /// Hashes keys in another way. Members are placed as before.
    pub fn with_hasher<B: BuildHasher>(self, hasher: B) -> Maglev<B, N> {
        let Self { size, fill, naming, unprepared, .. } = self;
        Maglev { size, fill, hasher, naming, unprepared }
    }

    fn build<C>(&self, view: &View<'_, C>, eligible: impl Fn(usize) -> bool) -> Result<Prepared, PickError>
    where
        C: Candidate,
        N: Naming<C>,
    {
        let members = view.len();
        let size = self.size.unwrap_or_else(|| for_members(members));
        if members == 0 {
            return Err(PickError::Empty);
        }
        if members > size as usize {
            return Err(PickError::CapacityExceeded { candidates: members, places: size as usize });
        }
        let owners = self.fill.owners(&distinct(view, &self.naming)?, size);
        Ok(Prepared::keep(members, MaglevTable::new(owners, members, eligible)))
    }

    /// Finds or builds the table of a view that brings none.
    fn unprepared<C: Candidate>(&self, view: &View<'_, C>) -> Result<Prepared, PickError>
    where
        N: Naming<C>,
    {
        // Nobody flips the bits of this table, so all are set and the members decide.
        let fingerprint = fingerprint(view, &self.naming);
        self.unprepared.get_or_build(fingerprint, || self.build(view, |_| true))
    }

    /// A pick on a view that brings no table.
    #[cold]
    fn pick_unprepared<C: Candidate>(&self, view: &View<'_, C>, hash: u64) -> Result<Selection, PickError>
    where
        N: Naming<C>,
    {
        let prepared = self.unprepared(view)?;
        prepared.own::<MaglevTable>(view.len()).ok_or(PickError::InconsistentTopology)?.find(view, hash)
    }
}

impl<C: Candidate, H, N: Naming<C>> Prepare<C> for Maglev<H, N> {
    fn prepare(&self, view: &View<'_, C>, _: Option<&Prepared>) -> Result<Prepared, PickError> {
        if view.is_empty() {
            return Ok(Prepared::none());
        }
        self.build(view, |slot| view.exclusions_at(slot).only(Exclusions::SLOW).is_empty())
    }
}

impl<C: Candidate, K: ?Sized, H: HashKey<K>, N: Naming<C>> Policy<C, K> for Maglev<H, N> {
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        let hash = self.hasher.hash_key(key);
        match view.own_table::<MaglevTable>() {
            Some(table) => table.find(view, hash),
            None => self.pick_unprepared(view, hash),
        }
    }

    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        explain_owner(self, view, key)
    }
}

/// The first few along the table.
impl<C: Candidate, K: ?Sized, H: HashKey<K>, N: Naming<C>> Replicas<C, K> for Maglev<H, N> {
    fn pick_replicas(&self, view: &View<'_, C>, key: &K, into: &mut [Selection]) -> Result<usize, PickError> {
        let hash = self.hasher.hash_key(key);
        if let Some(table) = view.own_table::<MaglevTable>() {
            return table.find_distinct(view, hash, into);
        }
        let prepared = self.unprepared(view)?;
        let table = prepared.own::<MaglevTable>(view.len()).ok_or(PickError::InconsistentTopology)?;
        table.find_distinct(view, hash, into)
    }
}
