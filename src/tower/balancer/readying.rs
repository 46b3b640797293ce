//! A request whose endpoint is being made ready.

use std::sync::Arc;
use std::task::{Context, Poll};

use tower_service::Service;

use super::admission::Lease;
use super::endpoint::{Attempt, Endpoint};
use super::tried::Tried;
use super::waiting::Registration;
use crate::core::{LoadTracker, Outcome};
use crate::tower::{BalancerErrorKind, BoxError};

/// What a request has gone through so far, in all of its attempts.
pub(super) struct Progress<S, R, L: LoadTracker> {
    /// The endpoints that it is not sent to as long as there are others.
    pub(super) tried: Tried<S, R, L>,
    /// How often it was handed to an endpoint or ran out of time before.
    pub(super) sent: u32,
    /// How often it is certain afterwards that nobody has had it.
    pub(super) unsent: u32,
    /// How many attempts there were, those included whose endpoint did not become ready.
    pub(super) made: u32,
    /// Whether the attempt that is answered is to last until the response ends.
    pub(super) keeps_open: bool,
}

impl<S, R, L: LoadTracker> Progress<S, R, L> {
    pub(super) const fn new(tried: Tried<S, R, L>) -> Self {
        Self { tried, sent: 0, unsent: 0, made: 0, keeps_open: false }
    }

    /// Tells whether somebody may have had the request.
    pub(super) const fn is_handed(&self) -> bool {
        self.sent > self.unsent
    }

    /// Says that nobody has had the request one of the times that it was sent.
    pub(super) fn count_unsent(&mut self) {
        self.unsent = self.unsent.saturating_add(1);
    }
}

/// An endpoint that could not be made ready.
pub(super) struct Unready {
    pub(super) endpoint: Arc<str>,
    pub(super) source: BoxError,
}

/// Makes the endpoint of an attempt ready; while that takes its time, one more beside it. The first that is ready is called,
/// and what the other held is given back.
///
/// The attempt stays where it is, with whoever calls: it is replaced as a whole when another one becomes the first.
pub(super) struct Readying<S, R, L: LoadTracker> {
    service: S,
    /// Whether the first is another one than it was when this was last asked.
    restarted: bool,
    /// Apart, as most services are ready when they are asked for the first time.
    wait: Option<Box<Wait<S, R, L>>>,
}

/// What is needed while the first is not ready.
struct Wait<S, R, L: LoadTracker> {
    beside: Option<Lease<S, R, L>>,
    registration: Registration<S, R, L>,
    /// The changes of the cluster that had been seen when nobody could be found to stand beside.
    alone_at: Option<u64>,
}

impl<S, R, L> Readying<S, R, L>
where
    S: Service<R, Error: Into<BoxError>>,
    L: LoadTracker,
{
    pub(super) fn new(service: S) -> Self {
        Self { service, restarted: false, wait: None }
    }

    /// Is ready when the first one is. An endpoint that fails is charged, joins those that were tried, and is replaced by
    /// another one, as long as there is one.
    pub(super) fn poll_ready(
        &mut self,
        first: &mut Attempt<S, R, L>,
        cx: &mut Context<'_>,
        request: &R,
        progress: &mut Progress<S, R, L>,
    ) -> Poll<Result<(), Unready>> {
        loop {
            match poll_service(first, &mut self.service, cx) {
                Poll::Ready(Ok(())) => return Poll::Ready(Ok(())),
                Poll::Ready(Err(error)) => self.replace_first(first, error.into(), request, progress)?,
                Poll::Pending => {
                    self.register(first, cx);
                    if first.endpoint().is_retired() && self.leave_first(first, request, progress) {
                        continue;
                    }
                    match self.poll_beside(first, cx, request, progress) {
                        Poll::Ready(true) => return Poll::Ready(Ok(())),
                        Poll::Ready(false) => {}
                        Poll::Pending => return Poll::Pending,
                    }
                }
            }
        }
    }

    /// Has the task woken by the next change, also while there are two: one of them may cease to be a member.
    fn register(&mut self, first: &Attempt<S, R, L>, cx: &Context<'_>) {
        let home = first.endpoint().home();
        let wait = self.wait.get_or_insert_with(|| {
            let registration = Registration::new(Arc::clone(home));
            Box::new(Wait { beside: None, registration, alone_at: None })
        });
        wait.registration.register(cx);
    }

    /// Tells whether another attempt has become the first since this was last asked; its time starts anew.
    pub(super) fn take_restart(&mut self) -> bool {
        std::mem::take(&mut self.restarted)
    }

    /// Returns the service that [`poll_ready`](Self::poll_ready) has found ready; the one beside it is cancelled.
    pub(super) fn into_service(self) -> S {
        self.service
    }

    /// Makes a lease the first.
    fn put_first(&mut self, first: &mut Attempt<S, R, L>, lease: Lease<S, R, L>) {
        *first = lease.attempt;
        self.service = lease.service;
        self.restarted = true;
    }

    fn take_beside(&mut self) -> Option<Lease<S, R, L>> {
        self.wait.as_mut()?.beside.take()
    }

    /// Makes the one beside the first, or picks another.
    fn replace_first(
        &mut self,
        first: &mut Attempt<S, R, L>,
        source: BoxError,
        request: &R,
        progress: &mut Progress<S, R, L>,
    ) -> Result<(), Unready> {
        let endpoint = Arc::clone(first.endpoint());
        first.end(Outcome::Failure);
        progress.tried.push(&endpoint);
        let next = match self.take_beside() {
            Some(beside) => Some(beside),
            None => progress.tried.pick(&**endpoint.home(), request).ok(),
        };
        match next {
            Some(next) => {
                self.put_first(first, next);
                progress.made = progress.made.saturating_add(1);
                if let Some(wait) = &mut self.wait {
                    wait.alone_at = None;
                }
                Ok(())
            }
            None => Err(Unready { endpoint: Arc::clone(endpoint.name()), source }),
        }
    }

    /// Leaves an endpoint that is no member any more, if there is another one.
    fn leave_first(
        &mut self,
        first: &mut Attempt<S, R, L>,
        request: &R,
        progress: &Progress<S, R, L>,
    ) -> bool {
        let next = match self.take_beside() {
            Some(beside) => Some(beside),
            None => progress.tried.pick(&**first.endpoint().home(), request).ok(),
        };
        next.map(|next| self.put_first(first, next)).is_some()
    }

    /// Polls the one beside, and picks one when there is none. Answers whether it is ready, and then it is the first; not
    /// ready at once means that the situation has changed.
    fn poll_beside(
        &mut self,
        first: &mut Attempt<S, R, L>,
        cx: &mut Context<'_>,
        request: &R,
        progress: &mut Progress<S, R, L>,
    ) -> Poll<bool> {
        let Some(wait) = &mut self.wait else { return Poll::Pending };
        drop(wait.beside.take_if(|beside| beside.attempt.endpoint().is_retired()));
        let Some(beside) = &mut wait.beside else {
            return wait.poll_pick(first.endpoint(), request, progress);
        };
        match poll_service(&mut beside.attempt, &mut beside.service, cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(())) => {
                if let Some(beside) = wait.beside.take() {
                    self.put_first(first, beside);
                }
                Poll::Ready(true)
            }
            Poll::Ready(Err(_)) => {
                if let Some(mut beside) = wait.beside.take() {
                    beside.attempt.end(Outcome::Failure);
                    progress.tried.push(beside.attempt.endpoint());
                    progress.made = progress.made.saturating_add(1);
                }
                wait.alone_at = None;
                Poll::Ready(false)
            }
        }
    }
}

impl<S, R, L: LoadTracker> Wait<S, R, L> {
    /// Picks one to stand beside `first`.
    fn poll_pick(
        &mut self,
        first: &Arc<Endpoint<S, R, L>>,
        request: &R,
        progress: &mut Progress<S, R, L>,
    ) -> Poll<bool> {
        let home = first.home();
        let changes = home.changes();
        if self.alone_at == Some(changes) {
            return Poll::Pending;
        }
        progress.tried.push(first);
        let mut picked = progress.tried.pick_strictly(&**home, request);
        if matches!(&picked, Err(obstacle) if matches!(**obstacle, BalancerErrorKind::AtCapacity(_)))
            && self.registration.want_place()
        {
            picked = progress.tried.pick_strictly(&**home, request);
        }
        self.beside = picked.ok();
        progress.tried.pop();
        if self.beside.is_some() {
            return Poll::Ready(false);
        }
        self.alone_at = Some(changes);
        Poll::Pending
    }
}

/// Asks the service of an attempt whether it is ready.
fn poll_service<S, R, L>(
    attempt: &mut Attempt<S, R, L>,
    service: &mut S,
    cx: &mut Context<'_>,
) -> Poll<Result<(), S::Error>>
where
    S: Service<R>,
    L: LoadTracker,
{
    // Not when it was admitted: a request belongs to whoever polls it.
    attempt.surround(|endpoint| endpoint.conduct().scope(endpoint.name()));
    attempt.run(|| service.poll_ready(cx))
}
