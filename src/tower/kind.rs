//! What keeps a request from getting a response.

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
