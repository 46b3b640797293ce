//! A request that waits for somebody to become eligible.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::balancer::Handle;
use super::cluster::{Dispatch, Lease};
use crate::core::LoadTracker;
use crate::core::wakers::WakerKey;
use crate::tower::BalancerErrorKind;

/// Keeps a task registered with a cluster, for as long as it waits.
pub(super) struct Registration<S, R, L: LoadTracker> {
    cluster: Arc<dyn Dispatch<S, R, L>>,
    key: WakerKey,
}

impl<S, R, L: LoadTracker> Registration<S, R, L> {
    pub(super) fn new(cluster: Arc<dyn Dispatch<S, R, L>>) -> Self {
        Self { cluster, key: WakerKey::default() }
    }

    /// Has the task of `cx` woken by the next change that could help. The caller looks again afterwards.
    pub(super) fn register(&mut self, cx: &Context<'_>) {
        self.cluster.register(&mut self.key, cx.waker());
    }
}

impl<S, R, L: LoadTracker> Drop for Registration<S, R, L> {
    fn drop(&mut self) {
        self.cluster.deregister(&mut self.key);
    }
}

impl<S, R, L: LoadTracker> fmt::Debug for Registration<S, R, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("key", &self.key).finish_non_exhaustive()
    }
}

/// A request without an endpoint.
///
/// It keeps the balancer open: the handle of the caller may be gone by the time somebody is eligible.
pub(super) struct Waiting<S, R, L: LoadTracker> {
    handle: Arc<Handle<S, R, L>>,
    registration: Registration<S, R, L>,
}

impl<S, R, L: LoadTracker> Waiting<S, R, L> {
    pub(super) fn new(handle: Arc<Handle<S, R, L>>) -> Self {
        let registration = Registration::new(Arc::clone(handle.cluster()));
        Self { handle, registration }
    }

    pub(super) fn poll_pick(
        &mut self,
        cx: &Context<'_>,
        request: &R,
    ) -> Poll<Result<Lease<S, R, L>, BalancerErrorKind>> {
        self.registration.register(cx);
        match self.handle.cluster().pick(request, &[]) {
            Ok(lease) => Poll::Ready(Ok(lease)),
            Err(obstacle) if self.handle.cluster().should_wait(&obstacle) => Poll::Pending,
            Err(obstacle) => Poll::Ready(Err(obstacle)),
        }
    }
}
