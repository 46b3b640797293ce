//! What keeps a request from getting a response.

use std::fmt;

use crate::core::{ExclusionCounts, InvalidSelection, PickError};

/// Says what kind of obstacle a request met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BalancerErrorKind {
    /// Discovery has not said yet who the members are.
    Undiscovered,
    /// Discovery says that there are no members.
    NoMembers,
    /// There are members, and each is excluded.
    NoEligible(ExclusionCounts),
    /// Too few members are healthy, and requests were to fail then, by `PanicPolicy::FailFast`.
    PanicRejected(ExclusionCounts),
    /// Every member that could serve is at its limit of concurrent work.
    AtCapacity(ExclusionCounts),
    /// The policy cannot choose among these members.
    Policy(PickError),
    /// The policy named a member that it was not offered.
    InvalidSelection(InvalidSelection),
    /// The attempt took longer than it may.
    Deadline,
    /// The endpoint failed.
    Endpoint,
    /// The balancer was closed.
    Closed,
}

impl fmt::Display for BalancerErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Undiscovered => f.write_str("the members are not known yet"),
            Self::NoMembers => f.write_str("there are no members"),
            Self::NoEligible(counts) => write!(f, "no member is eligible ({counts})"),
            Self::PanicRejected(counts) => write!(f, "too few members are healthy ({counts})"),
            Self::AtCapacity(counts) => write!(f, "every eligible member is at capacity ({counts})"),
            Self::Policy(error) => write!(f, "the policy cannot choose: {error}"),
            Self::InvalidSelection(error) => error.fmt(f),
            Self::Deadline => f.write_str("the attempt took too long"),
            Self::Endpoint => f.write_str("the endpoint failed"),
            Self::Closed => f.write_str("the balancer is closed"),
        }
    }
}
