//! The version of a membership.

use std::fmt;

/// Numbers the states of one membership in the order in which they were published.
///
/// Revisions only grow, and nothing but their order means anything. [`Revision::ZERO`] stands before the first
/// publication: the membership is *not yet known*, which is not the same as known to be empty.
///
/// ```
/// use poise::discovery::Revision;
///
/// assert!(Revision::ZERO < Revision::new(1));
/// assert_eq!(Revision::ZERO.next(), Some(Revision::new(1)));
/// assert_eq!(Revision::new(u64::MAX).next(), None);
/// assert_eq!(Revision::new(7).to_string(), "7");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(u64);

impl Revision {
    /// Nothing has been published.
    pub const ZERO: Self = Self(0);

    /// Makes the revision with this number.
    #[must_use]
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// Returns the number.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }

    /// Returns the revision that follows, or nothing after the last one.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(value) => Some(Self(value)),
            None => None,
        }
    }
}

impl From<u64> for Revision {
    fn from(value: u64) -> Self {
        Self(value)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
