//! What observers hear of members beside their health.

use std::fmt;

use super::labels;

/// Says what was said of a member, or became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MemberChange {
    /// An operator has it drain.
    Drain,
    /// An operator excludes it.
    Exclude,
    /// An operator holds its circuit open.
    ForceOpen,
    /// An operator takes back what was said of it.
    Restore,
    /// Its drain is done: its last attempt has ended, or the deadline has passed.
    Drained,
}

impl MemberChange {
    /// Every change.
    pub const ALL: [Self; 5] = [Self::Drain, Self::Exclude, Self::ForceOpen, Self::Restore, Self::Drained];
}

impl fmt::Display for MemberChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(labels::member_change(*self))
    }
}

/// Tells what an operator said of a member, or that its drain is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberEvent<'a> {
    /// The name of the endpoint.
    pub endpoint: &'a str,
    /// What was said of it, or became of it.
    pub change: MemberChange,
}

impl<'a> MemberEvent<'a> {
    /// Tells what was said of an endpoint, or became of it.
    #[must_use]
    pub const fn new(endpoint: &'a str, change: MemberChange) -> Self {
        Self { endpoint, change }
    }
}

/// Tells that the service of a member could not be built, did not connect, or was not ready to take over from the one before.
/// It is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuildEvent<'a> {
    /// The name of the endpoint.
    pub endpoint: &'a str,
    /// How often in a row that has failed by now.
    pub failures: u32,
}

impl<'a> BuildEvent<'a> {
    /// Tells of an endpoint whose service has failed to come about so many times in a row.
    #[must_use]
    pub const fn failed(endpoint: &'a str, failures: u32) -> Self {
        Self { endpoint, failures }
    }
}
