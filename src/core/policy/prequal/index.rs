//! Where members stand.

use crate::core::policy::identity::Identity;
use crate::core::{Prepared, Table};

/// Members of one membership in the order of the hashes of their identities.
#[derive(Debug)]
pub(crate) struct Index {
    hashes: Box<[u64]>,
    slots: Box<[u32]>,
}

impl Index {
    /// Takes members in the order of their hashes.
    pub(super) fn prepare(members: &[Identity]) -> Prepared {
        let hashes = members.iter().map(|member| member.hashes[0]).collect();
        let slots = members.iter().map(|member| member.slot).collect();
        Prepared::keep(members.len(), Self { hashes, slots })
    }

    /// Returns the slot of a member; of several with the same identity, of one of them.
    #[inline]
    pub(super) fn find(&self, identity: u64) -> Option<usize> {
        self.hashes.binary_search(&identity).ok().map(|place| self.slots[place] as usize)
    }
}

impl Table for Index {}
