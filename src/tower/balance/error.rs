//! Why a balance has no response.

use std::error::Error;
use std::fmt;

use crate::core::{ExclusionCounts, InvalidSelection, PickError};
use crate::tower::BalancerErrorKind;

/// Reports that a request to a [`Balance`](super::Balance) got no response, and why.
///
/// `E` is the error of the services. It is the only one that comes from a service: all others mean that none was called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BalanceError<E> {
    /// There are no endpoints.
    NoMembers,
    /// There are endpoints, and each is excluded or not ready.
    NoEligible(ExclusionCounts),
    /// Every endpoint that could serve is at its limit of concurrent work.
    AtCapacity(ExclusionCounts),
    /// The policy cannot choose among these endpoints.
    Policy(PickError),
    /// The policy named an endpoint that it was not offered: there is no such position, it is excluded, or it is not
    /// ready.
    InvalidSelection(InvalidSelection),
    /// The endpoint that was called failed.
    Endpoint(E),
}

impl<E> BalanceError<E> {
    /// Returns the kind of obstacle, in the words of the turnkey balancer.
    #[must_use]
    pub fn kind(&self) -> BalancerErrorKind {
        match self {
            Self::NoMembers => BalancerErrorKind::NoMembers,
            Self::NoEligible(counts) => BalancerErrorKind::NoEligible(*counts),
            Self::AtCapacity(counts) => BalancerErrorKind::AtCapacity(*counts),
            Self::Policy(error) => BalancerErrorKind::Policy(*error),
            Self::InvalidSelection(error) => BalancerErrorKind::InvalidSelection(*error),
            Self::Endpoint(_) => BalancerErrorKind::Endpoint,
        }
    }

    /// Tells whether no endpoint has had the request and another try may find one: it is safe to make it again, whatever it
    /// does. A policy that cannot choose, or that names whom it was not offered, will hardly do better.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::NoMembers | Self::NoEligible(_) | Self::AtCapacity(_))
    }

    /// Returns the error of the endpoint, if one was called.
    #[must_use]
    pub fn into_endpoint(self) -> Option<E> {
        match self {
            Self::Endpoint(error) => Some(error),
            _ => None,
        }
    }
}

impl<E> fmt::Display for BalanceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

impl<E: Error + 'static> Error for BalanceError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Endpoint(error) => Some(error),
            _ => None,
        }
    }
}
