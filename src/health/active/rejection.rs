//! Why there is nothing to probe.

use std::error::Error;
use std::fmt;
use std::time::Instant;

/// Says why no probe was reserved. Nothing is held or counted by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeRejection {
    /// The next probe is not due yet.
    NotDue {
        /// When it is; `None` is never.
        at: Option<Instant>,
    },
    /// A probe is under way.
    UnderWay {
        /// When it lapses and the next one is due; `None` is never.
        until: Option<Instant>,
    },
    /// The state is forced, so that no probe could decide anything.
    Forced,
}

impl ProbeRejection {
    /// Returns the next instant at which asking again may succeed, if time alone can bring it.
    #[must_use]
    pub const fn retry_at(self) -> Option<Instant> {
        match self {
            Self::NotDue { at: next } | Self::UnderWay { until: next } => next,
            Self::Forced => None,
        }
    }
}

impl fmt::Display for ProbeRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::NotDue { .. } => "the next probe is not due yet",
            Self::UnderWay { .. } => "a probe is under way",
            Self::Forced => "the state is forced",
        })
    }
}

impl Error for ProbeRejection {}
