//! What is known of an endpoint.

use std::fmt;

use crate::sync::{AtomicU64, Ordering};

/// Names what active health holds of an endpoint.
///
/// ```text
///                  successes in a row                 failures in a row
///                  reach the threshold                reach the threshold
///   +---------+   (the first, with fast start)  +---------+        +-----------+
///   | Unknown |-------------------------------->| Healthy |------->| Unhealthy |
///   +---------+                                 +---------+        +-----------+
///     ^     |                                        ^  successes in a row |  ^
///     |     |                                        |  reach the threshold|  |
///     |     |                                        +---------------------+  |
///     |     +-----------------------------------------------------------------+
///     |                  failures in a row reach the threshold
///     |
///     | lift             force_healthy, force_unhealthy: from any state
///   +-------------------------------+
///   | ForcedHealthy ForcedUnhealthy |
///   +-------------------------------+
/// ```
///
/// Every arrow starts a new epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProbeState {
    /// No probe has decided anything yet, or since a forced state was lifted.
    Unknown,
    /// Probes found it healthy.
    Healthy,
    /// Probes found it unhealthy.
    Unhealthy,
    /// The operator's word: it is healthy, and is not probed, until that is lifted.
    ForcedHealthy,
    /// The operator's word: it is unhealthy, and is not probed, until that is lifted.
    ForcedUnhealthy,
}

impl ProbeState {
    /// Tells whether an operator has set it.
    #[must_use]
    pub const fn is_forced(self) -> bool {
        matches!(self, Self::ForcedHealthy | Self::ForcedUnhealthy)
    }
}

impl fmt::Display for ProbeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unknown => "unknown",
            Self::Healthy => "healthy",
            Self::Unhealthy => "unhealthy",
            Self::ForcedHealthy => "forced healthy",
            Self::ForcedUnhealthy => "forced unhealthy",
        })
    }
}

/// Shares state and epoch in one word, readable without a lock and written under that of the ledger.
///
/// An epoch has 61 bits: a transition takes a lock, say 20 ns, so they do not come round within a thousand years.
#[derive(Debug)]
pub(super) struct StateWord(AtomicU64);

impl StateWord {
    const STATE_BITS: u32 = 3;

    pub(super) fn new() -> Self {
        Self(AtomicU64::new(ProbeState::Unknown as u64))
    }

    /// Acquire: whoever sees a state sees what was done before it was entered.
    pub(super) fn load(&self) -> (ProbeState, u64) {
        let word = self.0.load(Ordering::Acquire);
        let state = match word & 0b111 {
            0 => ProbeState::Unknown,
            1 => ProbeState::Healthy,
            2 => ProbeState::Unhealthy,
            3 => ProbeState::ForcedHealthy,
            _ => ProbeState::ForcedUnhealthy,
        };
        (state, word >> Self::STATE_BITS)
    }

    /// Enters a state in a new epoch. Release: the other half of [`load`](Self::load).
    pub(super) fn enter(&self, state: ProbeState) {
        let epoch = self.load().1 + 1;
        self.0.store(epoch << Self::STATE_BITS | state as u64, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{ProbeState, StateWord};

    #[test]
    fn states_and_epochs_come_back_as_they_were_put_in() {
        let word = StateWord::new();
        assert_eq!(word.load(), (ProbeState::Unknown, 0));
        let states = [
            ProbeState::Healthy,
            ProbeState::Unhealthy,
            ProbeState::ForcedHealthy,
            ProbeState::ForcedUnhealthy,
            ProbeState::Unknown,
        ];
        for (state, epoch) in states.into_iter().zip(1..) {
            word.enter(state);
            assert_eq!(word.load(), (state, epoch));
        }
    }
}
