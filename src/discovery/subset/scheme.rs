//! What a scheme sees of a membership, and what it answers.

use std::hash::Hash;
use std::sync::Arc;

use crate::core::policy::rendezvous::identity::hash_of;

/// Chooses the members that one client connects to.
///
/// A scheme is a pure function: it may depend on its own configuration and on what it is given, and on nothing else, or
/// processes will disagree and connections move without need.
///
/// ```
/// use poise::discovery::subset::{Contender, Subset};
///
/// /// Connects to whoever has the lowest identity.
/// struct Lowest;
///
/// impl Subset for Lowest {
///     fn choose(&self, contenders: &[Contender]) -> Vec<usize> {
///         let lowest = (0..contenders.len()).min_by_key(|position| contenders[*position].identity());
///         lowest.into_iter().collect()
///     }
/// }
///
/// let contenders = ["a", "b", "c"].map(|name| Contender::new(name));
/// assert_eq!(Lowest.choose(&contenders).len(), 1);
/// ```
pub trait Subset {
    /// Returns the positions of those in the subset, in any order.
    ///
    /// Positions that occur twice count once, and those of nobody do not count.
    fn choose(&self, contenders: &[Contender]) -> Vec<usize>;
}

impl<S: Subset + ?Sized> Subset for &S {
    fn choose(&self, contenders: &[Contender]) -> Vec<usize> {
        (**self).choose(contenders)
    }
}

impl<S: Subset + ?Sized> Subset for Box<S> {
    fn choose(&self, contenders: &[Contender]) -> Vec<usize> {
        (**self).choose(contenders)
    }
}

impl<S: Subset + ?Sized> Subset for Arc<S> {
    fn choose(&self, contenders: &[Contender]) -> Vec<usize> {
        (**self).choose(contenders)
    }
}

/// Holds what counts of a member: the hash of its key, and whether it drains.
///
/// Two members in 2^64 have the same hash. Schemes of this crate then go by their order in the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contender {
    identity: u64,
    draining: bool,
}

impl Contender {
    /// Makes a contender of the key of a member.
    ///
    /// It is hashed in the way of [`Rendezvous`](crate::core::policy::Rendezvous): by
    /// [`StableBuildHasher`](crate::core::StableBuildHasher) with the seed `0x1DE7717E`.
    #[must_use]
    pub fn new<K: Hash + ?Sized>(key: &K) -> Self {
        Self { identity: hash_of(key), draining: false }
    }

    /// Says that the member drains, so that it costs no place.
    #[must_use]
    pub fn draining(self) -> Self {
        Self { draining: true, ..self }
    }

    /// Returns the hash of the key.
    #[must_use]
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Tells whether the member drains.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.draining
    }
}
