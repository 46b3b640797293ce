//! One attempt, from its admission to its end.

use std::fmt;

use super::Phase;
use crate::core::Outcome;

/// Where an attempt gives back what it was issued.
pub(crate) trait Settle {
    /// What was issued.
    type Ticket: Copy;

    /// Takes it back; called once for each attempt, perhaps while a panic unwinds.
    fn settle(&self, ticket: Self::Ticket, phase: Phase, outcome: Outcome);
}

/// Owns what an attempt holds of its endpoint.
///
/// It ends exactly once, with an outcome or, when it is dropped, also by a panic, as cancelled.
pub(crate) struct Attempt<E: Settle> {
    endpoint: E,
    ticket: E::Ticket,
    phase: Phase,
    ended: bool,
}

#[allow(dead_code, reason = "each dispatcher uses its own part")]
impl<E: Settle> Attempt<E> {
    /// Takes over what was just issued.
    pub(crate) fn new(endpoint: E, ticket: E::Ticket) -> Self {
        Self { endpoint, ticket, phase: Phase::Readiness, ended: false }
    }

    pub(crate) fn endpoint(&self) -> &E {
        &self.endpoint
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// Says that the service has the request.
    pub(crate) fn called(&mut self) {
        self.phase = Phase::Call;
    }

    /// Ends the attempt; dropping it afterwards does nothing.
    pub(crate) fn end(&mut self, outcome: Outcome) {
        if !std::mem::replace(&mut self.ended, true) {
            self.endpoint.settle(self.ticket, self.phase, outcome);
        }
    }

    /// Leaves what the attempt holds to whoever sees to its end instead.
    pub(crate) fn hand_over(&mut self) -> (E, E::Ticket)
    where
        E: Clone,
    {
        self.ended = true;
        (self.endpoint.clone(), self.ticket)
    }
}

impl<E: Settle> Drop for Attempt<E> {
    fn drop(&mut self) {
        self.end(Outcome::Cancelled);
    }
}

impl<E: Settle + fmt::Debug> fmt::Debug for Attempt<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("endpoint", &self.endpoint)
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}
