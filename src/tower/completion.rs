//! Responses that go on after their head.

use std::fmt;
use std::sync::Arc;

use super::Phase;
use super::attempt::Surroundings;
use super::balancer::{Admitted, Attempt, Endpoint};
use crate::core::{LoadTracker, Now, Outcome};
use crate::health::CircuitTicket;

/// Keeps an attempt open while the rest of its response is on its way.
///
/// It travels in the response: a body keeps it and calls [`finish`](Self::finish) at its end, or when it breaks off. Until
/// then the attempt is in flight, for the load, for limits and for reports. The latency ended with the head already.
///
/// Dropping it, also while a panic unwinds, ends the attempt as cancelled, which is no failure: the reader lost interest.
///
/// A body finishes it once it knows how the response went: at the end of a body of HTTP, with the trailers of gRPC, whose status may be
/// a failure, or with an error. A gRPC body that ends without a status broke off. The [`endpoint`](Self::endpoint) is there to be
/// named in that error, as no [`BalancerError`](super::BalancerError) comes any more; read it before the guard is finished.
///
/// # Health
///
/// The outcome that is given to `finish` is the one of the attempt. A probe of a circuit is the exception: it is decided by the head,
/// so that an endpoint whose responses go on for hours returns as soon as it begins to answer.
#[must_use = "dropping the guard cancels the attempt at once"]
pub struct ResponseGuard {
    open: Option<Box<dyn Open>>,
}

impl ResponseGuard {
    /// Keeps an attempt open that was answered, or nothing if it has ended.
    pub(crate) fn new<S, R, L>(answered: Option<Box<Answered<S, R, L>>>) -> Self
    where
        S: Send + Sync + 'static,
        R: Send + 'static,
        L: LoadTracker<Ticket: Send + 'static> + Send + Sync + 'static,
    {
        Self { open: answered.map(|answered| answered as Box<dyn Open>) }
    }

    /// Ends the attempt: with a success when the response came to its end, with a failure when it broke off.
    pub fn finish(self, outcome: Outcome) {
        if let Some(mut open) = self.open {
            open.finish(outcome);
        }
    }

    /// Returns the name of the endpoint. None for an answer that counts as a failure: its attempt has ended with the head.
    #[must_use]
    pub fn endpoint(&self) -> Option<&str> {
        self.open.as_ref().map(|open| open.endpoint())
    }
}

impl fmt::Debug for ResponseGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseGuard").field("endpoint", &self.endpoint()).finish_non_exhaustive()
    }
}

/// An open attempt, whatever its types.
trait Open: Send {
    fn finish(&mut self, outcome: Outcome);
    fn endpoint(&self) -> &str;
}

/// What an attempt holds of its endpoint after the head of its response.
pub(crate) struct Answered<S, R, L: LoadTracker> {
    endpoint: Arc<Endpoint<S, R, L>>,
    permit: Option<CircuitTicket>,
    ticket: L::Ticket,
    /// When the attempt began, and in how many nanoseconds its head was there.
    started: u64,
    latency: u64,
    ended: bool,
    surroundings: Surroundings,
}

impl<S, R, L: LoadTracker> Answered<S, R, L> {
    /// Tells the load how long the head took, and a probe how it went.
    pub(crate) fn new(attempt: &mut Attempt<S, R, L>, outcome: Outcome) -> Self {
        // Before it is handed over: the clock may be the user's, and until then the attempt sees to its end.
        let now = Now::at(attempt.endpoint().conduct().now());
        let (endpoint, Admitted { permit, ticket, started }, surroundings) = attempt.hand_over();
        let latency = now.nanos_since(started);
        endpoint.respond(ticket, outcome, &now);
        let permit = permit.filter(|permit| {
            let decided = permit.is_probe();
            if decided {
                endpoint.decide(*permit, outcome, &now);
            }
            !decided
        });
        Self { endpoint, permit, ticket, started, latency, ended: false, surroundings }
    }

    fn end(&mut self, outcome: Outcome) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        self.surroundings.run(|| {
            let now = Now::at(self.endpoint.conduct().now());
            self.endpoint.release(self.ticket, &now);
            self.endpoint.ended(
                self.permit,
                Phase::Call,
                outcome,
                (self.started, self.latency),
                &now,
                self.surroundings.is_followed(),
            );
        });
    }
}

impl<S, R, L> Open for Answered<S, R, L>
where
    S: Send + Sync,
    R: Send,
    L: LoadTracker<Ticket: Send> + Send + Sync,
{
    fn finish(&mut self, outcome: Outcome) {
        self.end(outcome);
    }

    fn endpoint(&self) -> &str {
        self.endpoint.name()
    }
}

impl<S, R, L: LoadTracker> Drop for Answered<S, R, L> {
    fn drop(&mut self) {
        self.end(Outcome::Cancelled);
    }
}
