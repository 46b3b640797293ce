//! A request that an endpoint has.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project::pin_project;

use super::BalanceError;
use super::account::Holding;
use crate::core::{LoadTracker, Outcome};
use crate::tower::attempt::Attempt;

/// Resolves to the response of the endpoint that took the request.
///
/// It owns the future of the service and the attempt that its endpoint counts, so it stays good when the endpoint leaves
/// the pool. Any result of the service ends the attempt, an error as [`Outcome::Failure`].
///
/// # Cancel safety
///
/// Dropping it drops the future of the service and counts the attempt as cancelled. So does a panic in the service.
#[must_use = "futures do nothing unless polled"]
#[pin_project]
pub struct BalanceFuture<F, E, L: LoadTracker> {
    #[pin]
    state: State<F, E, L>,
}

#[pin_project(project = Current)]
enum State<F, E, L: LoadTracker> {
    Refused(Option<BalanceError<E>>),
    Calling {
        // The first to be dropped: what it holds is back before the attempt is over.
        #[pin]
        response: F,
        attempt: Option<Attempt<Holding<L>>>,
    },
    Done,
}

impl<F, E, L: LoadTracker> BalanceFuture<F, E, L> {
    pub(super) fn calling(response: F, attempt: Attempt<Holding<L>>) -> Self {
        Self { state: State::Calling { response, attempt: Some(attempt) } }
    }

    pub(super) fn refused(error: BalanceError<E>) -> Self {
        Self { state: State::Refused(Some(error)) }
    }
}

impl<T, E, F, L> Future for BalanceFuture<F, E, L>
where
    F: Future<Output = Result<T, E>>,
    L: LoadTracker,
{
    type Output = Result<T, BalanceError<E>>;

    /// # Panics
    ///
    /// When it is polled after it was ready.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        match state.as_mut().project() {
            Current::Refused(error) => {
                let error = error.take();
                state.set(State::Done);
                if let Some(error) = error {
                    return Poll::Ready(Err(error));
                }
            }
            Current::Calling { response, attempt } => {
                // If the service panics, the attempt is over, whoever keeps this future.
                let taken = attempt.take();
                let Poll::Ready(answer) = response.poll(cx) else {
                    *attempt = taken;
                    return Poll::Pending;
                };
                state.set(State::Done);
                if let Some(mut attempt) = taken {
                    attempt.end(Outcome::of(answer.as_ref()));
                }
                return Poll::Ready(answer.map_err(BalanceError::Endpoint));
            }
            Current::Done => {}
        }
        panic!("`BalanceFuture` was polled after it was ready")
    }
}

impl<F, E, L: LoadTracker> fmt::Debug for BalanceFuture<F, E, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Refused(_) => "refused",
            State::Calling { .. } => "calling",
            State::Done => "done",
        };
        f.debug_struct("BalanceFuture").field("state", &state).finish_non_exhaustive()
    }
}
