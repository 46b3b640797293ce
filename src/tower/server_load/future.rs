//! The future of one request.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;

use super::Conclude;
use crate::core::{Now, ServerLoad, Serving};

/// Resolves to the answer of the inner service, and counts the request until then.
///
/// # Cancel safety
///
/// Dropping it ends the request as cancelled.
#[pin_project]
pub struct ServerLoadFuture<Fut, F> {
    #[pin]
    inner: Fut,
    serving: Option<Serving<Arc<ServerLoad>>>,
    conclude: F,
}

impl<Fut, F> ServerLoadFuture<Fut, F> {
    pub(super) const fn new(inner: Fut, serving: Serving<Arc<ServerLoad>>, conclude: F) -> Self {
        Self { inner, serving: Some(serving), conclude }
    }
}

impl<Fut, F, Response, Error> Future for ServerLoadFuture<Fut, F>
where
    Fut: Future<Output = Result<Response, Error>>,
    F: Conclude<Response, Error>,
{
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let mut answer = ready!(this.inner.poll(context));
        if let Some(serving) = this.serving.take() {
            let outcome = this.conclude.conclude(&mut answer, serving.load());
            serving.end(outcome, &Now::lazy());
        }
        Poll::Ready(answer)
    }
}

impl<Fut, F> fmt::Debug for ServerLoadFuture<Fut, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerLoadFuture").field("serving", &self.serving).finish_non_exhaustive()
    }
}
