//! Who asks, and how often.

use std::time::Duration;

use super::chance::Chance;
use super::clock::{Nanos, at_least_one, nanos};

/// Describes when requests start.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Clients {
    /// An open loop: requests start at equal distances, whatever becomes of those before.
    Constant {
        /// How many start per second.
        per_second: f64,
    },
    /// An open loop: requests start independently of each other.
    Poisson {
        /// How many start per second on average.
        per_second: f64,
    },
    /// A closed loop: so many callers, each of which has one request at a time.
    Closed {
        /// How many callers there are.
        callers: u32,
        /// How long each waits between an end and the next start.
        pause: Duration,
    },
}

const SECOND: f64 = 1e9;

impl Clients {
    /// Returns how many requests start at once.
    pub(super) fn at_start(self) -> u32 {
        match self {
            Self::Constant { .. } | Self::Poisson { .. } => 1,
            Self::Closed { callers, .. } => callers,
        }
    }

    /// Returns when the next request starts after one has started.
    pub(super) fn after_start(self, chance: &Chance) -> Option<Nanos> {
        match self {
            Self::Constant { per_second } => Some(at_least_one(SECOND / per_second)),
            Self::Poisson { per_second } => Some(at_least_one(SECOND / per_second * chance.exponential())),
            Self::Closed { .. } => None,
        }
    }

    /// Returns when the next request starts after one has ended.
    pub(super) fn after_end(self) -> Option<Nanos> {
        match self {
            Self::Constant { .. } | Self::Poisson { .. } => None,
            Self::Closed { pause, .. } => Some(nanos(pause).max(1)),
        }
    }
}
