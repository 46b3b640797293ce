//! Hashes of identities, and the tables of them.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use crate::core::{Candidate, PickError, StableBuildHasher, Table, View};

/// Differs from the default seed, as a key that is the identity of a member must not be a special one.
const SEED: u64 = 0x1DE7_717E;

/// Gives the hash of the identity at a slot.
pub(super) trait Identify {
    fn identity(&self, slot: usize) -> u64;

    /// Returns the hashes of all slots, if they stand in a row.
    fn in_a_row(&self) -> Option<&[u64]> {
        None
    }
}

/// Gives the weight at a slot, too.
pub(super) trait Weigh: Identify {
    fn weight(&self, slot: usize) -> u32;

    /// No weight is below this.
    fn lightest(&self) -> u32;

    /// No weight is above this.
    fn heaviest(&self) -> u32;

    /// The sum of the weights, or as little of it as is known.
    fn known_sum(&self) -> u64;
}

impl<M: Identify + ?Sized> Identify for &M {
    #[inline]
    fn identity(&self, slot: usize) -> u64 {
        (**self).identity(slot)
    }

    #[inline]
    fn in_a_row(&self) -> Option<&[u64]> {
        (**self).in_a_row()
    }
}

impl<M: Weigh + ?Sized> Weigh for &M {
    #[inline]
    fn weight(&self, slot: usize) -> u32 {
        (**self).weight(slot)
    }

    #[inline]
    fn lightest(&self) -> u32 {
        (**self).lightest()
    }

    #[inline]
    fn heaviest(&self) -> u32 {
        (**self).heaviest()
    }

    #[inline]
    fn known_sum(&self) -> u64 {
        (**self).known_sum()
    }
}

/// Gives every slot the same weight.
pub(super) struct Alike<'a, M>(pub(super) &'a M);

impl<M: Identify> Identify for Alike<'_, M> {
    #[inline]
    fn identity(&self, slot: usize) -> u64 {
        self.0.identity(slot)
    }

    #[inline]
    fn in_a_row(&self) -> Option<&[u64]> {
        self.0.in_a_row()
    }
}

impl<M: Identify> Weigh for Alike<'_, M> {
    #[inline]
    fn weight(&self, _: usize) -> u32 {
        1
    }

    fn lightest(&self) -> u32 {
        1
    }

    fn heaviest(&self) -> u32 {
        1
    }

    fn known_sum(&self) -> u64 {
        0
    }
}

/// Keeps the hash of the identity of each slot.
pub(crate) struct Identities(Box<[u64]>);

/// Keeps the hash of the identity and the weight of each slot.
pub(crate) struct Members {
    identities: Identities,
    weights: Box<[u32]>,
    lightest: u32,
    heaviest: u32,
    total: u64,
}

impl Identities {
    pub(super) fn new<C: Candidate<Id: Hash>>(view: &View<'_, C>) -> Result<Self, PickError> {
        let hashes = each(view, hash)?;
        distinct(view, &hashes)?;
        Ok(Self(hashes))
    }
}

impl Members {
    pub(super) fn new<C: Candidate<Id: Hash>>(view: &View<'_, C>) -> Result<Self, PickError> {
        let weights = each(view, |candidate| candidate.weight().value())?;
        let lightest = weights.iter().copied().min().unwrap_or(1);
        let heaviest = weights.iter().copied().max().unwrap_or(1);
        let total = weights.iter().map(|weight| u64::from(*weight)).sum();
        Ok(Self { identities: Identities::new(view)?, weights, lightest, heaviest, total })
    }
}

impl Identify for Identities {
    #[inline]
    fn identity(&self, slot: usize) -> u64 {
        self.0[slot]
    }

    #[inline]
    fn in_a_row(&self) -> Option<&[u64]> {
        Some(&self.0)
    }
}

impl Identify for Members {
    #[inline]
    fn identity(&self, slot: usize) -> u64 {
        self.identities.identity(slot)
    }

    #[inline]
    fn in_a_row(&self) -> Option<&[u64]> {
        self.identities.in_a_row()
    }
}

impl Weigh for Members {
    #[inline]
    fn weight(&self, slot: usize) -> u32 {
        self.weights[slot]
    }

    fn lightest(&self) -> u32 {
        self.lightest
    }

    fn heaviest(&self) -> u32 {
        self.heaviest
    }

    fn known_sum(&self) -> u64 {
        self.total
    }
}

/// Without a table, identities are hashed on the fly. A slot that names nobody gets a hash all the same, and is excluded.
impl<C: Candidate<Id: Hash>> Identify for View<'_, C> {
    fn identity(&self, slot: usize) -> u64 {
        self.candidate(slot).map_or(0, hash)
    }
}

impl<C: Candidate<Id: Hash>> Weigh for View<'_, C> {
    fn weight(&self, slot: usize) -> u32 {
        self.candidate(slot).map_or(1, |candidate| candidate.weight().value())
    }

    fn lightest(&self) -> u32 {
        1
    }

    fn heaviest(&self) -> u32 {
        u32::MAX
    }

    fn known_sum(&self) -> u64 {
        0
    }
}

fn hash<C: Candidate<Id: Hash>>(candidate: &C) -> u64 {
    hash_of(candidate.id())
}

/// Returns the hash by which a member is placed.
pub(crate) fn hash_of<I: Hash + ?Sized>(id: &I) -> u64 {
    StableBuildHasher::with_seed(SEED).hash_one(id)
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
        f.debug_struct("Members").field("members", &self.weights.len()).finish_non_exhaustive()
    }
}

fn each<C, T>(view: &View<'_, C>, of: impl Fn(&C) -> T) -> Result<Box<[T]>, PickError> {
    let candidates = (0..view.len()).map(|slot| view.candidate(slot).ok_or(PickError::InconsistentTopology));
    candidates.map(|candidate| candidate.map(&of)).collect()
}

/// Refuses identities that cannot be told apart.
fn distinct<C>(view: &View<'_, C>, hashes: &[u64]) -> Result<(), PickError> {
    let mut sorted: Vec<(u64, usize)> = hashes.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(twins) => {
            let [first, second] = [0, 1].map(|at: usize| view.position(twins[at].1));
            Err(PickError::DuplicateIdentity { first, second })
        }
        None => Ok(()),
    }
}
