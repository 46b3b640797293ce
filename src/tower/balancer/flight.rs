//! One attempt of a request, from its lease to its answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;
use tower_service::Service;

use super::admission::Lease;
use super::endpoint::{Attempt, Endpoint};
use super::limit::Limit;
use super::readying::{Progress, Readying, Unready};
use crate::core::{LoadTracker, Outcome};
use crate::tower::completion::Answered;
use crate::tower::{BalancerError, BalancerErrorKind, BoxError, Phase, TimedOut};

/// Makes an endpoint ready, calls it, and sees how it ends.
#[pin_project]
pub(super) struct Flight<S: Service<R>, R, L: LoadTracker> {
    /// Dropped before the attempt: whoever gets its place finds that the service has let go of the request.
    #[pin]
    stage: Stage<S, R, L>,
    /// It stays in its place from stage to stage, as moving it costs more than some stages. None when it has landed: then
    /// nothing of the endpoint is held.
    attempt: Option<Attempt<S, R, L>>,
    limit: Limit,
}

#[pin_project(project = Current, project_replace = Taken)]
enum Stage<S: Service<R>, R, L: LoadTracker> {
    Readying {
        readying: Readying<S, R, L>,
        request: R,
    },
    Calling {
        #[pin]
        response: S::Future,
    },
    Landed,
}

/// What an attempt comes to.
pub(super) enum Landing<S: Service<R>, R, L: LoadTracker> {
    /// A good answer.
    Answered(Answer<S, R, L>),
    /// An error that is no fault of the endpoint: the last word.
    Refused(BalancerError),
    /// Apart, as most attempts are answered.
    Lost(Box<Loss<S, R, L>>),
}

/// The answer of an endpoint.
pub(super) struct Answer<S: Service<R>, R, L: LoadTracker> {
    pub(super) response: S::Response,
    /// What the attempt still holds, when attempts are to last until responses end.
    pub(super) open: Option<Box<Answered<S, R, L>>>,
}

/// A failed attempt, which has ended.
pub(super) struct Loss<S: Service<R>, R, L: LoadTracker> {
    /// Where it was; none when no other attempt is to follow.
    pub(super) endpoint: Option<Arc<Endpoint<S, R, L>>>,
    pub(super) outcome: Outcome,
    pub(super) failure: Failure<S::Response>,
    /// The request, when no service had it.
    pub(super) request: Option<R>,
    /// Whether nobody had it, so that it may be sent again whatever it does.
    pub(super) is_unsent: bool,
}

/// What ends a request unless it is made again.
pub(super) enum Failure<T> {
    /// The endpoint answered, and the answer counts as a failure.
    Answered(T),
    Failed(BalancerError),
}

impl<S: Service<R>, R, L: LoadTracker> Flight<S, R, L> {
    pub(super) fn has_landed(&self) -> bool {
        self.attempt.is_none()
    }
}

impl<S, R, L> Flight<S, R, L>
where
    S: Service<R, Error: Into<BoxError>>,
    L: LoadTracker,
{
    pub(super) fn new(lease: Lease<S, R, L>, request: R) -> Self {
        let Lease { attempt, service } = lease;
        Self {
            attempt: Some(attempt),
            stage: Stage::Readying { readying: Readying::new(service), request },
            limit: Limit::Due,
        }
    }

    /// Returns the attempt whose service has the request.
    pub(super) fn called(&self) -> Option<&Attempt<S, R, L>> {
        match self.stage {
            Stage::Calling { .. } => self.attempt.as_ref(),
            _ => None,
        }
    }

    /// # Panics
    ///
    /// When it has landed.
    #[inline]
    pub(super) fn poll(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        progress: &mut Progress<S, R, L>,
    ) -> Poll<Landing<S, R, L>> {
        if matches!(self.stage, Stage::Readying { .. })
            && let Some(landing) = ready!(self.as_mut().poll_ready(cx, progress))
        {
            return Poll::Ready(landing);
        }
        self.poll_response(cx, progress)
    }

    /// Calls the service as soon as it is ready; answers with what the attempt has come to instead.
    #[inline]
    fn poll_ready(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        progress: &mut Progress<S, R, L>,
    ) -> Poll<Option<Landing<S, R, L>>> {
        let mut this = self.project();
        let (Some(attempt), Current::Readying { readying, request }) =
            (this.attempt.as_mut(), this.stage.as_mut().project())
        else {
            return Poll::Ready(None);
        };
        let ready = readying.poll_ready(attempt, cx, request, progress);
        if readying.take_restart() {
            *this.limit = Limit::Due;
        }
        let is_late = match ready {
            Poll::Ready(Err(unready)) => {
                this.stage.set(Stage::Landed);
                *this.attempt = None;
                return Poll::Ready(Some(not_ready(unready, progress.made)));
            }
            Poll::Ready(Ok(())) => false,
            Poll::Pending => {
                ready!(this.limit.poll(|| attempt.endpoint().conduct().attempt_limit(), cx));
                true
            }
        };
        progress.sent = progress.sent.saturating_add(1);
        let Taken::Readying { readying, request } = this.stage.as_mut().project_replace(Stage::Landed) else {
            return Poll::Ready(None);
        };
        // Whoever was waited for beside it is cancelled here.
        let mut service = readying.into_service();
        let landed = Landed(this.attempt);
        let Some(attempt) = landed.0 else { return Poll::Ready(None) };
        if is_late {
            drop(service);
            return Poll::Ready(Some(too_late(attempt, Some(request), progress)));
        }
        attempt.called(progress.sent - 1);
        this.stage.set(Stage::Calling { response: attempt.run(|| service.call(request)) });
        std::mem::forget(landed);
        Poll::Ready(None)
    }

    #[inline]
    fn poll_response(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        progress: &mut Progress<S, R, L>,
    ) -> Poll<Landing<S, R, L>> {
        let mut this = self.project();
        let (Some(attempt), Current::Calling { response }) =
            (this.attempt.as_mut(), this.stage.as_mut().project())
        else {
            polled_after_completion()
        };
        let Poll::Ready(answer) = attempt.run(|| response.poll(cx)) else {
            ready!(this.limit.poll(|| attempt.endpoint().conduct().attempt_limit(), cx));
            this.stage.set(Stage::Landed);
            let landed = Landed(this.attempt);
            let Some(attempt) = landed.0 else { polled_after_completion() };
            return Poll::Ready(too_late(attempt, None, progress));
        };
        this.stage.set(Stage::Landed);
        let outcome = attempt.endpoint().conduct().classify(answer.as_ref());
        match answer {
            Ok(response) if !outcome.is_error() => {
                let open = land(attempt, outcome, progress.keeps_open);
                // Before the answer is put together, so that it is not moved once more.
                *this.attempt = None;
                *this.limit = Limit::Never;
                Poll::Ready(Landing::Answered(Answer { response, open }))
            }
            failure => {
                let landed = Landed(this.attempt);
                let Some(attempt) = landed.0 else { polled_after_completion() };
                Poll::Ready(lose(attempt, failure, outcome, progress))
            }
        }
    }
}

/// Lets go of an attempt on the way out, also when user code panics there: it has ended or is cancelled.
struct Landed<'a, S, R, L: LoadTracker>(&'a mut Option<Attempt<S, R, L>>);

impl<S, R, L: LoadTracker> Drop for Landed<'_, S, R, L> {
    fn drop(&mut self) {
        *self.0 = None;
    }
}

/// Ends an attempt that was answered, unless it is to last until the response ends.
#[inline]
fn land<S, R, L: LoadTracker>(
    attempt: &mut Attempt<S, R, L>,
    outcome: Outcome,
    keeps_open: bool,
) -> Option<Box<Answered<S, R, L>>> {
    if keeps_open {
        return Some(Box::new(Answered::new(attempt, outcome)));
    }
    attempt.end(outcome);
    None
}

/// Ends an attempt that failed.
#[cold]
fn lose<S, R, L>(
    attempt: &mut Attempt<S, R, L>,
    failure: Result<S::Response, S::Error>,
    outcome: Outcome,
    progress: &mut Progress<S, R, L>,
) -> Landing<S, R, L>
where
    S: Service<R, Error: Into<BoxError>>,
    L: LoadTracker,
{
    let endpoint = Arc::clone(attempt.endpoint());
    attempt.end(outcome);
    let (failure, is_unsent) = match failure {
        Ok(response) => (Failure::Answered(response), false),
        Err(source) => {
            let is_unsent = endpoint.conduct().is_unsent(&source);
            if is_unsent {
                progress.count_unsent();
            }
            let error = BalancerError::new(BalancerErrorKind::Endpoint, progress.made)
                .at(Arc::clone(endpoint.name()), Phase::Call)
                .caused_by(source.into());
            if !outcome.is_error() {
                return Landing::Refused(error);
            }
            (Failure::Failed(error), is_unsent)
        }
    };
    Landing::Lost(Box::new(Loss { endpoint: Some(endpoint), outcome, failure, request: None, is_unsent }))
}

/// Ends an attempt that took longer than it may: a failure of the endpoint.
#[cold]
fn too_late<S, R, L>(
    attempt: &mut Attempt<S, R, L>,
    request: Option<R>,
    progress: &mut Progress<S, R, L>,
) -> Landing<S, R, L>
where
    S: Service<R>,
    L: LoadTracker,
{
    let endpoint = Arc::clone(attempt.endpoint());
    let error = BalancerError::new(BalancerErrorKind::Deadline, progress.made)
        .at(Arc::clone(endpoint.name()), attempt.phase())
        .caused_by(TimedOut.into());
    let outcome = Outcome::Failure;
    attempt.end(outcome);
    let is_unsent = request.is_some();
    if is_unsent {
        progress.count_unsent();
    }
    let failure = Failure::Failed(error);
    Landing::Lost(Box::new(Loss { endpoint: Some(endpoint), outcome, failure, request, is_unsent }))
}

/// Nobody could be made ready.
#[cold]
fn not_ready<S, R, L>(unready: Unready, made: u32) -> Landing<S, R, L>
where
    S: Service<R>,
    L: LoadTracker,
{
    let Unready { endpoint, source } = unready;
    let error = BalancerError::new(BalancerErrorKind::Endpoint, made);
    let failure = Failure::Failed(error.at(endpoint, Phase::Readiness).caused_by(source));
    let outcome = Outcome::Failure;
    Landing::Lost(Box::new(Loss { endpoint: None, outcome, failure, request: None, is_unsent: true }))
}

#[cold]
pub(super) fn polled_after_completion() -> ! {
    panic!("`ResponseFuture` was polled after it was ready")
}
