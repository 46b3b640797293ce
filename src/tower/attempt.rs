//! One attempt, from its admission to its end.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use super::Phase;
use super::balancer::Endpoint;
use super::completion::Answered;
use crate::core::{LoadTracker, Now, Outcome};
use crate::health::CircuitTicket;

/// Owns what an attempt holds of its endpoint: the permit of the circuit and the ticket of the load.
///
/// It ends exactly once, with an outcome or, when it is dropped, also by a panic, as cancelled.
pub(crate) struct Attempt<S, R, L: LoadTracker> {
    endpoint: Arc<Endpoint<S, R, L>>,
    permit: Option<CircuitTicket>,
    ticket: L::Ticket,
    started: Instant,
    phase: Phase,
    ended: bool,
}

impl<S, R, L: LoadTracker> Attempt<S, R, L> {
    /// Takes over a permit and a ticket that were just issued.
    pub(crate) fn new(
        endpoint: Arc<Endpoint<S, R, L>>,
        permit: Option<CircuitTicket>,
        ticket: L::Ticket,
        now: &Now,
    ) -> Self {
        Self { endpoint, permit, ticket, started: now.instant(), phase: Phase::Readiness, ended: false }
    }

    pub(crate) fn endpoint(&self) -> &Arc<Endpoint<S, R, L>> {
        &self.endpoint
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// Says that the service has the request.
    pub(crate) fn called(&mut self) {
        self.phase = Phase::Call;
    }

    /// Ends the attempt.
    pub(crate) fn end(mut self, outcome: Outcome) {
        self.settle(outcome);
    }

    /// Ends the attempt as failed; dropping it afterwards does nothing.
    pub(crate) fn charge(&mut self) {
        self.settle(Outcome::Failure);
    }

    /// Ends the part of the attempt that lasts until the head of its response.
    pub(crate) fn answered(mut self, outcome: Outcome) -> Answered<S, R, L> {
        self.ended = true;
        let now = Now::at(self.endpoint.now());
        let head = (outcome, now.since(self.started));
        Answered::new(Arc::clone(&self.endpoint), self.permit, self.ticket, head, &now)
    }

    fn settle(&mut self, outcome: Outcome) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let now = Now::at(self.endpoint.now());
        self.endpoint.give_back(self.ticket, outcome, &now);
        self.endpoint.ended(self.permit, self.phase, outcome, now.since(self.started), &now);
    }
}

impl<S, R, L: LoadTracker> Drop for Attempt<S, R, L> {
    fn drop(&mut self) {
        self.settle(Outcome::Cancelled);
    }
}

impl<S, R, L: LoadTracker> fmt::Debug for Attempt<S, R, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("endpoint", &self.endpoint.name())
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}
