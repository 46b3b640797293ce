//! Members by identity.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use crate::core::{Candidate, Prepared, StableBuildHasher, Table, View};

/// Finds the members of one membership by the hash of their identities.
#[derive(Debug)]
pub(crate) struct Identities {
    /// Hashes and slots, ascending.
    slots: Box<[(u64, u32)]>,
    /// What the inner policy has prepared.
    pub(super) inner: Prepared,
}

impl Identities {
    pub(super) fn new<C: Candidate<Id: Hash>>(view: &View<'_, C>, inner: Prepared) -> Self {
        let hasher = StableBuildHasher::default();
        let hash = |(index, slot)| Some((hasher.hash_one(view.candidate(index)?.id()), slot));
        let mut slots: Box<[_]> = (0..view.len()).zip(0u32..).filter_map(hash).collect();
        slots.sort_unstable();
        Self { slots, inner }
    }

    /// Finds the slot of the member with this identity.
    pub(super) fn find<C, Q>(&self, view: &View<'_, C>, identity: &Q) -> Option<usize>
    where
        C: Candidate<Id: Borrow<Q>>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = StableBuildHasher::default().hash_one(identity);
        let first = self.slots.partition_point(|(of, _)| *of < hash);
        let alike = self.slots[first..].iter().take_while(|(of, _)| *of == hash);
        alike.map(|(_, slot)| *slot as usize).find(|slot| is(view, *slot, identity))
    }
}

impl Table for Identities {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        self.inner.set_eligible(slot, eligible);
    }
}

/// Tells whether the member at `slot` has this identity.
pub(super) fn is<C, Q>(view: &View<'_, C>, slot: usize, identity: &Q) -> bool
where
    C: Candidate<Id: Borrow<Q>>,
    Q: Eq + ?Sized,
{
    view.candidate(slot).is_some_and(|candidate| candidate.id().borrow() == identity)
}
