//! What may happen to a membership, and what did.

use std::fmt;

use super::Revision;
use crate::core::{Attributes, Candidate};

/// Describes one change of a batch for [`Directory::apply`](super::Directory::apply).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change<K, B> {
    /// Adds a member, or gives one a new generation.
    Upsert {
        /// Whom.
        key: K,
        /// What it is from now on; always a new allocation.
        backend: B,
        /// What is said of it from now on.
        attributes: Attributes,
    },
    /// Sets the attributes of a member, which stays the generation that it is.
    Amend {
        /// Whom.
        key: K,
        /// What is said of it from now on.
        attributes: Attributes,
    },
    /// Makes a member drain.
    Remove {
        /// Whom.
        key: K,
    },
    /// Lets a member go that drains.
    FinishDrain {
        /// Whom.
        key: K,
    },
}

impl<K, B> Change<K, B> {
    /// Makes an [`Upsert`](Change::Upsert) with the attributes that the backend has itself.
    pub fn upsert(key: K, backend: B) -> Self
    where
        B: Candidate,
    {
        let attributes = backend.attributes();
        Self::Upsert { key, backend, attributes }
    }

    /// Returns the key that the change is about.
    pub fn key(&self) -> &K {
        match self {
            Self::Upsert { key, .. }
            | Self::Amend { key, .. }
            | Self::Remove { key }
            | Self::FinishDrain { key } => key,
        }
    }
}

/// Tells what a change did to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// It is a new member.
    Added,
    /// It is a new generation of a member.
    Replaced,
    /// It is the same generation with other attributes.
    Amended,
    /// It drains from now on.
    Draining,
    /// It is gone.
    Removed,
    /// It is what it was.
    Unchanged,
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Added => "added",
            Self::Replaced => "replaced",
            Self::Amended => "amended",
            Self::Draining => "draining",
            Self::Removed => "removed",
            Self::Unchanged => "unchanged",
        })
    }
}

/// Reports what a batch did and at which revision the directory stands now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    revision: Revision,
    effects: Box<[Effect]>,
}

impl Applied {
    pub(super) fn new(revision: Revision, effects: Vec<Effect>) -> Self {
        Self { revision, effects: effects.into() }
    }

    /// Returns the revision that holds all of the batch.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Returns what happened, in the order of the batch.
    #[must_use]
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// Tells whether anything but [`Effect::Unchanged`] happened.
    #[must_use]
    pub fn is_effective(&self) -> bool {
        self.effects.iter().any(|effect| *effect != Effect::Unchanged)
    }

    /// Counts how often `effect` happened.
    #[must_use]
    pub fn count(&self, effect: Effect) -> usize {
        self.effects.iter().filter(|happened| **happened == effect).count()
    }

    /// Counts the new members.
    #[must_use]
    pub fn added(&self) -> usize {
        self.count(Effect::Added)
    }

    /// Counts the new generations.
    #[must_use]
    pub fn replaced(&self) -> usize {
        self.count(Effect::Replaced)
    }

    /// Counts the members that only got other attributes.
    #[must_use]
    pub fn amended(&self) -> usize {
        self.count(Effect::Amended)
    }

    /// Counts the members that began to drain because they were removed.
    #[must_use]
    pub fn draining(&self) -> usize {
        self.count(Effect::Draining)
    }

    /// Counts the members that are gone.
    #[must_use]
    pub fn removed(&self) -> usize {
        self.count(Effect::Removed)
    }

    /// Counts what changed nothing.
    #[must_use]
    pub fn unchanged(&self) -> usize {
        self.count(Effect::Unchanged)
    }
}
