//! Why a circuit admits nothing.

use std::error::Error;
use std::fmt;
use std::time::Instant;

/// Says why a circuit did not admit an attempt. Nothing is held or counted by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CircuitRejection {
    /// It is open.
    Open {
        /// When the cooldown ends; `None` is never.
        until: Option<Instant>,
    },
    /// It is half open and every permit is taken.
    HalfOpen {
        /// When the round ends if nothing is decided; `None` is never.
        until: Option<Instant>,
    },
    /// It is forced open until that is lifted.
    ForcedOpen,
}

impl fmt::Display for CircuitRejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Open { .. } => "the circuit is open",
            Self::HalfOpen { .. } => "the circuit is half open and every permit is taken",
            Self::ForcedOpen => "the circuit is forced open",
        })
    }
}

impl Error for CircuitRejection {}
