//! How probes went.

use std::fmt;
use std::time::Duration;

use crate::health::{ProbeCompletion, ProbeOutcome};

/// Says how a probe came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProbeEnd {
    /// It answered.
    Answered(ProbeOutcome),
    /// Its time was over, and it was dropped.
    TimedOut,
    /// It panicked. That says nothing of the endpoint, so the probe counts as cancelled.
    Panicked,
}

impl fmt::Display for ProbeEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered(outcome) => outcome.fmt(f),
            Self::TimedOut => f.pad("timed out"),
            Self::Panicked => f.pad("panicked"),
        }
    }
}

/// Describes one probe that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProbeReport {
    /// How it came to its end.
    pub end: ProbeEnd,
    /// What that did to the endpoint.
    pub completion: ProbeCompletion,
    /// The epoch in which it was reserved.
    pub epoch: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// Counts how probes came to their ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProbeEndCounts {
    /// Probes that answered.
    pub answered: u64,
    /// Probes whose time was over.
    pub timed_out: u64,
    /// Probes that panicked.
    pub panicked: u64,
    /// Panics of those who were told of probes.
    pub listeners_panicked: u64,
}

impl ProbeEndCounts {
    pub(super) fn count(&mut self, end: ProbeEnd) {
        match end {
            ProbeEnd::Answered(_) => self.answered += 1,
            ProbeEnd::TimedOut => self.timed_out += 1,
            ProbeEnd::Panicked => self.panicked += 1,
        }
    }
}
