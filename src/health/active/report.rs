//! What active health tells of an endpoint.

use std::time::Instant;

use super::ProbeState;

/// Describes one endpoint at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActiveHealthReport {
    /// What is known of it.
    pub state: ProbeState,
    /// The epoch of that state. It grows with each transition, so of two different ones the larger is the later.
    pub epoch: u64,
    /// Since when that has been so; `None` is since the beginning.
    pub since: Option<Instant>,
    /// Successes in a row, up to the last result; zero after a failure.
    pub successes: u32,
    /// Failures in a row, up to the last result; zero after a success.
    pub failures: u32,
    /// Whether a probe is under way.
    pub is_under_way: bool,
    /// When the next probe is due; `None` is never, or not before a forced state is lifted.
    pub next_due: Option<Instant>,
    /// How many probes there were.
    pub counts: ProbeCounts,
}

/// Counts the probes of one endpoint.
///
/// Each that was reserved is under way or ended in one of the five ways that follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProbeCounts {
    /// Probes that were reserved.
    pub reserved: u64,
    /// Probes that found the endpoint healthy.
    pub healthy: u64,
    /// Probes that found it unhealthy.
    pub unhealthy: u64,
    /// Probes that were cancelled or dropped.
    pub cancelled: u64,
    /// Probes that had not ended when the next one was due.
    pub lapsed: u64,
    /// Probes that were under way when a state was forced.
    pub voided: u64,
    /// Ends of probes that had lapsed or were void, which changed nothing.
    pub ignored: u64,
}
