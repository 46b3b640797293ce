//! The handle.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use tower_service::Service;

use super::discoverer::Discoverer;
use super::dispatch::Dispatch;
use super::future::ResponseFuture;
use super::handle::Handle;
use super::report::Report;
use super::shutdown::Shutdown;
use super::tried::Tried;
use crate::core::{LoadTracker, PeakEwma};
use crate::sync::wakers::WakerKey;
use crate::tower::{BalancerError, BoxError};

/// Balances requests over a changing set of services.
///
/// It is a cheap handle: clones share endpoints, health and statistics. The type of a field is
/// `Balancer<Client, Request>`, or `Balancer<Client, Request, InFlight>` with another [`load`](super::Builder::load); keys,
/// backends and policies are no part of it.
///
/// For each request it picks an endpoint by the policy, asks the circuit and the load tracker of that endpoint, makes a
/// clone of the service ready, and calls it:
///
/// - While the service is not ready, one more endpoint is made ready beside it, and the first that is ready is called.
///   So a service that takes its time to become ready loses requests to others, also those that the policy meant for it: a
///   client that connects should do so in its call, or [ahead of it](super::Discoverer::connect_with).
/// - An endpoint that fails to become ready is charged and avoided, and another one gets the untouched request, until each
///   member has been tried once. This costs no retry: no service has had the request.
/// - The answer is classified. Circuit, load and statistics learn from it, and a failure may be tried again when
///   [`retry`](super::Builder::retry) was asked for; also that of a request that must not be sent twice, when the error says
///   that [nobody had it](super::Builder::unsent).
/// - When nobody is eligible the request waits, until somebody is or until nobody has been for the
///   [fail-fast time](super::Builder::fail_fast) of the pool; then it fails, and so do all that come after it, at once.
///
/// - When everybody who is eligible is at its limit the request fails at once, with
///   [`AtCapacity`](crate::tower::BalancerErrorKind::AtCapacity); put a `tower` concurrency limit or buffer around the balancer
///   to queue.
///
/// # Readiness
///
/// [`poll_ready`](Service::poll_ready) never fails and reserves nothing: it is pending as long as nobody is eligible and the
/// fail-fast time has not passed; limits of endpoints play no part in it. A call without it is fine. Errors come from the future, as [`BalancerError`].
///
/// # Ending
///
/// When the last handle is dropped the [`Driver`](super::Driver) ends and all endpoints are let go of. Requests that have an
/// endpoint are seen through; those that wait for one keep the balancer open. [`shutdown`](Self::shutdown) closes it while
/// there are handles, and waits.
///
/// # Complexity
///
/// Per request: a pick of the policy, one permit, one ticket, a clone of the service. A request that its first endpoint
/// answers well allocates nothing, and nothing is written that all requests share, unless there are retries, hedges or time
/// limits, nobody is eligible, or a service is not ready when it is asked for the first time.
///
/// A failure allocates: an answer that counts as one once; an error of an endpoint twice, beside the box of the error itself;
/// a request that is refused, since nobody may take it, twice.
///
/// # Examples
///
/// ```
/// # #[cfg(feature = "tokio")]
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use poise::core::Backend;
/// use poise::discovery::Directory;
/// use poise::tower::Balancer;
/// use std::convert::Infallible;
///
/// let mut directory = Directory::new();
/// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
///
/// let balancer = Balancer::builder()
///     .discover(directory.reader(), |_key, backend| {
///         let to = *backend.id();
///         tower::service_fn(move |request: u32| async move { Ok::<_, Infallible>(format!("{request} by {to}")) })
///     })
///     .spawn()?;
/// assert_eq!(balancer.send(7).await?, "7 by 10.0.0.1:80");
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "tokio"))]
/// # fn main() {}
/// ```
pub struct Balancer<S, R, L: LoadTracker = PeakEwma> {
    handle: Arc<Handle<S, R, L>>,
    waker: WakerKey,
}

impl Balancer<(), (), ()> {
    /// Starts to configure a balancer.
    pub fn builder() -> Discoverer {
        Discoverer::new()
    }
}

impl<S, R, L: LoadTracker> Balancer<S, R, L> {
    pub(super) fn new(cluster: Arc<dyn Dispatch<S, R, L>>) -> Self {
        Self { handle: Arc::new(Handle::new(cluster)), waker: WakerKey::default() }
    }

    /// Sends a request, without the detour over readiness.
    ///
    /// The first pick is made at once: a future that is not polled yet holds a place and a permit of its endpoint already. The
    /// time of the [attempt limit](super::Builder::attempt_timeout) runs from the first poll.
    pub fn send(&self, request: R) -> ResponseFuture<S, R, L>
    where
        S: Service<R, Error: Into<BoxError>>,
    {
        ResponseFuture::new(&self.handle, request, Tried::none())
    }

    /// Sends a request past the endpoints of these names, as [`send`](Self::send) does in all else.
    ///
    /// They are avoided in every pick for the request, also when it waits, fails over or is tried again, under every policy.
    /// It is a preference: when nobody else can be picked, they are better than nobody. Names that no member has
    /// do nothing; see [`exclude`](Self::exclude) for what must not be picked at all.
    ///
    /// # Complexity
    ///
    /// Each pick looks at the name of every member; it allocates.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::Backend;
    /// use poise::discovery::Directory;
    /// use poise::tower::Balancer;
    /// use std::convert::Infallible;
    ///
    /// let mut directory = Directory::new();
    /// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
    /// directory.upsert("b", Backend::new("10.0.0.2:80"))?;
    /// let balancer = Balancer::builder()
    ///     .discover(directory.reader(), |key, _backend| {
    ///         let name = *key;
    ///         tower::service_fn(move |_request: ()| async move { Ok::<_, Infallible>(name) })
    ///     })
    ///     .spawn()?;
    /// let first = balancer.send(()).await?;
    /// let second = balancer.call_avoiding((), [first]).await?;
    /// assert_ne!(first, second);
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    pub fn call_avoiding<N: AsRef<str>>(
        &self,
        request: R,
        avoided: impl IntoIterator<Item = N>,
    ) -> ResponseFuture<S, R, L>
    where
        S: Service<R, Error: Into<BoxError>>,
    {
        ResponseFuture::new(&self.handle, request, Tried::avoiding(avoided))
    }

    /// Closes the balancer, for all clones of it, and waits until its attempts have ended.
    ///
    /// From the call on there is no new attempt: requests that come and those that wait for an endpoint fail with
    /// [`Closed`](crate::tower::BalancerErrorKind::Closed), and nothing is retried or hedged. Those that have an endpoint are
    /// seen through; none is cut off, as their futures belong to their callers. Endpoints without any are let go of at once, the others with their last one,
    /// and the [`Driver`](super::Driver) ends. The future resolves to the number of attempts that were still under way
    /// at the [drain deadline](super::Builder::drain_deadline), counted from the call. An attempt ends with the head of its response, or with the end
    /// of it when the balancer is [`guarded`](Self::guarded).
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::Backend;
    /// use poise::discovery::Directory;
    /// use poise::tower::{Balancer, BalancerErrorKind};
    /// use std::convert::Infallible;
    ///
    /// let mut directory = Directory::new();
    /// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
    /// let balancer = Balancer::builder()
    ///     .discover(directory.reader(), |_key, _backend| {
    ///         tower::service_fn(|request: u32| async move { Ok::<_, Infallible>(request) })
    ///     })
    ///     .spawn()?;
    /// let response = balancer.send(7);
    /// let (left_behind, response) = tokio::join!(balancer.shutdown(), response);
    /// assert_eq!((left_behind, response?), (0, 7));
    ///
    /// let error = balancer.send(8).await.unwrap_err();
    /// assert_eq!(*error.kind(), BalancerErrorKind::Closed);
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    pub fn shutdown(&self) -> Shutdown<S, R, L> {
        Shutdown::new(self.handle.cluster())
    }

    pub(super) fn handle(&self) -> &Handle<S, R, L> {
        &self.handle
    }

    /// Describes every member and the pool as they are now.
    ///
    /// # Complexity
    ///
    /// Linear in the number of members; it allocates.
    #[must_use]
    pub fn report(&self) -> Report {
        self.handle.cluster().report()
    }
}

impl<S, R, L> Service<R> for Balancer<S, R, L>
where
    S: Service<R, Error: Into<BoxError>>,
    L: LoadTracker,
{
    type Response = S::Response;
    type Error = BalancerError;
    type Future = ResponseFuture<S, R, L>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BalancerError>> {
        let cluster = self.handle.cluster();
        if cluster.is_ready() {
            return Poll::Ready(Ok(()));
        }
        cluster.register(&mut self.waker, cx.waker());
        if cluster.is_ready() { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn call(&mut self, request: R) -> ResponseFuture<S, R, L> {
        self.send(request)
    }
}

impl<S, R, L: LoadTracker> Clone for Balancer<S, R, L> {
    fn clone(&self) -> Self {
        Self { handle: Arc::clone(&self.handle), waker: WakerKey::default() }
    }
}

impl<S, R, L: LoadTracker> Drop for Balancer<S, R, L> {
    fn drop(&mut self) {
        self.handle.cluster().deregister(&mut self.waker);
    }
}

impl<S, R, L: LoadTracker> fmt::Debug for Balancer<S, R, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.report();
        f.debug_struct("Balancer")
            .field("revision", &report.revision)
            .field("members", &report.members.len())
            .field("eligible", &report.eligible())
            .finish_non_exhaustive()
    }
}
