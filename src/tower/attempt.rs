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
    course: Course,
}

/// How far an attempt has come.
///
/// It is as wide as a word, so that an attempt that moves right after it was made is read as it was written; otherwise the
/// processor waits for that.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
enum Course {
    Readiness,
    Call,
    Ended,
}

#[allow(dead_code, reason = "each dispatcher uses its own part")]
impl<E: Settle> Attempt<E> {
    /// Takes over what was just issued.
    pub(crate) fn new(endpoint: E, ticket: E::Ticket) -> Self {
        Self { endpoint, ticket, course: Course::Readiness }
    }

    pub(crate) fn endpoint(&self) -> &E {
        &self.endpoint
    }

    pub(crate) fn phase(&self) -> Phase {
        if self.course == Course::Readiness { Phase::Readiness } else { Phase::Call }
    }

    /// Says that the service has the request.
    pub(crate) fn called(&mut self) {
        self.course = Course::Call;
    }

    /// Ends the attempt; dropping it afterwards does nothing.
    pub(crate) fn end(&mut self, outcome: Outcome) {
        let phase = self.phase();
        if std::mem::replace(&mut self.course, Course::Ended) != Course::Ended {
            self.endpoint.settle(self.ticket, phase, outcome);
        }
    }

    /// Leaves what the attempt holds to whoever sees to its end instead.
    pub(crate) fn hand_over(&mut self) -> (E, E::Ticket)
    where
        E: Clone,
    {
        self.course = Course::Ended;
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
            .field("phase", &self.phase())
            .finish_non_exhaustive()
    }
}
