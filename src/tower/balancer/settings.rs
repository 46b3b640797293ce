//! What the user chose, with the types forgotten.

use std::sync::Arc;
use std::time::Duration;

use tower_service::Service;

use super::contain::is_listening;
use super::panic::PanicMode;
use super::repeats::Repeats;
use crate::core::policy::Explanation;
use crate::core::{Outcome, PickError, Policy, Prepare, Prepared, Selection, View};
pub(super) use crate::tower::timer::{AnyTimer, Sleep};
use crate::tower::{Hook, RequestContext};

/// A policy together with the context that gives it its keys.
pub(super) trait Picker<M, R>: Send + Sync {
    fn pick(&self, view: &View<'_, M>, request: &R) -> Result<Selection, PickError>;
    fn explain(&self, view: &View<'_, M>, request: &R) -> Result<Explanation, PickError>;
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

    fn explain(&self, view: &View<'_, M>, request: &R) -> Result<Explanation, PickError> {
        self.context.with_key(request, |key| self.policy.explain_from(view, key))
    }

    fn prepare(&self, view: &View<'_, M>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        Prepare::prepare(&self.policy, view, previous)
    }
}

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

/// Everything that a cluster is told once.
pub(super) struct Settings<M, S, R> {
    pub(super) picker: Box<dyn Picker<M, R>>,
    /// None classifies in the plain way.
    pub(super) classifier: Option<Box<dyn Classify<S, R, Outcome>>>,
    /// None takes no request for unsent.
    pub(super) unsent: Option<Box<dyn Classify<S, R, bool>>>,
    pub(super) timer: Arc<dyn AnyTimer>,
    pub(super) hook: Arc<dyn Hook>,
    /// Whether anybody hears the hook.
    pub(super) is_heard: bool,
    pub(super) attempt_timeout: Option<Duration>,
    pub(super) fail_fast: Duration,
    pub(super) drain_deadline: Duration,
    pub(super) panic: Option<PanicMode>,
    pub(super) repeats: Option<Repeats<R>>,
}

impl<M, S, R> Settings<M, S, R> {
    /// Tells whether anybody wants to hear of the course of attempts.
    #[inline]
    pub(super) fn is_followed(&self) -> bool {
        self.is_heard && is_listening(&*self.hook)
    }
}
