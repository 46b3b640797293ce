//! What the policy with bounded loads decides.

use crate::core::Selection;

/// Tells whom [`BoundedLoadRendezvous`](super::BoundedLoadRendezvous) chose, and why not the owner of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a decision does nothing until something is dispatched to its selection"]
#[non_exhaustive]
pub struct BoundedDecision {
    /// The candidate.
    pub selection: Selection,
    /// Who would have been chosen if loads were not bounded.
    pub owner: Selection,
    /// Whether the owner had no room, so that the key went to the next one in its order that has.
    pub spilled: bool,
    /// The load of the selected candidate, without this request.
    pub load: u64,
    /// The most that its load may be, with this request.
    pub cap: u64,
}
