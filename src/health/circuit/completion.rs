//! What a result did to a circuit.

/// Says what the end of an attempt did to its circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Completion {
    /// The result was counted and changed no state.
    Counted,
    /// The result opened the circuit, from closed or from half open.
    Tripped,
    /// The result closed the circuit, which had been open. A load tracker should forget what it had learnt before.
    Closed,
    /// The failure reached the threshold, but the budget has no slot left: the circuit stays closed and asks again at
    /// the next failure.
    Withheld,
    /// The attempt was given up: its permit, if it held one, is free again and nothing is decided.
    Cancelled,
    /// The attempt belongs to an earlier epoch, was admitted past the circuit or under a forced state, or has ended
    /// before: nothing happened.
    Ignored,
}

/// Says which attempts made a circuit open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TripCause {
    /// As many in a row as the circuit bears failed while it was closed.
    Failures,
    /// One that a half-open circuit let through as a probe failed.
    Probe,
}

impl Completion {
    /// Tells whether the circuit took notice of the result.
    #[must_use]
    pub const fn is_applied(self) -> bool {
        !matches!(self, Self::Ignored | Self::Cancelled)
    }
}
