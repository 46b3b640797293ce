//! A balancer whose attempts last until their responses end.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project::pin_project;
use tower_service::Service;

use super::balancer::Balancer;
use super::flight::Answer;
use super::future::ResponseFuture;
use crate::core::{LoadTracker, PeakEwma};
use crate::tower::{BalancerError, BoxError, ResponseGuard};

/// Makes a response that carries the guard of its attempt.
type Hook<T, O> = dyn Fn(ResponseGuard, T) -> O + Send + Sync;

/// Balances requests whose responses go on after their head.
///
/// It is a [`Balancer`] with a completion hook, and as cheap to clone. The hook gets each response together with the
/// [`ResponseGuard`] of its attempt, and returns what the caller gets: usually the response with a body that keeps the
/// guard until its end. The type of a field is `GuardedBalancer<Client, Request, Response>`, where `Response` is what the hook
/// returns.
///
/// It costs an allocation per response.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use poise::core::{Backend, Outcome};
/// use poise::discovery::Directory;
/// use poise::tower::{Balancer, GuardedBalancer, ResponseGuard};
/// use std::convert::Infallible;
/// use std::future::{Ready, ready};
///
/// # #[derive(Clone)]
/// # struct Client;
/// # impl tower::Service<u32> for Client {
/// #     type Response = u32;
/// #     type Error = Infallible;
/// #     type Future = Ready<Result<u32, Infallible>>;
/// #     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
/// #         std::task::Poll::Ready(Ok(()))
/// #     }
/// #     fn call(&mut self, request: u32) -> Self::Future { ready(Ok(request)) }
/// # }
/// struct Download {
///     parts: u32,
///     guard: ResponseGuard,
/// }
///
/// struct Mirror {
///     clients: GuardedBalancer<Client, u32, Download>,
/// }
///
/// let mut directory = Directory::new();
/// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
/// let balancer = Balancer::builder().discover(directory.reader(), |_key, _backend| Client).spawn()?;
/// let mirror = Mirror { clients: balancer.guarded(|guard, parts| Download { parts, guard }) };
///
/// let download = mirror.clients.send(3).await?;
/// assert_eq!(mirror.clients.balancer().report().members[0].in_flight, 1, "the parts are on their way");
/// download.guard.finish(Outcome::Success);
/// assert_eq!(mirror.clients.balancer().report().members[0].successes, 1);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "tokio"))]
/// # fn main() {}
/// ```
pub struct GuardedBalancer<S: Service<R>, R, O, L: LoadTracker = PeakEwma> {
    balancer: Balancer<S, R, L>,
    hook: Arc<Hook<S::Response, O>>,
}

impl<S, R, L: LoadTracker> Balancer<S, R, L> {
    /// Keeps each attempt open until its response ends: `hook` gets the guard of the attempt, which travels in what it
    /// returns.
    ///
    /// An answer that counts as a failure, and that is not tried again, comes with a guard that holds nothing. A panic in `hook`
    /// reaches the caller and ends the attempt as cancelled.
    pub fn guarded<O>(
        self,
        hook: impl Fn(ResponseGuard, S::Response) -> O + Send + Sync + 'static,
    ) -> GuardedBalancer<S, R, O, L>
    where
        S: Service<R>,
    {
        GuardedBalancer { balancer: self, hook: Arc::new(hook) }
    }
}

impl<S, R, O, L> GuardedBalancer<S, R, O, L>
where
    S: Service<R>,
    L: LoadTracker,
{
    /// Sends a request, as [`Balancer::send`] does.
    pub fn send(&self, request: R) -> GuardedFuture<S, R, O, L>
    where
        S: Service<R, Error: Into<BoxError>>,
    {
        GuardedFuture { response: self.balancer.send(request).keep_open(), hook: Arc::clone(&self.hook) }
    }

    /// Sends a request past the endpoints of these names, as [`Balancer::call_avoiding`] does.
    pub fn call_avoiding<N: AsRef<str>>(
        &self,
        request: R,
        avoided: impl IntoIterator<Item = N>,
    ) -> GuardedFuture<S, R, O, L>
    where
        S: Service<R, Error: Into<BoxError>>,
    {
        let response = self.balancer.call_avoiding(request, avoided).keep_open();
        GuardedFuture { response, hook: Arc::clone(&self.hook) }
    }

    /// Returns the balancer without the hook.
    #[must_use]
    pub fn balancer(&self) -> &Balancer<S, R, L> {
        &self.balancer
    }
}

impl<S, R, O, L> Service<R> for GuardedBalancer<S, R, O, L>
where
    S: Service<R, Error: Into<BoxError>> + Send + Sync + 'static,
    R: Send + 'static,
    L: LoadTracker<Ticket: Send + 'static> + Send + Sync + 'static,
{
    type Response = O;
    type Error = BalancerError;
    type Future = GuardedFuture<S, R, O, L>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BalancerError>> {
        self.balancer.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> GuardedFuture<S, R, O, L> {
        self.send(request)
    }
}

impl<S: Service<R>, R, O, L: LoadTracker> Clone for GuardedBalancer<S, R, O, L> {
    fn clone(&self) -> Self {
        Self { balancer: self.balancer.clone(), hook: Arc::clone(&self.hook) }
    }
}

impl<S: Service<R>, R, O, L: LoadTracker> fmt::Debug for GuardedBalancer<S, R, O, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedBalancer").field("balancer", &self.balancer).finish_non_exhaustive()
    }
}

/// Resolves to what the hook of a [`GuardedBalancer`] makes of the response.
///
/// # Cancel safety
///
/// As of [`ResponseFuture`].
#[must_use = "futures do nothing unless polled"]
#[pin_project]
pub struct GuardedFuture<S: Service<R>, R, O, L: LoadTracker> {
    #[pin]
    response: ResponseFuture<S, R, L>,
    hook: Arc<Hook<S::Response, O>>,
}

impl<S, R, O, L> Future for GuardedFuture<S, R, O, L>
where
    S: Service<R, Error: Into<BoxError>> + Send + Sync + 'static,
    R: Send + 'static,
    L: LoadTracker<Ticket: Send + 'static> + Send + Sync + 'static,
{
    type Output = Result<O, BalancerError>;

    /// # Panics
    ///
    /// When it is polled after it was ready.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let Answer { response, open } = ready!(this.response.poll_answer(cx))?;
        Poll::Ready(Ok((this.hook)(ResponseGuard::new(open), response)))
    }
}

impl<S: Service<R>, R, O, L: LoadTracker> fmt::Debug for GuardedFuture<S, R, O, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedFuture").field("response", &self.response).finish_non_exhaustive()
    }
}
