//! One attempt, from its admission to its end.

use std::fmt;

use super::Phase;
use crate::core::{AttemptScope, Outcome};

/// Where an attempt gives back what it was issued.
pub(crate) trait Settle {
    /// What was issued.
    type Ticket: Copy;

    /// Takes it back; called once for each attempt, perhaps while a panic unwinds. Whoever was told of its start
    /// [follows](Attempt::follow) it.
    fn settle(&self, ticket: Self::Ticket, phase: Phase, outcome: Outcome, is_followed: bool);
}

/// Owns what an attempt holds of its endpoint.
///
/// It ends exactly once, with an outcome or, when it is dropped, also by a panic, as cancelled.
pub(crate) struct Attempt<E: Settle> {
    endpoint: E,
    ticket: E::Ticket,
    phase: Phase,
    ended: bool,
    surroundings: Surroundings,
}

#[allow(dead_code, reason = "each dispatcher uses its own part")]
impl<E: Settle> Attempt<E> {
    /// Takes over what was just issued.
    pub(crate) fn new(endpoint: E, ticket: E::Ticket) -> Self {
        Self {
            endpoint,
            ticket,
            phase: Phase::Readiness,
            ended: false,
            surroundings: Surroundings::default(),
        }
    }

    /// Says that somebody was told that it started.
    pub(crate) fn follow(&mut self) {
        self.surroundings.is_followed = true;
    }

    /// Surrounds what the attempt runs from here on, if it is followed and the first time that this is called.
    #[inline]
    pub(crate) fn surround(&mut self, scope: impl FnOnce(&E) -> Option<Box<dyn AttemptScope>>) {
        if self.surroundings.is_followed && !self.surroundings.is_known {
            self.surroundings.is_known = true;
            self.surroundings.scope = scope(&self.endpoint).map(|scope| Box::new(Scope(scope)));
        }
    }

    /// Runs code of the attempt.
    #[inline]
    pub(crate) fn run<T>(&self, code: impl FnOnce() -> T) -> T {
        self.surroundings.run(code)
    }

    pub(crate) fn endpoint(&self) -> &E {
        &self.endpoint
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// Says that the service has the request, which was handed to others so many times before.
    pub(crate) fn called(&mut self, resends: u32) {
        self.phase = Phase::Call;
        if let Some(scope) = &self.surroundings.scope {
            scope.0.called(resends);
        }
    }

    /// Ends the attempt.
    pub(crate) fn end(mut self, outcome: Outcome) {
        self.settle(outcome);
    }

    /// Ends the attempt as failed; dropping it afterwards does nothing.
    pub(crate) fn charge(&mut self) {
        self.settle(Outcome::Failure);
    }

    /// Leaves what the attempt holds to whoever sees to its end instead.
    pub(crate) fn hand_over(mut self) -> (E, E::Ticket, Surroundings)
    where
        E: Clone,
    {
        self.ended = true;
        (self.endpoint.clone(), self.ticket, std::mem::take(&mut self.surroundings))
    }

    fn settle(&mut self, outcome: Outcome) {
        if !std::mem::replace(&mut self.ended, true) {
            let is_followed = self.surroundings.is_followed;
            self.run(|| self.endpoint.settle(self.ticket, self.phase, outcome, is_followed));
        }
    }
}

impl<E: Settle> Drop for Attempt<E> {
    fn drop(&mut self) {
        self.settle(Outcome::Cancelled);
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

/// What is around an attempt, small, as most attempts have nothing there.
#[derive(Default)]
pub(crate) struct Surroundings {
    scope: Option<Box<Scope>>,
    is_known: bool,
    pub(crate) is_followed: bool,
}

struct Scope(Box<dyn AttemptScope>);

impl Surroundings {
    /// Runs code of the attempt.
    #[inline]
    pub(crate) fn run<T>(&self, code: impl FnOnce() -> T) -> T {
        match &self.scope {
            None => code(),
            Some(scope) => run_within(&*scope.0, code),
        }
    }
}

#[cold]
fn run_within<T>(scope: &dyn AttemptScope, code: impl FnOnce() -> T) -> T {
    let (mut code, mut result) = (Some(code), None);
    scope.run(&mut || {
        if let Some(code) = code.take() {
            result = Some(code());
        }
    });
    match (result, code) {
        (Some(result), _) => result,
        // A scope that does not run it does not keep the attempt from going on.
        (None, Some(code)) => code(),
        (None, None) => panic!("the scope of an attempt kept a panic for itself"),
    }
}
