//! One request, from its first pick to its response.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;
use tower_service::Service;

use super::admission::Obstacle;
use super::conduct::Sleep;
use super::dispatch::Dispatch;
use super::flight::{Answer, Failure, Flight, Landing, Loss, polled_after_completion};
use super::handle::Handle;
use super::hedging::Hedging;
use super::readying::Progress;
use super::repeats::Spare;
use super::tried::Tried;
use super::waiting::Waiting;
use crate::core::LoadTracker;
use crate::tower::{BalancerError, BoxError, Event};

/// Resolves to the response of the endpoint that took the request.
///
/// # Cancel safety
///
/// Dropping it gives back everything that it holds: the permit, the ticket, its place among those who wait. The attempt
/// counts as cancelled, which is no failure. A request that had not been handed to an endpoint is never sent afterwards.
#[must_use = "futures do nothing unless polled"]
#[pin_project]
pub struct ResponseFuture<S: Service<R>, R, L: LoadTracker> {
    #[pin]
    state: State<S, R, L>,
    progress: Progress<S, R, L>,
    again: Option<Again<S, R, L>>,
}

/// What is there of a request that may be made again.
struct Again<S: Service<R>, R, L: LoadTracker> {
    /// A copy of it, unless that was sent or may not be.
    spare: Option<R>,
    /// Whether it may be sent again only when nobody has had it.
    only_unsent: bool,
    hedging: Hedging<S, R, L>,
}

impl<S: Service<R>, R, L: LoadTracker> Again<S, R, L> {
    fn new(spare: Spare<R>) -> Self {
        let hedging = if spare.is_hedged { Hedging::Due } else { Hedging::Over };
        Self { spare: Some(spare.request), only_unsent: spare.only_unsent, hedging }
    }

    /// Takes the copy, if it may be sent after an attempt that failed.
    fn take_spare(&mut self, is_unsent: bool) -> Option<R> {
        if is_unsent || !self.only_unsent { self.spare.take() } else { None }
    }
}

#[pin_project(project = Current, project_replace = Taken)]
enum State<S: Service<R>, R, L: LoadTracker> {
    Failed {
        obstacle: Obstacle,
    },
    /// Apart, as most requests find somebody at once.
    Waiting {
        waiting: Box<Waiting<S, R, L>>,
        request: R,
    },
    Flying {
        #[pin]
        flight: Flight<S, R, L>,
    },
    /// Apart, as who rests has waited for a timer anyway.
    Resting {
        rest: Box<Rest<S, R, L>>,
    },
    Done,
}

/// A request between one attempt and the next, which holds nothing of an endpoint.
struct Rest<S: Service<R>, R, L: LoadTracker> {
    home: Arc<dyn Dispatch<S, R, L>>,
    sleep: Sleep,
    failure: Failure<S::Response>,
    request: R,
}

impl<S, R, L> ResponseFuture<S, R, L>
where
    S: Service<R, Error: Into<BoxError>>,
    L: LoadTracker,
{
    /// Makes the first pick.
    pub(super) fn new(handle: &Arc<Handle<S, R, L>>, request: R, tried: Tried<S, R, L>) -> Self {
        let cluster = handle.cluster();
        let again = handle.conduct().spare(&request).map(Again::new);
        let mut progress = Progress::new(tried);
        let state = match progress.tried.pick(&**cluster, &request) {
            Ok(lease) => {
                progress.made = 1;
                State::Flying { flight: Flight::new(lease, request) }
            }
            Err(obstacle) => {
                handle.conduct().tell(&Event::Refused { obstacle: &obstacle });
                if cluster.should_wait(&obstacle) {
                    State::Waiting { waiting: Box::new(Waiting::new(Arc::clone(handle))), request }
                } else {
                    State::Failed { obstacle }
                }
            }
        };
        Self { state, progress, again }
    }

    /// Has the attempt that is answered last until the response ends.
    pub(super) fn keep_open(mut self) -> Self {
        self.progress.keeps_open = true;
        self
    }

    /// As [`poll`](Future::poll), with what the attempt still holds.
    pub(super) fn poll_answer(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Answer<S, R, L>, BalancerError>> {
        loop {
            let mut this = self.as_mut().project();
            let failure = match this.state.as_mut().project() {
                Current::Flying { flight } => {
                    let landing = match this.again {
                        None => flight.poll(cx, this.progress),
                        Some(again) => again.hedging.poll_beside(flight, &mut again.spare, this.progress, cx),
                    };
                    match ready!(landing) {
                        Landing::Answered(answer) => {
                            // Otherwise it has landed, and nothing that works is left.
                            if this.again.is_some() {
                                self.finish();
                            }
                            return Poll::Ready(Ok(answer));
                        }
                        Landing::Refused(error) => Some(Failure::Failed(error)),
                        Landing::Lost(loss) => self.as_mut().try_again(*loss),
                    }
                }
                Current::Waiting { waiting, request } => {
                    match ready!(waiting.poll_pick(cx, request, &this.progress.tried)) {
                        Ok(lease) => {
                            this.progress.made = 1;
                            if let Taken::Waiting { request, .. } =
                                this.state.as_mut().project_replace(State::Done)
                            {
                                this.state.set(State::Flying { flight: Flight::new(lease, request) });
                            }
                            None
                        }
                        Err(obstacle) => Some(Failure::Failed(BalancerError::new(*obstacle, 0))),
                    }
                }
                Current::Resting { rest } => {
                    ready!(rest.sleep.as_mut().poll(cx));
                    self.as_mut().end_rest()
                }
                Current::Failed { obstacle } => Some(Failure::Failed(BalancerError::new(**obstacle, 0))),
                Current::Done => polled_after_completion(),
            };
            if let Some(failure) = failure {
                let handed = self.progress.is_handed();
                self.finish();
                return Poll::Ready(match failure {
                    Failure::Answered(response) => Ok(Answer { response, open: None }),
                    Failure::Failed(error) => Err(error.after_handing(handed)),
                });
            }
        }
    }

    /// Prepares another attempt after one that failed. Returns the failure if there is to be none.
    fn try_again(self: Pin<&mut Self>, loss: Loss<S, R, L>) -> Option<Failure<S::Response>> {
        let mut this = self.project();
        let Loss { endpoint, outcome, failure, request, is_unsent } = loss;
        let Some(endpoint) = endpoint else { return Some(failure) };
        let is_back = request.is_some();
        let Some(request) = request.or_else(|| this.again.as_mut()?.take_spare(is_unsent)) else {
            return Some(failure);
        };
        let cluster = &**endpoint.home();
        let sent = this.progress.sent;
        if !cluster.may_retry(sent) {
            return Some(failure);
        }
        if let Some(again) = this.again {
            if !is_back {
                again.spare = endpoint.conduct().copy(&request, sent);
            }
            again.hedging.restart();
        }
        this.progress.tried.push(&endpoint);
        if let Some(sleep) = endpoint.conduct().rest(sent, outcome) {
            let home = Arc::clone(endpoint.home());
            this.state.set(State::Resting { rest: Box::new(Rest { home, sleep, failure, request }) });
            return None;
        }
        let Some(flight) = take_off(cluster, this.progress, request) else { return Some(failure) };
        this.state.set(State::Flying { flight });
        None
    }

    /// Makes the attempt that was waited for. Returns the failure of the one before if nobody can be picked.
    fn end_rest(self: Pin<&mut Self>) -> Option<Failure<S::Response>> {
        let mut this = self.project();
        let Taken::Resting { rest } = this.state.as_mut().project_replace(State::Done) else {
            return None;
        };
        let Rest { home, failure, request, .. } = *rest;
        let Some(flight) = take_off(&*home, this.progress, request) else { return Some(failure) };
        this.state.set(State::Flying { flight });
        None
    }
}

/// Picks somebody who was not tried, if there is one, and starts an attempt there.
fn take_off<S, R, L>(
    cluster: &dyn Dispatch<S, R, L>,
    progress: &mut Progress<S, R, L>,
    request: R,
) -> Option<Flight<S, R, L>>
where
    S: Service<R, Error: Into<BoxError>>,
    L: LoadTracker,
{
    let lease = progress.tried.pick_again(cluster, &request).ok()?;
    progress.made = progress.made.saturating_add(1);
    Some(Flight::new(lease, request))
}

impl<S, R, L> Future for ResponseFuture<S, R, L>
where
    S: Service<R, Error: Into<BoxError>>,
    L: LoadTracker,
{
    type Output = Result<S::Response, BalancerError>;

    /// # Panics
    ///
    /// When it is polled after it was ready.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_answer(cx).map_ok(|answer| answer.response)
    }
}

impl<S: Service<R>, R, L: LoadTracker> ResponseFuture<S, R, L> {
    /// Gives up what is still under way.
    fn finish(self: Pin<&mut Self>) {
        let mut this = self.project();
        *this.again = None;
        this.state.set(State::Done);
    }
}

impl<S: Service<R>, R, L: LoadTracker> fmt::Debug for ResponseFuture<S, R, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Failed { .. } => "failed",
            State::Waiting { .. } => "waiting",
            // Also when the first has landed and its hedge has not.
            State::Flying { flight } if !flight.has_landed() || self.again.is_some() => "under way",
            State::Resting { .. } => "resting",
            State::Flying { .. } | State::Done => "done",
        };
        f.debug_struct("ResponseFuture")
            .field("state", &state)
            .field("attempts", &self.progress.made)
            .finish_non_exhaustive()
    }
}
