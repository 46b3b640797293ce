//! Why a policy chose nobody.

use std::error::Error;
use std::fmt;

use super::ExclusionCounts;

/// Tells precisely why there was no selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PickError {
    /// There are no candidates.
    Empty,
    /// There are candidates, and each is excluded for at least one reason.
    NoEligible(ExclusionCounts),
    /// The weights add up to more than the policy can count.
    WeightOverflow,
    /// Two candidates have the same identity, so a keyed policy cannot tell them apart.
    DuplicateIdentity {
        /// The position of the first one.
        first: usize,
        /// The position of the second one.
        second: usize,
    },
    /// There are more candidates than the structure of the policy has places.
    CapacityExceeded {
        /// The number of candidates.
        candidates: usize,
        /// The number of places.
        places: usize,
    },
    /// The topology contradicts itself, such as a member without a level.
    InconsistentTopology,
    /// So few members are healthy that the policy was told to serve nobody.
    PanicRejected(ExclusionCounts),
}

impl fmt::Display for PickError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("there are no candidates"),
            Self::NoEligible(counts) => write!(f, "no candidate is eligible ({counts})"),
            Self::WeightOverflow => f.write_str("the weights add up to more than can be counted"),
            Self::DuplicateIdentity { first, second } => {
                write!(f, "the candidates at positions {first} and {second} have the same identity")
            }
            Self::CapacityExceeded { candidates, places } => {
                write!(f, "{candidates} candidates do not fit into {places} places")
            }
            Self::InconsistentTopology => f.write_str("the topology contradicts itself"),
            Self::PanicRejected(counts) => write!(f, "too few candidates are healthy ({counts})"),
        }
    }
}

impl Error for PickError {}
