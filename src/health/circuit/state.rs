//! What a circuit is doing.

use std::fmt;
use std::time::Instant;

/// Names the state of a circuit, as it is at the time that was asked about.
///
/// ```text
///             failures in a row reach the threshold
///   +--------+  (and the budget, if any, has a slot)     +------+
///   | Closed |------------------------------------------>| Open |<-----------------+
///   +--------+                                           +------+                  |
///     ^    ^                                                |                      | a probe fails
///     |    |                                                | cooldown elapsed,    |  (cooldown grown),
///     |    |                                                |  first admission     | or the deadline of the round
///     |    |                                                v                      |  passes undecided
///     |    |      probes succeed often enough          +----------+                |  (same cooldown)
///     |    +-------------------------------------------| HalfOpen |----------------+
///     |                                                +----------+
///     | lift         force_open, force_close: from any state
///   +-------------------------+
///   | ForcedOpen ForcedClosed |
///   +-------------------------+
/// ```
///
/// Every arrow starts a new epoch. A result that was admitted in an earlier one is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CircuitState {
    /// Everything is admitted and failures are counted.
    Closed {
        /// Failures since the last success. It stays at the threshold while the budget has no slot.
        failures: u32,
    },
    /// Nothing is admitted before the cooldown ends; the first admission after that is the first probe of a round.
    Open {
        /// When the cooldown ends, which may be past; `None` is never.
        until: Option<Instant>,
    },
    /// As many probes are admitted as there are permits.
    HalfOpen {
        /// Probes under way.
        probes: u32,
        /// Probes that have succeeded since the last failure.
        successes: u32,
        /// When the round ends if nothing is decided; `None` is never.
        until: Option<Instant>,
    },
    /// The operator's word: nothing is admitted until it is lifted.
    ForcedOpen,
    /// The operator's word: everything is admitted, and nothing counted, until it is lifted.
    ForcedClosed,
}

impl fmt::Display for CircuitState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Closed { .. } => "closed",
            Self::Open { .. } => "open",
            Self::HalfOpen { .. } => "half open",
            Self::ForcedOpen => "forced open",
            Self::ForcedClosed => "forced closed",
        })
    }
}
