//! What can be wrong with a scheme.

use std::error::Error;
use std::fmt;
use std::num::NonZeroUsize;

/// Reports a scheme that would give nobody a subset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SubsetError {
    /// A subset of no members was asked for.
    NoMembers,
    /// Lots are not of 1, 2, 4, 8 … clients.
    NoPowerOfTwo {
        /// The size of a lot that was asked for.
        lot_size: u64,
    },
}

impl fmt::Display for SubsetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMembers => f.write_str("a subset of 0 members: it must have at least 1"),
            Self::NoPowerOfTwo { lot_size } => {
                write!(f, "lots of {lot_size} clients: it must be a power of two")
            }
        }
    }
}

impl Error for SubsetError {}

pub(super) fn at_least_one(size: usize) -> Result<NonZeroUsize, SubsetError> {
    NonZeroUsize::new(size).ok_or(SubsetError::NoMembers)
}
