//! The layer.

use std::fmt;
use std::sync::Arc;

use tower_layer::Layer;

use super::{ByResult, ServerLoadService};
use crate::core::ServerLoad;

/// Counts the requests of a server in a [`ServerLoad`].
///
/// Keep a handle of the load: whatever answers probes asks it. Or let the answer ride on each response, with
/// [`concluding`](Self::concluding). Times are those of the system's monotonic clock.
///
/// # Examples
///
/// ```
/// use poise::core::{Now, Outcome, ServerLoad};
/// use poise::tower::ServerLoadLayer;
/// use std::sync::Arc;
/// use tower::{Layer, ServiceExt, service_fn};
///
/// struct Response {
///     status: u16,
///     load: Option<String>,
/// }
///
/// # futures_util::FutureExt::now_or_never(async {
/// let load = Arc::new(ServerLoad::new());
/// let layer = ServerLoadLayer::new(Arc::clone(&load)).concluding(
///     |answer: &mut Result<Response, std::io::Error>, load: &ServerLoad| match answer {
///         Ok(response) => {
///             response.load = Some(load.answer(&Now::lazy()).to_string());
///             if response.status < 500 { Outcome::Success } else { Outcome::Failure }
///         }
///         Err(_) => Outcome::Failure,
///     },
/// );
/// let server = layer.layer(service_fn(async |_: ()| Ok(Response { status: 503, load: None })));
///
/// let response = server.oneshot(()).await?;
/// assert_eq!(response.load.as_deref(), Some("rif=1 latency_us=0 failures=0"));
/// assert_eq!(load.answer(&Now::lazy()).failures(), 1);
/// # Ok::<(), std::io::Error>(())
/// # }).unwrap()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct ServerLoadLayer<F = ByResult> {
    load: Arc<ServerLoad>,
    conclude: F,
}

impl ServerLoadLayer {
    /// Makes a layer that counts in `load` and takes `Err` for a failure.
    #[must_use]
    pub const fn new(load: Arc<ServerLoad>) -> Self {
        Self { load, conclude: ByResult }
    }
}

impl<F> ServerLoadLayer<F> {
    /// Sets what says how a request ended, and may change the response: see [`Conclude`](super::Conclude).
    #[must_use]
    pub fn concluding<G>(self, conclude: G) -> ServerLoadLayer<G> {
        ServerLoadLayer { load: self.load, conclude }
    }

    /// Returns the load.
    #[must_use]
    pub const fn load(&self) -> &Arc<ServerLoad> {
        &self.load
    }
}

impl<S, F: Clone> Layer<S> for ServerLoadLayer<F> {
    type Service = ServerLoadService<S, F>;

    fn layer(&self, inner: S) -> Self::Service {
        ServerLoadService::new(inner, Arc::clone(&self.load), self.conclude.clone())
    }
}

impl<F> fmt::Debug for ServerLoadLayer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerLoadLayer").field("load", &self.load).finish_non_exhaustive()
    }
}
