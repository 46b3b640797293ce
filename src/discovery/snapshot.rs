//! One immutable state of a membership.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::hash::Hash;
use std::slice;
use std::sync::Arc;

use super::{Discovered, DuplicateKey, Revision};

/// Where each key stands; snapshots with the same keys in the same order share it.
pub(super) type Index<K> = HashMap<Arc<K>, usize>;

/// Holds one complete, immutable state of a membership.
///
/// Members stand in the order in which they were added, and no two have the same key. A clone is another handle to the
/// same state and costs one reference count; a state lives as long as somebody holds it.
///
/// ```
/// use poise::core::Attributes;
/// use poise::discovery::{Discovered, Revision, Snapshot};
/// use std::sync::Arc;
///
/// let members = ["a", "b"].map(|key| Discovered::new(key, Arc::new(()), Attributes::default()));
/// let snapshot = Snapshot::new(Revision::new(1), members)?;
/// assert_eq!(snapshot.len(), 2);
/// assert_eq!(*snapshot.members()[1].key(), "b");
/// assert!(snapshot.get(&"c").is_none());
/// # Ok::<(), poise::discovery::DuplicateKey>(())
/// ```
pub struct Snapshot<K, B>(Arc<State<K, B>>);

struct State<K, B> {
    revision: Revision,
    members: Box<[Discovered<K, B>]>,
    index: Arc<Index<K>>,
}

impl<K: Eq + Hash, B> Snapshot<K, B> {
    /// Makes a state of its members, in their order.
    ///
    /// # Errors
    ///
    /// [`DuplicateKey`] when two members have the same key.
    ///
    /// # Complexity
    ///
    /// O(n).
    pub fn new<M>(revision: Revision, members: M) -> Result<Self, DuplicateKey>
    where
        M: IntoIterator<Item = Discovered<K, B>>,
    {
        let members: Box<[_]> = members.into_iter().collect();
        let mut index = Index::with_capacity(members.len());
        for (position, member) in members.iter().enumerate() {
            match index.entry(Arc::clone(member.shared_key())) {
                Entry::Occupied(first) => return Err(DuplicateKey::new(*first.get(), position)),
                Entry::Vacant(free) => free.insert(position),
            };
        }
        Ok(Self::from_parts(revision, members, Arc::new(index)))
    }

    /// Makes the same revision of some of the members, which have different keys.
    pub(super) fn with_members(&self, members: impl Iterator<Item = Discovered<K, B>>) -> Self {
        let members: Box<[_]> = members.collect();
        let keys = members.iter().map(|member| Arc::clone(member.shared_key()));
        let index = keys.zip(0..).collect();
        Self::from_parts(self.revision(), members, Arc::new(index))
    }

    /// Returns the member with this key.
    ///
    /// # Complexity
    ///
    /// O(1).
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&Discovered<K, B>> {
        self.0.members.get(self.position(key)?)
    }

    /// Returns where the member with this key stands in [`members`](Self::members).
    ///
    /// # Complexity
    ///
    /// O(1).
    #[must_use]
    pub fn position(&self, key: &K) -> Option<usize> {
        self.0.index.get(key).copied()
    }
}

impl<K, B> Snapshot<K, B> {
    /// Makes the state that stands before the first publication: [`Revision::ZERO`] and no members.
    #[must_use]
    pub fn unknown() -> Self {
        Self::from_parts(Revision::ZERO, Box::default(), Arc::default())
    }

    /// Returns the revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.0.revision
    }

    /// Returns the members in their order, those that drain among them.
    #[must_use]
    pub fn members(&self) -> &[Discovered<K, B>] {
        &self.0.members
    }

    /// Goes through the members in their order.
    pub fn iter(&self) -> slice::Iter<'_, Discovered<K, B>> {
        self.0.members.iter()
    }

    /// Returns how many members there are, those that drain among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.members.len()
    }

    /// Tells whether there are no members.
    ///
    /// At [`Revision::ZERO`] this means that nothing is known yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.members.is_empty()
    }

    pub(super) fn from_parts(
        revision: Revision,
        members: Box<[Discovered<K, B>]>,
        index: Arc<Index<K>>,
    ) -> Self {
        Self(Arc::new(State { revision, members, index }))
    }

    pub(super) fn index(&self) -> &Arc<Index<K>> {
        &self.0.index
    }
}

impl<'a, K, B> IntoIterator for &'a Snapshot<K, B> {
    type Item = &'a Discovered<K, B>;
    type IntoIter = slice::Iter<'a, Discovered<K, B>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K, B> Clone for Snapshot<K, B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, B> Default for Snapshot<K, B> {
    fn default() -> Self {
        Self::unknown()
    }
}

/// Shows revision and size; [`Snapshot::members`] shows the members.
impl<K, B> fmt::Debug for Snapshot<K, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("revision", &self.revision())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
