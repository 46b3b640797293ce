//! Hashes of identities, and the tables of them.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use crate::core::{Candidate, PickError, StableBuildHasher, Table, View};

/// Differs from the default seed, as a key that is the identity of a member must not be a special one.
const SEED: u64 = 0x1DE7_717E;

/// Hashes the identity at `slot`. A slot that names nobody gets a hash all the same, and is excluded.
#[inline]
pub(super) fn identity<C: Candidate<Id: Hash>>(view: &View<'_, C>, slot: usize) -> u64 {
    view.candidate(slot).map_or(0, hash)
}

/// Hashes the identity at `slot`, and reads the weight.
#[inline]
pub(super) fn member<C: Candidate<Id: Hash>>(view: &View<'_, C>, slot: usize) -> (u64, u32) {
    view.candidate(slot).map_or((0, 1), |candidate| (hash(candidate), candidate.weight().value()))
}

fn hash<C: Candidate<Id: Hash>>(candidate: &C) -> u64 {
    StableBuildHasher::with_seed(SEED).hash_one(candidate.id())
}

/// Keeps the hash of the identity of each slot.
pub(super) struct Identities(pub(super) Box<[u64]>);

impl Identities {
    pub(super) fn new<C: Candidate<Id: Hash>>(view: &View<'_, C>) -> Result<Self, PickError> {
        let hashes = each(view, hash)?;
        distinct(view, hashes.iter().copied())?;
        Ok(Self(hashes))
    }
}

/// Keeps the hash of the identity and the weight of each slot.
pub(super) struct Members(pub(super) Box<[(u64, u32)]>);

impl Members {
    pub(super) fn new<C: Candidate<Id: Hash>>(view: &View<'_, C>) -> Result<Self, PickError> {
        let members = each(view, |candidate| (hash(candidate), candidate.weight().value()))?;
        distinct(view, members.iter().map(|(hash, _)| *hash))?;
        Ok(Self(members))
    }
}

impl Table for Identities {}
impl Table for Members {}

impl fmt::Debug for Identities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identities").field("members", &self.0.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Members").field("members", &self.0.len()).finish_non_exhaustive()
    }
}

fn each<C, T>(view: &View<'_, C>, of: impl Fn(&C) -> T) -> Result<Box<[T]>, PickError> {
    let candidates = (0..view.len()).map(|slot| view.candidate(slot).ok_or(PickError::InconsistentTopology));
    candidates.map(|candidate| candidate.map(&of)).collect()
}

/// Refuses identities that cannot be told apart.
fn distinct<C>(view: &View<'_, C>, hashes: impl Iterator<Item = u64>) -> Result<(), PickError> {
    let mut sorted: Vec<(u64, usize)> = hashes.zip(0..).collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(twins) => {
            let [first, second] = [0, 1].map(|at: usize| view.position(twins[at].1));
            Err(PickError::DuplicateIdentity { first, second })
        }
        None => Ok(()),
    }
}
