//! What a word means at a given time.

use std::time::Instant;

use crate::core::Now;

use super::CircuitRejection;
use super::deadlines::Deadlines;
use super::word::{AtomicWord, Kind, Word};

/// Tells what the circuit does now: a word, seen in the light of its deadlines.
///
/// Nobody need be there when a deadline passes. What follows from it is worked out here by whoever looks, and written
/// down by the next admission or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Closed,
    Open { until: Option<Instant>, elapsed: bool },
    HalfOpen { free: u32, until: Option<Instant> },
    ForcedOpen,
    ForcedClosed,
}

impl Phase {
    /// Reads word and deadlines of one epoch, without a lock.
    pub(super) fn observe(word: &AtomicWord, deadlines: &Deadlines, now: &Now) -> Self {
        let mut seen = word.load();
        loop {
            let phase = Self::of(seen, deadlines, now);
            let after = word.load();
            if after.epoch() == seen.epoch() {
                return phase;
            }
            seen = after;
        }
    }

    /// Reads the deadlines of a word that cannot change meanwhile.
    pub(super) fn of(word: Word, deadlines: &Deadlines, now: &Now) -> Self {
        match word.kind() {
            Kind::Closed => Self::Closed,
            Kind::Open => Self::open(deadlines.turn(word.epoch()), now),
            Kind::HalfOpen => {
                let until = deadlines.turn(word.epoch());
                if has_passed(until, now) {
                    Self::open(deadlines.again(word.epoch()), now)
                } else {
                    Self::HalfOpen { free: word.payload(), until }
                }
            }
            Kind::ForcedOpen => Self::ForcedOpen,
            Kind::ForcedClosed => Self::ForcedClosed,
        }
    }

    fn open(until: Option<Instant>, now: &Now) -> Self {
        Self::Open { until, elapsed: has_passed(until, now) }
    }

    /// Returns why nothing is admitted, if nothing is.
    pub(super) fn rejection(self) -> Option<CircuitRejection> {
        match self {
            Self::Open { until, elapsed: false } => Some(CircuitRejection::Open { until }),
            Self::HalfOpen { free: 0, until } => Some(CircuitRejection::HalfOpen { until }),
            Self::ForcedOpen => Some(CircuitRejection::ForcedOpen),
            _ => None,
        }
    }

    /// Returns when time alone changes the answer.
    pub(super) fn changes_at(self) -> Option<Instant> {
        match self {
            Self::Open { until, elapsed: false } | Self::HalfOpen { until, .. } => until,
            _ => None,
        }
    }
}

pub(super) fn has_passed(deadline: Option<Instant>, now: &Now) -> bool {
    deadline.is_some_and(|deadline| now.has_reached(deadline))
}
