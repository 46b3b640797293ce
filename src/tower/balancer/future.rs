//! One request, from its first pick to its response.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;
use tower_service::Service;

use super::admission::Lease;
use super::endpoint::Endpoint;
use super::handle::Handle;
use super::limit::Limit;
use super::readying::{Readying, Unready};
use super::tried::Tried;
use super::waiting::Waiting;
use crate::core::{LoadTracker, Outcome};
use crate::tower::attempt::Attempt;
use crate::tower::{BalancerError, BalancerErrorKind, BoxError, Event, Phase, TimedOut};

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
    /// A copy of the request, when it may be made again.
    spare: Option<R>,
    tried: Tried<S, R, L>,
    /// How often the request was handed to an endpoint or ran out of time before.
    attempts: u32,
    limit: Limit,
    /// Whether a service has had the request.
    handed: bool,
}

#[pin_project(project = Current, project_replace = Taken)]
enum State<S: Service<R>, R, L: LoadTracker> {
    Failed {
        obstacle: BalancerErrorKind,
    },
    Waiting {
        waiting: Waiting<S, R, L>,
        request: R,
    },
    Readying {
        readying: Readying<S, R, L>,
        request: R,
    },
    Calling {
        attempt: Attempt<S, R, L>,
        #[pin]
        response: S::Future,
    },
    Done,
}

/// What ends a request unless it is made again.
enum Failure<T> {
    /// The endpoint answered, and the answer counts as a failure.
    Answered(T),
    Failed(BalancerError),
}

impl<T> Failure<T> {
    fn into_result(self) -> Result<T, BalancerError> {
        match self {
            Self::Answered(response) => Ok(response),
            Self::Failed(error) => Err(error),
        }
    }
}

/// What one step of a request comes to.
enum Step<S: Service<R>, R, L: LoadTracker> {
    Enter(State<S, R, L>),
    Finish(Result<S::Response, BalancerError>),
    /// The attempt at this endpoint failed.
    Again(Arc<Endpoint<S, R, L>>, Failure<S::Response>),
}

impl<S, R, L> ResponseFuture<S, R, L>
where
    S: Service<R, Error: Into<BoxError>>,
    L: LoadTracker,
{
    /// Makes the first pick.
    pub(super) fn new(handle: &Arc<Handle<S, R, L>>, request: R, tried: Tried<S, R, L>) -> Self {
        let cluster = handle.cluster();
        cluster.count_request();
        let spare = cluster.copy(&request, 0);
        let state = match tried.pick(&**cluster, &request) {
            Ok(lease) => State::Readying { readying: Readying::new(lease), request },
            Err(obstacle) => {
                cluster.tell(&Event::Refused { obstacle: &obstacle });
                if cluster.should_wait(&obstacle) {
                    State::Waiting { waiting: Waiting::new(Arc::clone(handle)), request }
                } else {
                    State::Failed { obstacle }
                }
            }
        };
        Self { state, spare, tried, attempts: 0, limit: Limit::Due, handed: false }
    }

    /// Polls the current state once, and says what comes next.
    fn poll_step(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Step<S, R, L>> {
        let mut this = self.project();
        let step = match this.state.as_mut().project() {
            Current::Failed { obstacle } => Step::Finish(Err(BalancerError::new(*obstacle, 0))),
            Current::Waiting { waiting, request } => match ready!(waiting.poll_pick(cx, request, this.tried))
            {
                Ok(lease) => match this.state.project_replace(State::Done) {
                    Taken::Waiting { request, .. } => {
                        Step::Enter(State::Readying { readying: Readying::new(lease), request })
                    }
                    _ => polled_after_completion(),
                },
                Err(obstacle) => Step::Enter(State::Failed { obstacle }),
            },
            Current::Readying { readying, request } => {
                let ready = readying.poll_ready(cx, request, this.tried);
                if readying.take_restart() {
                    *this.limit = Limit::Due;
                }
                match ready {
                    Poll::Ready(Ok(())) => {
                        *this.attempts += 1;
                        *this.handed = true;
                        match this.state.project_replace(State::Done) {
                            Taken::Readying { readying, request } => {
                                Step::Enter(call(readying.into_ready(), request))
                            }
                            _ => polled_after_completion(),
                        }
                    }
                    Poll::Ready(Err(Unready { endpoint, source })) => {
                        let error = BalancerError::new(BalancerErrorKind::Endpoint, this.tried.count());
                        Step::Finish(Err(error.at(endpoint, Phase::Readiness).caused_by(source)))
                    }
                    Poll::Pending => {
                        ready!(this.limit.poll(|| readying.home().attempt_limit(), cx));
                        *this.attempts += 1;
                        match this.state.project_replace(State::Done) {
                            Taken::Readying { readying, .. } => {
                                too_late(readying.into_first(), this.tried.count() + 1)
                            }
                            _ => polled_after_completion(),
                        }
                    }
                }
            }
            Current::Calling { response, attempt } => {
                let answer = match response.poll(cx) {
                    Poll::Ready(answer) => Some(answer),
                    Poll::Pending => {
                        ready!(this.limit.poll(|| attempt.endpoint().home().attempt_limit(), cx));
                        None
                    }
                };
                match (this.state.project_replace(State::Done), answer) {
                    (Taken::Calling { attempt, .. }, Some(answer)) => {
                        conclude(attempt, answer, this.tried.count() + 1)
                    }
                    (Taken::Calling { attempt, .. }, None) => too_late(attempt, this.tried.count() + 1),
                    _ => polled_after_completion(),
                }
            }
            Current::Done => polled_after_completion(),
        };
        Poll::Ready(step)
    }

    /// Starts another attempt after one at `endpoint` failed, if there may be one and somebody can be picked.
    fn try_again(self: Pin<&mut Self>, endpoint: &Arc<Endpoint<S, R, L>>) -> bool {
        let mut this = self.project();
        let Some(request) = this.spare.take() else { return false };
        let cluster = &**endpoint.home();
        if !cluster.may_retry(*this.attempts) {
            return false;
        }
        this.tried.push(endpoint);
        let Ok(lease) = this.tried.pick_again(cluster, &request) else { return false };
        *this.limit = Limit::Due;
        *this.spare = cluster.copy(&request, *this.attempts);
        this.state.set(State::Readying { readying: Readying::new(lease), request });
        true
    }
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
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        loop {
            match ready!(self.as_mut().poll_step(cx)) {
                Step::Enter(state) => self.as_mut().project().state.set(state),
                Step::Again(endpoint, failure) => {
                    if !self.as_mut().try_again(&endpoint) {
                        return self.finish(failure.into_result());
                    }
                }
                Step::Finish(result) => return self.finish(result),
            }
        }
    }
}

impl<S: Service<R>, R, L: LoadTracker> ResponseFuture<S, R, L> {
    fn finish(
        self: Pin<&mut Self>,
        result: Result<S::Response, BalancerError>,
    ) -> Poll<Result<S::Response, BalancerError>> {
        let mut this = self.project();
        this.state.set(State::Done);
        *this.limit = Limit::Never;
        let handed = *this.handed;
        Poll::Ready(result.map_err(|error| error.after_handing(handed)))
    }
}

/// Hands the request to the service that is ready for it.
fn call<S, R, L>(lease: Lease<S, R, L>, request: R) -> State<S, R, L>
where
    S: Service<R>,
    L: LoadTracker,
{
    let Lease { mut attempt, mut service } = lease;
    attempt.called();
    State::Calling { response: service.call(request), attempt }
}

/// Ends an attempt that was answered.
fn conclude<S, R, L>(
    attempt: Attempt<S, R, L>,
    answer: Result<S::Response, S::Error>,
    attempts: u32,
) -> Step<S, R, L>
where
    S: Service<R, Error: Into<BoxError>>,
    L: LoadTracker,
{
    let endpoint = Arc::clone(attempt.endpoint());
    let outcome = endpoint.home().classify(answer.as_ref());
    attempt.end(outcome);
    match answer {
        Ok(response) if !outcome.is_error() => Step::Finish(Ok(response)),
        Ok(response) => Step::Again(endpoint, Failure::Answered(response)),
        Err(source) => {
            let error = BalancerError::new(BalancerErrorKind::Endpoint, attempts)
                .at(Arc::clone(endpoint.name()), Phase::Call)
                .caused_by(source.into());
            if outcome.is_error() {
                Step::Again(endpoint, Failure::Failed(error))
            } else {
                Step::Finish(Err(error))
            }
        }
    }
}

/// Ends an attempt that took longer than it may: a failure of the endpoint.
fn too_late<S, R, L>(attempt: Attempt<S, R, L>, attempts: u32) -> Step<S, R, L>
where
    S: Service<R>,
    L: LoadTracker,
{
    let endpoint = Arc::clone(attempt.endpoint());
    let error = BalancerError::new(BalancerErrorKind::Deadline, attempts)
        .at(Arc::clone(endpoint.name()), attempt.phase())
        .caused_by(TimedOut.into());
    attempt.end(Outcome::Failure);
    Step::Again(endpoint, Failure::Failed(error))
}

#[cold]
fn polled_after_completion() -> ! {
    panic!("`ResponseFuture` was polled after it was ready")
}

impl<S: Service<R>, R, L: LoadTracker> fmt::Debug for ResponseFuture<S, R, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Failed { .. } => "failed",
            State::Waiting { .. } => "waiting",
            State::Readying { .. } => "readying",
            State::Calling { .. } => "calling",
            State::Done => "done",
        };
        f.debug_struct("ResponseFuture")
            .field("state", &state)
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}
