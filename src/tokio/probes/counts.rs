//! What became of probes.

/// Counts how the probes of a [`ProbeDriver`](super::ProbeDriver) came to their ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProbeDriverCounts {
    /// Probes whose answers went into the pool.
    pub answered: u64,
    /// Probes that ended with an error.
    pub failed: u64,
    /// Probes that did not end in time.
    pub timed_out: u64,
    /// Probes that panicked, and draws of targets that did.
    pub panicked: u64,
    /// Probes that were due and not sent, because too many were under way.
    pub skipped: u64,
}
