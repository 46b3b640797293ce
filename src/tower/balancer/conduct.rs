//! What attempts go by.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tower_service::Service;

use super::contain::{attempt, is_listening, scope, tell};
use super::repeats::Repeats;
use crate::core::{AttemptScope, Outcome};
pub(super) use crate::tower::timer::{AnyTimer, Sleep};
use crate::tower::{Event, Hook};

/// Says how an answer of a service is to be understood: how it counts, or whether anybody had the request.
pub(super) trait Classify<S, R, T>: Send + Sync {
    fn classify(&self, answer: Result<&S::Response, &S::Error>) -> T
    where
        S: Service<R>;
}

/// Classifies by a function.
pub(super) struct ClassifyBy<F>(pub(super) F);

impl<S, R, T, F> Classify<S, R, T> for ClassifyBy<F>
where
    S: Service<R>,
    F: Fn(Result<&S::Response, &S::Error>) -> T + Send + Sync,
{
    fn classify(&self, answer: Result<&S::Response, &S::Error>) -> T {
        (self.0)(answer)
    }
}

/// What the user chose that has nothing to do with keys, backends and policies: requests and endpoints share it, so that
/// nobody has to ask the [cluster](super::dispatch::Dispatch), whose type is forgotten.
pub(crate) struct Conduct<S, R> {
    /// None classifies in the plain way.
    pub(super) classifier: Option<Box<dyn Classify<S, R, Outcome>>>,
    /// None takes no request for unsent.
    pub(super) unsent: Option<Box<dyn Classify<S, R, bool>>>,
    pub(super) timer: Arc<dyn AnyTimer>,
    pub(super) hook: Arc<dyn Hook>,
    /// Whether anybody hears the hook.
    pub(super) is_heard: bool,
    pub(super) attempt_timeout: Option<Duration>,
    pub(super) repeats: Option<Repeats<R>>,
}

impl<S, R> Conduct<S, R> {
    #[inline]
    pub(crate) fn now(&self) -> Instant {
        self.timer.now()
    }

    pub(super) fn tell(&self, event: &Event<'_>) {
        tell(&*self.hook, event);
    }

    /// Runs `code`; a panic in it is told and gives nothing.
    pub(super) fn contain<T>(&self, what: &'static str, code: impl FnOnce() -> T) -> Option<T> {
        let result = attempt(code);
        if result.is_none() {
            self.tell(&Event::Contained { what });
        }
        result
    }

    /// Drops what is the user's, one after another: two panics at the same time would abort the process.
    pub(super) fn discard<T>(&self, items: impl IntoIterator<Item = T>) {
        for item in items {
            let _dropped = self.contain("drop", || drop(item));
        }
    }

    /// Tells whether anybody wants to hear of the course of attempts.
    #[inline]
    pub(super) fn is_followed(&self) -> bool {
        self.is_heard && is_listening(&*self.hook)
    }

    /// Returns what is to surround an attempt.
    pub(super) fn scope(&self, endpoint: &str) -> Option<Box<dyn AttemptScope>> {
        scope(&*self.hook, endpoint)
    }

    #[inline]
    pub(super) fn classify(&self, answer: Result<&S::Response, &S::Error>) -> Outcome
    where
        S: Service<R>,
    {
        let Some(classifier) = &self.classifier else { return Outcome::of(answer) };
        // Whoever cannot say how it went says nothing.
        self.contain("classifier", || classifier.classify(answer)).unwrap_or(Outcome::Cancelled)
    }

    /// Tells whether an error says that the request reached nobody.
    pub(super) fn is_unsent(&self, error: &S::Error) -> bool
    where
        S: Service<R>,
    {
        self.unsent.as_ref().is_some_and(|unsent| {
            // Whoever cannot say that nobody had the request does not say so.
            self.contain("unsent", || unsent.classify(Err(error))).unwrap_or(false)
        })
    }

    /// Says that an attempt ended that took so many nanoseconds.
    #[inline]
    pub(super) fn ended(&self, outcome: Outcome, elapsed: u64) {
        if let Some(repeats) = &self.repeats {
            repeats.time(outcome, elapsed);
        }
    }

    /// Starts to wait for as long as an attempt may take, if there is a limit.
    pub(super) fn attempt_limit(&self) -> Option<Sleep> {
        let timeout = self.attempt_timeout?;
        let deadline = self.now().checked_add(timeout)?;
        Some(self.timer.sleep_until(deadline))
    }
}
