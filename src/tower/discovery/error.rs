//! Why a snapshot did not take effect.

use std::error::Error;
use std::fmt;

use crate::core::PickError;
use crate::discovery::Revision;

/// Reports that a snapshot did not take effect, so that everything is as it was.
///
/// `E` is the error of the [factory](super::EndpointFactory).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReconcileError<E> {
    /// A newer snapshot is in effect.
    StaleRevision {
        /// The revision that was offered.
        offered: Revision,
        /// The revision that is in effect.
        applied: Revision,
    },
    /// Two endpoints of the balance have the same identity, so that it is not clear which of them a member is.
    DuplicateEndpoint {
        /// The position of the first one.
        first: usize,
        /// The position of the second one.
        second: usize,
    },
    /// Two members of the snapshot have the same key.
    DuplicateMember {
        /// The position of the first one.
        first: usize,
        /// The position of the second one.
        second: usize,
    },
    /// The factory could not make the endpoint of a member.
    Factory {
        /// The position of the member in the snapshot.
        member: usize,
        /// Why not.
        source: E,
    },
    /// The factory panicked over a member, or the key of a member did when it was hashed or compared.
    Panicked {
        /// The position of the member in the snapshot, if it was the factory.
        member: Option<usize>,
    },
    /// The policy cannot work on these members, or panicked over them, which is an
    /// [inconsistent topology](PickError::InconsistentTopology).
    Policy(PickError),
}

impl<E> fmt::Display for ReconcileError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StaleRevision { offered, applied } => {
                write!(f, "revision {offered} is older than revision {applied}, which is in effect")
            }
            Self::DuplicateEndpoint { first, second } => {
                write!(f, "the endpoints at positions {first} and {second} have the same identity")
            }
            Self::DuplicateMember { first, second } => {
                write!(f, "the members at positions {first} and {second} have the same key")
            }
            Self::Factory { member, .. } => {
                write!(f, "the endpoint of the member at position {member} cannot be made")
            }
            Self::Panicked { member: Some(member) } => {
                write!(f, "the factory panicked over the member at position {member}")
            }
            Self::Panicked { member: None } => f.write_str("the key of a member panicked"),
            Self::Policy(error) => write!(f, "the policy refuses the members: {error}"),
        }
    }
}

impl<E: Error + 'static> Error for ReconcileError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Factory { source, .. } => Some(source),
            Self::Policy(error) => Some(error),
            _ => None,
        }
    }
}
