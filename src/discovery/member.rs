//! One member of a membership.

use std::fmt;
use std::sync::Arc;

use crate::core::{Attributes, Candidate, Locality, Status, Weight};

/// Holds one member: its key, its backend and what the membership says of it.
///
/// The *allocation* of the backend is the generation of the member. A record with the same key and the same allocation
/// is the same running thing, whatever its attributes became; a new allocation under the same key is a new one, also
/// when its value compares equal. [`same_generation`](Self::same_generation) asks just that.
///
/// As a [`Candidate`] the member has the key as its identity, the backend as its data and no load, and takes status,
/// weight, priority and locality from [`attributes`](Self::attributes). A backend that is a candidate itself is not
/// asked: its own attributes are those with which it was added, not those of today.
///
/// A clone copies neither key nor backend.
///
/// ```
/// use poise::core::{Attributes, Candidate, Now, Status};
/// use poise::discovery::Discovered;
/// use std::sync::Arc;
///
/// let member = Discovered::new("a", Arc::new("10.0.0.1:80"), Attributes::default());
/// let draining = member.clone().with_attributes(Attributes::default().with_status(Status::Draining));
/// assert_eq!(*draining.id(), "a");
/// assert!(draining.same_generation(&member));
/// assert!(!draining.is_eligible(&Now::lazy()));
/// ```
pub struct Discovered<K, B> {
    key: Arc<K>,
    backend: Arc<B>,
    attributes: Attributes,
}

impl<K, B> Discovered<K, B> {
    /// Makes a member of its parts.
    pub fn new(key: K, backend: Arc<B>, attributes: Attributes) -> Self {
        Self { key: Arc::new(key), backend, attributes }
    }

    /// Returns the key.
    #[must_use]
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Returns the backend; its allocation tells generations apart.
    #[must_use]
    pub fn backend(&self) -> &Arc<B> {
        &self.backend
    }

    /// Returns what the membership says of this member.
    #[must_use]
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// Tells whether `other` holds the same allocation.
    #[must_use]
    pub fn same_generation(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.backend, &other.backend)
    }

    /// Sets the attributes and keeps key and allocation.
    #[must_use]
    pub fn with_attributes(self, attributes: Attributes) -> Self {
        Self { attributes, ..self }
    }

    /// Sets the backend, and with it the generation, and keeps key and attributes.
    #[must_use]
    pub fn with_backend(self, backend: Arc<B>) -> Self {
        Self { backend, ..self }
    }

    pub(super) fn shared_key(&self) -> &Arc<K> {
        &self.key
    }

    pub(super) fn is_draining(&self) -> bool {
        self.attributes.status() == Status::Draining
    }
}

impl<K, B> Candidate for Discovered<K, B> {
    type Id = K;
    type Data = B;
    type Load = ();

    fn id(&self) -> &K {
        &self.key
    }

    fn data(&self) -> &B {
        &self.backend
    }

    fn load(&self) -> &() {
        &()
    }

    fn weight(&self) -> Weight {
        self.attributes.weight()
    }

    fn status(&self) -> Status {
        self.attributes.status()
    }

    fn priority(&self) -> u32 {
        self.attributes.priority()
    }

    fn locality(&self) -> Option<&Locality> {
        self.attributes.locality()
    }

    fn attributes(&self) -> Attributes {
        self.attributes.clone()
    }
}

impl<K, B> Clone for Discovered<K, B> {
    fn clone(&self) -> Self {
        Self {
            key: Arc::clone(&self.key),
            backend: Arc::clone(&self.backend),
            attributes: self.attributes.clone(),
        }
    }
}

impl<K: fmt::Debug, B> fmt::Debug for Discovered<K, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Discovered")
            .field("key", &self.key)
            .field("attributes", &self.attributes)
            .finish_non_exhaustive()
    }
}
