//! The service.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower_service::Service;

use super::{Conclude, ServerLoadFuture};
use crate::core::{Now, ServerLoad, Serving};

/// Counts the requests of an inner service: what a [`ServerLoadLayer`](super::ServerLoadLayer) makes.
///
/// A request is in flight from the call until its response, its error, or the drop of its future.
#[derive(Clone)]
pub struct ServerLoadService<S, F> {
    inner: S,
    load: Arc<ServerLoad>,
    conclude: F,
}

impl<S, F> ServerLoadService<S, F> {
    pub(super) const fn new(inner: S, load: Arc<ServerLoad>, conclude: F) -> Self {
        Self { inner, load, conclude }
    }
}

impl<R, S, F> Service<R> for ServerLoadService<S, F>
where
    S: Service<R>,
    F: Conclude<S::Response, S::Error> + Clone,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = ServerLoadFuture<S::Future, F>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let serving = Serving::start(Arc::clone(&self.load), &Now::lazy());
        ServerLoadFuture::new(self.inner.call(request), serving, self.conclude.clone())
    }
}

impl<S: fmt::Debug, F> fmt::Debug for ServerLoadService<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerLoadService")
            .field("inner", &self.inner)
            .field("load", &self.load)
            .finish_non_exhaustive()
    }
}
