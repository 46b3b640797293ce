//! One attempt, from its admission to its end.

use std::fmt;

use super::Phase;
use crate::core::{AttemptScope, Outcome};

/// Where an attempt gives back what it was issued.
pub(crate) trait Settle {
    /// What was issued.
    type Ticket: Copy;

    /// Takes it back; called once for each attempt, perhaps while a panic unwinds. Whoever was told of its start
    /// [follows](Attempt::new) it.
    fn settle(&self, ticket: Self::Ticket, phase: Phase, outcome: Outcome, is_followed: bool);
}

/// Owns what an attempt holds of its endpoint.
///
/// It ends exactly once, with an outcome or, when it is dropped, also by a panic, as cancelled.
pub(crate) struct Attempt<E: Settle> {
    endpoint: E,
    ticket: E::Ticket,
    course: Course,
    surroundings: Surroundings,
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
    /// Takes over what was just issued. It is followed when somebody was told that it started.
    #[inline]
    pub(crate) fn new(endpoint: E, ticket: E::Ticket, is_followed: bool) -> Self {
        let following = if is_followed { Following::Followed } else { Following::Unfollowed };
        let surroundings = Surroundings { scope: None, following };
        Self { endpoint, ticket, course: Course::Readiness, surroundings }
    }

    /// Surrounds what the attempt runs from here on, if it is followed and the first time that this is called.
    #[inline]
    pub(crate) fn surround(&mut self, scope: impl FnOnce(&E) -> Option<Box<dyn AttemptScope>>) {
        if self.surroundings.following == Following::Followed {
            self.surroundings.following = Following::Surrounded;
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
        if self.course == Course::Readiness { Phase::Readiness } else { Phase::Call }
    }

    /// Says that the service has the request, which was handed to others so many times before.
    pub(crate) fn called(&mut self, resends: u32) {
        self.course = Course::Call;
        if let Some(scope) = &self.surroundings.scope {
            scope.0.called(resends);
        }
    }

    /// Ends the attempt; dropping it afterwards does nothing.
    #[inline]
    pub(crate) fn end(&mut self, outcome: Outcome) {
        let phase = self.phase();
        if std::mem::replace(&mut self.course, Course::Ended) == Course::Ended {
            return;
        }
        match &self.surroundings.scope {
            None => self.endpoint.settle(self.ticket, phase, outcome, self.surroundings.is_followed()),
            Some(scope) => run_within(&*scope.0, || {
                self.endpoint.settle(self.ticket, phase, outcome, self.surroundings.is_followed());
            }),
        }
    }

    #[cold]
    fn cancel(&mut self) {
        self.end(Outcome::Cancelled);
    }

    /// Leaves what the attempt holds to whoever sees to its end instead.
    pub(crate) fn hand_over(&mut self) -> (E, E::Ticket, Surroundings)
    where
        E: Clone,
    {
        self.course = Course::Ended;
        (self.endpoint.clone(), self.ticket, std::mem::take(&mut self.surroundings))
    }
}

impl<E: Settle> Drop for Attempt<E> {
    #[inline]
    fn drop(&mut self) {
        if self.course != Course::Ended {
            self.cancel();
        }
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

/// What is around an attempt, small, as most attempts have nothing there.
#[derive(Default)]
pub(crate) struct Surroundings {
    scope: Option<Box<Scope>>,
    following: Following,
}

/// Whether somebody was told of the start of an attempt, and asked what is to surround it; as wide as [`Course`], and for the
/// same reason.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(u64)]
enum Following {
    #[default]
    Unfollowed,
    Followed,
    Surrounded,
}

struct Scope(Box<dyn AttemptScope>);

impl Surroundings {
    /// Tells whether somebody was told that the attempt started.
    pub(crate) fn is_followed(&self) -> bool {
        self.following != Following::Unfollowed
    }

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
