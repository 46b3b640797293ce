//! What the user chose, with the types forgotten.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tower_service::Service;

use crate::core::{Outcome, PickError, Policy, Prepare, Prepared, Selection, View};
use crate::tower::{Hook, RequestContext, Timer};

/// A timer whose type is forgotten. Only requests with a limit of time pay for it, with one allocation.
pub(super) trait AnyTimer: Send + Sync {
    fn now(&self) -> Instant;
    fn sleep_until(&self, deadline: Instant) -> Sleep;
}

/// A wait of a timer whose type is forgotten.
pub(super) type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<T: Timer> AnyTimer for T {
    fn now(&self) -> Instant {
        Timer::now(self)
    }

    fn sleep_until(&self, deadline: Instant) -> Sleep {
        Box::pin(Timer::sleep_until(self, deadline))
    }
}

/// A policy together with the context that gives it its keys.
pub(super) trait Picker<M, R>: Send + Sync {
    fn pick(&self, view: &View<'_, M>, request: &R) -> Result<Selection, PickError>;
    fn prepare(&self, view: &View<'_, M>, previous: Option<&Prepared>) -> Result<Prepared, PickError>;
}

pub(super) struct KeyedPolicy<P, X> {
    pub(super) policy: P,
    pub(super) context: X,
}

impl<M, R, P, X> Picker<M, R> for KeyedPolicy<P, X>
where
    P: Policy<M, X::Key> + Send + Sync,
    X: RequestContext<R> + Send + Sync,
{
    fn pick(&self, view: &View<'_, M>, request: &R) -> Result<Selection, PickError> {
        self.context.with_key(request, |key| self.policy.pick_from(view, key))
    }

    fn prepare(&self, view: &View<'_, M>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        Prepare::prepare(&self.policy, view, previous)
    }
}

/// Says how an answer of a service is to be understood.
pub(super) trait Classify<S, R>: Send + Sync {
    fn classify(&self, answer: Result<&S::Response, &S::Error>) -> Outcome
    where
        S: Service<R>;
}

/// Classifies by a function.
pub(super) struct ClassifyBy<F>(pub(super) F);

impl<S, R, F> Classify<S, R> for ClassifyBy<F>
where
    S: Service<R>,
    F: Fn(Result<&S::Response, &S::Error>) -> Outcome + Send + Sync,
{
    fn classify(&self, answer: Result<&S::Response, &S::Error>) -> Outcome {
        (self.0)(answer)
    }
}

/// Classifies in the plain way: `Ok` is a success.
pub(super) struct ClassifyByResult;

impl<S, R> Classify<S, R> for ClassifyByResult {
    fn classify(&self, answer: Result<&S::Response, &S::Error>) -> Outcome
    where
        S: Service<R>,
    {
        Outcome::of(answer)
    }
}

/// How requests are tried again.
pub(super) struct Retries<R> {
    pub(super) max_attempts: u32,
    /// Only who asks for retries needs requests that can be cloned.
    pub(super) clone: fn(&R) -> R,
}

/// Everything that a cluster is told once.
pub(super) struct Settings<M, S, R> {
    pub(super) picker: Box<dyn Picker<M, R>>,
    pub(super) classifier: Box<dyn Classify<S, R>>,
    pub(super) timer: Arc<dyn AnyTimer>,
    pub(super) hook: Arc<dyn Hook>,
    pub(super) attempt_timeout: Option<Duration>,
    pub(super) fail_fast: Duration,
    pub(super) drain_deadline: Duration,
    pub(super) retries: Option<Retries<R>>,
}
