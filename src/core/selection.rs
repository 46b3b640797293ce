//! What a policy answers.

use std::error::Error;
use std::fmt;

use super::Exclusions;

/// Names the candidate that a policy chose, by its position in the slice that it was shown.
///
/// A policy of the user's own makes one with [`Selection::new`]. Whoever dispatches checks it against the same view with
/// [`View::validate`](crate::core::View::validate) before anything is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a selection does nothing until something is dispatched to it"]
pub struct Selection {
    index: usize,
    panic: bool,
}

impl Selection {
    /// Selects the candidate at `index`.
    #[inline]
    pub const fn new(index: usize) -> Self {
        Self { index, panic: false }
    }

    /// Says that the choice was made in panic mode: the verdicts of health were overridden, and whoever dispatches
    /// forces its way through them.
    #[inline]
    pub const fn in_panic(self, panic: bool) -> Self {
        Self { panic, ..self }
    }

    /// Tells whether the choice was made in panic mode.
    #[must_use]
    #[inline]
    pub const fn is_panic(self) -> bool {
        self.panic
    }

    /// Returns the position in the slice of candidates.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.index
    }
}

/// Reports that a policy named a candidate that its view does not offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidSelection {
    /// There is no such position.
    OutOfRange {
        /// The position that was named.
        index: usize,
        /// The number of candidates.
        candidates: usize,
    },
    /// The candidate is excluded under the view.
    Excluded {
        /// The position that was named.
        index: usize,
        /// Every reason.
        exclusions: Exclusions,
    },
}

impl fmt::Display for InvalidSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { index, candidates } => {
                write!(f, "the policy chose position {index} of {candidates} candidates")
            }
            Self::Excluded { index, exclusions } => {
                write!(f, "the policy chose position {index}, which is excluded: {exclusions}")
            }
        }
    }
}

impl Error for InvalidSelection {}
