//! How far an attempt had come.

use std::fmt;

/// Says how far an attempt had come when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// The service was being made ready; no request had been handed to it.
    Readiness,
    /// The service had the request.
    Call,
}

impl Phase {
    /// Every phase, in the order in which an attempt goes through them.
    pub const ALL: [Self; 2] = [Self::Readiness, Self::Call];
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Readiness => "readiness",
            Self::Call => "call",
        })
    }
}
