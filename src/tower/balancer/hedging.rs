//! A second attempt beside one that takes long.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;
use tower_service::Service;

use super::conduct::{Conduct, Sleep};
use super::flight::{Flight, Landing};
use super::readying::Progress;
use crate::core::LoadTracker;
use crate::tower::BoxError;

/// How far the hedge of a request has come.
///
/// ```text
/// Due -> Running -> Flying -> Over
///  |        |                  ^
///  +--------+--- none to be ---+
/// ```
pub(super) enum Hedging<S: Service<R>, R, L: LoadTracker> {
    /// Waits for a service to have the request: the time runs from there.
    Due,
    Running(Sleep),
    /// Apart, as most requests need none.
    Flying(Pin<Box<Second<S, R, L>>>),
    Over,
}

/// The second attempt.
#[pin_project]
pub(super) struct Second<S: Service<R>, R, L: LoadTracker> {
    #[pin]
    flight: Flight<S, R, L>,
    /// Told of its success, whatever has become of the first endpoint by then.
    conduct: Arc<Conduct<S, R>>,
}

impl<S, R, L> Hedging<S, R, L>
where
    S: Service<R, Error: Into<BoxError>>,
    L: LoadTracker,
{
    /// Has the time run anew, for another attempt.
    pub(super) fn restart(&mut self) {
        if matches!(self, Self::Running(_)) {
            *self = Self::Due;
        }
    }

    /// Polls `first`, and the hedge beside it. The first success is the answer; a failure waits for the other one, as long as
    /// there is one.
    pub(super) fn poll_beside(
        &mut self,
        mut first: Pin<&mut Flight<S, R, L>>,
        spare: &mut Option<R>,
        progress: &mut Progress<S, R, L>,
        cx: &mut Context<'_>,
    ) -> Poll<Landing<S, R, L>> {
        if !first.has_landed()
            && let Poll::Ready(landing) = first.as_mut().poll(cx, progress)
            && !(matches!(landing, Landing::Lost(_)) && matches!(self, Self::Flying(_)))
        {
            return Poll::Ready(landing);
        }
        let landing = ready!(self.poll(&first, spare, progress, cx));
        let hedge = std::mem::replace(self, Self::Over);
        match landing {
            Landing::Lost(loss) if !first.has_landed() => {
                if let Some(endpoint) = loss.endpoint {
                    progress.tried.push(&endpoint);
                }
                Poll::Pending
            }
            landing => {
                if let (Landing::Answered(_), Self::Flying(second)) = (&landing, hedge) {
                    second.conduct.hedge_won();
                }
                Poll::Ready(landing)
            }
        }
    }

    fn poll(
        &mut self,
        first: &Flight<S, R, L>,
        spare: &mut Option<R>,
        progress: &mut Progress<S, R, L>,
        cx: &mut Context<'_>,
    ) -> Poll<Landing<S, R, L>> {
        loop {
            *self = match self {
                Self::Over => return Poll::Pending,
                Self::Flying(second) => return second.as_mut().project().flight.poll(cx, progress),
                Self::Due => {
                    let Some(called) = first.called() else { return Poll::Pending };
                    called.endpoint().conduct().hedge_delay().map_or(Self::Over, Self::Running)
                }
                Self::Running(sleep) => {
                    ready!(sleep.as_mut().poll(cx));
                    launch(first, spare, progress).map_or(Self::Over, Self::Flying)
                }
            };
        }
    }
}

/// Sends the copy of the request to somebody else, if the budget allows it and there is somebody.
fn launch<S, R, L>(
    first: &Flight<S, R, L>,
    spare: &mut Option<R>,
    progress: &mut Progress<S, R, L>,
) -> Option<Pin<Box<Second<S, R, L>>>>
where
    S: Service<R, Error: Into<BoxError>>,
    L: LoadTracker,
{
    let endpoint = first.called()?.endpoint();
    let request = spare.take()?;
    let conduct = Arc::clone(endpoint.conduct());
    progress.tried.push(endpoint);
    let Some(lease) = progress.tried.hedge(&**endpoint.home(), &request) else {
        progress.tried.pop();
        *spare = Some(request);
        return None;
    };
    progress.made = progress.made.saturating_add(1);
    *spare = conduct.copy(&request, progress.sent);
    Some(Box::pin(Second { flight: Flight::new(lease, request), conduct }))
}
