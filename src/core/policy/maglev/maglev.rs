//! The policy.

use std::hash::{BuildHasher, Hash};

use super::fill::Claimant;
use super::size::{MaglevError, check, for_members};
use super::table::MaglevTable;
use crate::core::policy::unprepared::Unprepared;
use crate::core::{
    Candidate, Exclusions, PickError, Policy, Prepare, Prepared, Selection, StableBuildHasher, View,
};

/// Seeds of the two hashes of an identity; the same in every process.
const OFFSET_SEED: u64 = 0;
const SKIP_SEED: u64 = 0xCA11_AB1E;

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
pub struct Maglev<H = StableBuildHasher> {
    size: Option<u32>,
    hasher: H,
    unprepared: Unprepared,
}

impl Maglev {
    /// Makes the policy with a table of the default size and the stable hash.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<H> Maglev<H> {
    /// Sets the number of entries: a prime, at most 16,777,216. More entries mean finer shares and less movement when the
    /// membership changes, for four bytes each and a slower build.
    ///
    /// # Errors
    ///
    /// [`MaglevError`] when the size is no prime or too large.
    pub fn with_table_size(self, size: u32) -> Result<Self, MaglevError> {
        Ok(Self { size: Some(check(size)?), unprepared: Unprepared::new(), ..self })
    }

    /// Hashes keys in another way. Members are placed by the stable hash all the same.
    pub fn with_hasher<B: BuildHasher>(self, hasher: B) -> Maglev<B> {
        Maglev { size: self.size, hasher, unprepared: self.unprepared }
    }

    fn build<C>(&self, view: &View<'_, C>, eligible: impl Fn(usize) -> bool) -> Result<Prepared, PickError>
    where
        C: Candidate<Id: Hash>,
    {
        let members = view.len();
        let size = self.size.unwrap_or_else(|| for_members(members));
        if members == 0 {
            return Err(PickError::Empty);
        }
        if members > size as usize {
            return Err(PickError::CapacityExceeded { candidates: members, places: size as usize });
        }
        let claimants = claimants(view, size)?;
        Ok(Prepared::new(members, MaglevTable::new(&claimants, size, eligible)))
    }
}

impl<C: Candidate<Id: Hash>, H: BuildHasher> Prepare<C> for Maglev<H> {
    fn prepare(&self, view: &View<'_, C>, _: Option<&Prepared>) -> Result<Prepared, PickError> {
        if view.is_empty() {
            return Ok(Prepared::none());
        }
        self.build(view, |slot| view.exclusions_at(slot).only(Exclusions::SLOW).is_empty())
    }
}

impl<C: Candidate<Id: Hash>, K: Hash + ?Sized, H: BuildHasher> Policy<C, K> for Maglev<H> {
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        let hash = self.hasher.hash_one(key);
        if let Some(table) = view.table::<MaglevTable>() {
            return table.find(view, hash).map(|slot| view.select(slot));
        }
        // Nobody flips the bits of this table, so all are set and the members decide.
        let prepared = self.unprepared.get_or_build(fingerprint(view), || self.build(view, |_| true))?;
        let table = prepared.table::<MaglevTable>(view.len()).ok_or(PickError::InconsistentTopology)?;
        table.find(view, hash).map(|slot| view.select(slot))
    }
}

/// Hashes the identities, and sorts by the hashes, so that the order of the members does not matter.
fn claimants<C: Candidate<Id: Hash>>(view: &View<'_, C>, size: u32) -> Result<Vec<Claimant>, PickError> {
    let hashers = [OFFSET_SEED, SKIP_SEED].map(StableBuildHasher::with_seed);
    let mut hashed = Vec::with_capacity(view.len());
    for (index, slot) in (0..view.len()).zip(0u32..) {
        let candidate = view.candidate(index).ok_or(PickError::InconsistentTopology)?;
        let [offset, skip] = [0, 1].map(|at: usize| hashers[at].hash_one(candidate.id()));
        hashed.push((offset, skip, slot, candidate.weight().value()));
    }
    hashed.sort_unstable();
    if let Some(twins) = hashed.windows(2).find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)) {
        let [first, second] = [0, 1].map(|at: usize| view.position(twins[at].2 as usize));
        return Err(PickError::DuplicateIdentity { first, second });
    }
    let claimant = |(offset, skip, slot, weight): (u64, u64, u32, u32)| Claimant {
        offset: below(offset, size),
        skip: below(skip, size - 1) + 1,
        weight,
        slot,
    };
    Ok(hashed.into_iter().map(claimant).collect())
}

#[expect(clippy::cast_possible_truncation, reason = "the remainder is below a `u32`")]
fn below(hash: u64, bound: u32) -> u32 {
    (hash % u64::from(bound)) as u32
}

/// Tells memberships apart by identities and weights.
fn fingerprint<C: Candidate<Id: Hash>>(view: &View<'_, C>) -> u64 {
    let hasher = StableBuildHasher::default();
    (0..view.len()).filter_map(|slot| view.candidate(slot)).fold(view.len() as u64, |before, candidate| {
        hasher.hash_one((before, hasher.hash_one(candidate.id()), candidate.weight().value()))
    })
}
