//! A request whose endpoint is being made ready.

use std::sync::Arc;
use std::task::{Context, Poll};

use tower_service::Service;

use super::admission::Lease;
use super::dispatch::Dispatch;
use super::tried::Tried;
use super::waiting::Registration;
use crate::core::LoadTracker;
use crate::tower::attempt::Attempt;
use crate::tower::{BalancerErrorKind, BoxError};

/// An endpoint that could not be made ready.
pub(super) struct Unready {
    pub(super) endpoint: Arc<str>,
    pub(super) source: BoxError,
}

/// Makes an endpoint ready; while that takes its time, one more beside it. The first that is ready is called, and what the
/// other held is given back.
pub(super) struct Readying<S, R, L: LoadTracker> {
    first: Lease<S, R, L>,
    beside: Option<Lease<S, R, L>>,
    registration: Option<Registration<S, R, L>>,
    /// The changes of the cluster that had been seen when nobody could be found to stand beside.
    alone_at: Option<u64>,
    /// Whether the first is another one than it was when this was last asked.
    restarted: bool,
}

impl<S, R, L> Readying<S, R, L>
where
    S: Service<R, Error: Into<BoxError>>,
    L: LoadTracker,
{
    pub(super) fn new(lease: Lease<S, R, L>) -> Self {
        Self { first: lease, beside: None, registration: None, alone_at: None, restarted: false }
    }

    /// Returns the lease whose service is ready. An endpoint that fails is charged, joins `tried`, and is replaced by another
    /// one, as long as there is one.
    pub(super) fn poll_ready(
        &mut self,
        cx: &mut Context<'_>,
        request: &R,
        tried: &mut Tried<S, R, L>,
    ) -> Poll<Result<(), Unready>> {
        loop {
            match self.first.service.poll_ready(cx) {
                Poll::Ready(Ok(())) => return Poll::Ready(Ok(())),
                Poll::Ready(Err(error)) => self.replace_first(error.into(), request, tried)?,
                Poll::Pending => {
                    self.register(cx);
                    if is_retired(&self.first) && self.leave_first(request, tried) {
                        continue;
                    }
                    match self.poll_beside(cx, request, tried) {
                        Poll::Ready(true) => return Poll::Ready(Ok(())),
                        Poll::Ready(false) => {}
                        Poll::Pending => return Poll::Pending,
                    }
                }
            }
        }
    }

    /// Has the task woken by the next change, also while there are two: one of them may cease to be a member.
    fn register(&mut self, cx: &Context<'_>) {
        let home = self.first.attempt.endpoint().home();
        self.registration.get_or_insert_with(|| Registration::new(Arc::clone(home))).register(cx);
    }

    /// Tells whether another attempt has become the first since this was last asked; its time starts anew.
    pub(super) fn take_restart(&mut self) -> bool {
        std::mem::take(&mut self.restarted)
    }

    pub(super) fn home(&self) -> &Arc<dyn Dispatch<S, R, L>> {
        self.first.attempt.endpoint().home()
    }

    /// Returns the lease that [`poll_ready`](Self::poll_ready) has found ready.
    pub(super) fn into_ready(self) -> Lease<S, R, L> {
        self.first
    }

    /// Returns the attempt that has been waited for the longest; the other one is cancelled.
    pub(super) fn into_first(self) -> Attempt<S, R, L> {
        self.first.attempt
    }

    /// Makes the one beside the first, or picks another.
    fn replace_first(
        &mut self,
        source: BoxError,
        request: &R,
        tried: &mut Tried<S, R, L>,
    ) -> Result<(), Unready> {
        let endpoint = Arc::clone(self.first.attempt.endpoint());
        self.first.attempt.charge();
        tried.push(&endpoint);
        let next = match self.beside.take() {
            Some(beside) => Some(beside),
            None => tried.pick(&**endpoint.home(), request).ok(),
        };
        match next {
            Some(next) => {
                self.first = next;
                self.alone_at = None;
                self.restarted = true;
                Ok(())
            }
            None => Err(Unready { endpoint: Arc::clone(endpoint.name()), source }),
        }
    }

    /// Leaves an endpoint that is no member any more, if there is another one.
    fn leave_first(&mut self, request: &R, tried: &Tried<S, R, L>) -> bool {
        let next = match self.beside.take() {
            Some(beside) => Some(beside),
            None => tried.pick(&**self.home(), request).ok(),
        };
        self.restarted |= next.is_some();
        next.map(|next| self.first = next).is_some()
    }

    /// Polls the one beside, and picks one when there is none. Answers whether it is ready, and then it is the first; not
    /// ready at once means that the situation has changed.
    fn poll_beside(&mut self, cx: &mut Context<'_>, request: &R, tried: &mut Tried<S, R, L>) -> Poll<bool> {
        drop(self.beside.take_if(|beside| is_retired(beside)));
        let Some(beside) = &mut self.beside else { return self.poll_pick_beside(request, tried) };
        match beside.service.poll_ready(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => {
                if let Some(beside) = self.beside.take() {
                    self.first = beside;
                    self.restarted = true;
                }
                Poll::Ready(true)
            }
            Poll::Ready(Err(_)) => {
                if let Some(mut beside) = self.beside.take() {
                    beside.attempt.charge();
                    tried.push(beside.attempt.endpoint());
                }
                self.alone_at = None;
                Poll::Ready(false)
            }
        }
    }

    fn poll_pick_beside(&mut self, request: &R, tried: &mut Tried<S, R, L>) -> Poll<bool> {
        let home = self.first.attempt.endpoint().home();
        let changes = home.changes();
        if self.alone_at == Some(changes) {
            return Poll::Pending;
        }
        tried.push(self.first.attempt.endpoint());
        let mut picked = tried.pick_strictly(&**home, request);
        if matches!(picked, Err(BalancerErrorKind::AtCapacity(_)))
            && self.registration.as_mut().is_some_and(Registration::want_place)
        {
            picked = tried.pick_strictly(&**home, request);
        }
        self.beside = picked.ok();
        tried.pop();
        if self.beside.is_some() {
            return Poll::Ready(false);
        }
        self.alone_at = Some(changes);
        Poll::Pending
    }
}

/// Tells whether the endpoint of a lease is no member any more.
fn is_retired<S, R, L: LoadTracker>(lease: &Lease<S, R, L>) -> bool {
    lease.attempt.endpoint().is_retired()
}
