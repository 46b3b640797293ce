//! A request that waits for somebody to become eligible.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use super::admission::{Lease, Obstacle};
use super::dispatch::Dispatch;
use super::handle::Handle;
use super::tried::Tried;
use crate::core::{Exclusion, LoadTracker};
use crate::sync::wakers::WakerKey;
use crate::tower::BalancerErrorKind;

/// Keeps a task registered with a cluster, for as long as it waits.
pub(super) struct Registration<S, R, L: LoadTracker> {
    cluster: Arc<dyn Dispatch<S, R, L>>,
    key: WakerKey,
    wants_place: bool,
}

impl<S, R, L: LoadTracker> Registration<S, R, L> {
    pub(super) fn new(cluster: Arc<dyn Dispatch<S, R, L>>) -> Self {
        Self { cluster, key: WakerKey::default(), wants_place: false }
    }

    /// Has the task of `cx` woken by the next change that could help. The caller looks again afterwards.
    pub(super) fn register(&mut self, cx: &Context<'_>) {
        self.cluster.register(&mut self.key, cx.waker());
    }

    /// Has the task woken by places that come free too, and tells whether that is new. The caller looks again afterwards.
    pub(super) fn want_place(&mut self) -> bool {
        let is_new = !std::mem::replace(&mut self.wants_place, true);
        if is_new {
            self.cluster.want_place();
        }
        is_new
    }
}

impl<S, R, L: LoadTracker> Drop for Registration<S, R, L> {
    fn drop(&mut self) {
        self.cluster.deregister(&mut self.key);
        if self.wants_place {
            self.cluster.unwant_place();
        }
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
    deadline: Option<Instant>,
}

impl<S, R, L: LoadTracker> Waiting<S, R, L> {
    pub(super) fn new(handle: Arc<Handle<S, R, L>>) -> Self {
        let registration = Registration::new(Arc::clone(handle.cluster()));
        let deadline = handle.cluster().waits_until();
        Self { handle, registration, deadline }
    }

    pub(super) fn poll_pick(
        &mut self,
        cx: &Context<'_>,
        request: &R,
        tried: &Tried<S, R, L>,
    ) -> Poll<Result<Lease<S, R, L>, Obstacle>> {
        self.registration.register(cx);
        let cluster = self.handle.cluster();
        let may_wait = || self.deadline.is_none_or(|deadline| cluster.expect(deadline));
        let mut picked = tried.pick(&**cluster, request);
        // Whoever was full may not be any more, and only who wants a place hears of it.
        if let Err(obstacle) = &picked
            && matches!(&**obstacle, BalancerErrorKind::NoEligible(counts) if counts.of(Exclusion::Capacity) > 0)
            && self.registration.want_place()
        {
            picked = tried.pick(&**cluster, request);
        }
        match picked {
            Ok(lease) => Poll::Ready(Ok(lease)),
            Err(obstacle) if cluster.should_wait(&obstacle) && may_wait() => Poll::Pending,
            Err(obstacle) => Poll::Ready(Err(obstacle)),
        }
    }
}
