//! What the user chose, with the types forgotten.

use std::sync::Arc;
use std::time::Duration;

use super::conduct::Conduct;
use super::panic::PanicMode;
use crate::core::policy::Explanation;
use crate::core::{PickError, Policy, Prepare, Prepared, Selection, View};
use crate::tower::RequestContext;

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

/// Everything that a cluster is told once.
pub(super) struct Settings<M, S, R> {
    pub(super) picker: Box<dyn Picker<M, R>>,
    pub(super) conduct: Arc<Conduct<S, R>>,
    pub(super) fail_fast: Duration,
    pub(super) drain_deadline: Duration,
    pub(super) panic: Option<PanicMode>,
}
