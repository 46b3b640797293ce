//! What can be wrong with a change or a publication.

use std::error::Error;
use std::fmt;

use super::{Revision, Snapshot};

/// Reports why a directory refused a call; nothing has changed then.
///
/// Where it names a change, it does so by the position in the batch, which is `0` for a call that makes one change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DirectoryError {
    /// A change names a key that is not a member.
    UnknownKey {
        /// The position of the change in its batch.
        change: usize,
    },
    /// A drain was to be finished that had not begun.
    NotDraining {
        /// The position of the change in its batch.
        change: usize,
    },
    /// A full set names one key twice.
    DuplicateKey(DuplicateKey),
    /// There is no revision after the current one.
    RevisionsExhausted,
}

impl DirectoryError {
    /// Returns the position of the change that failed, where it was one.
    ///
    /// For a duplicate this is the second place of the key.
    #[must_use]
    pub fn change(&self) -> Option<usize> {
        match self {
            Self::UnknownKey { change } | Self::NotDraining { change } => Some(*change),
            Self::DuplicateKey(duplicate) => Some(duplicate.second()),
            Self::RevisionsExhausted => None,
        }
    }
}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey { change } => write!(f, "there is no member with this key (change {change})"),
            Self::NotDraining { change } => {
                write!(f, "the drain of this member has not begun: remove it first (change {change})")
            }
            Self::DuplicateKey(duplicate) => duplicate.fmt(f),
            Self::RevisionsExhausted => f.write_str("there is no further revision"),
        }
    }
}

impl Error for DirectoryError {}

impl From<DuplicateKey> for DirectoryError {
    fn from(duplicate: DuplicateKey) -> Self {
        Self::DuplicateKey(duplicate)
    }
}

/// Reports a set that names one key twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DuplicateKey {
    first: usize,
    second: usize,
}

impl DuplicateKey {
    pub(super) fn new(first: usize, second: usize) -> Self {
        Self { first, second }
    }

    /// Returns the first position of the key in the set.
    #[must_use]
    pub fn first(&self) -> usize {
        self.first
    }

    /// Returns the next position of the key in the set.
    #[must_use]
    pub fn second(&self) -> usize {
        self.second
    }
}

impl fmt::Display for DuplicateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "members {} and {} have the same key", self.first, self.second)
    }
}

impl Error for DuplicateKey {}

/// Refuses a snapshot that is not newer than what was published before, and gives it back.
pub struct StaleSnapshot<K, B> {
    snapshot: Snapshot<K, B>,
    published: Revision,
}

impl<K, B> StaleSnapshot<K, B> {
    pub(super) fn new(snapshot: Snapshot<K, B>, published: Revision) -> Self {
        Self { snapshot, published }
    }

    /// Returns the revision that readers go on seeing.
    #[must_use]
    pub fn published(&self) -> Revision {
        self.published
    }

    /// Returns the snapshot that was refused.
    #[must_use]
    pub fn snapshot(&self) -> &Snapshot<K, B> {
        &self.snapshot
    }

    /// Gives the refused snapshot back.
    #[must_use]
    pub fn into_snapshot(self) -> Snapshot<K, B> {
        self.snapshot
    }
}

impl<K, B> fmt::Debug for StaleSnapshot<K, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaleSnapshot")
            .field("snapshot", &self.snapshot)
            .field("published", &self.published)
            .finish()
    }
}

impl<K, B> fmt::Display for StaleSnapshot<K, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (refused, published) = (self.snapshot.revision(), self.published);
        write!(f, "revision {refused} is not newer than revision {published}")
    }
}

impl<K, B> Error for StaleSnapshot<K, B> {}
