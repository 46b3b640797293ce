//! Balances tell observers whom they could not make ready.

use super::contain::contain;
use super::{Observer, ReadinessEvent};
use crate::tower::ReadinessObserver;

/// Tells an observer of each endpoint of a [`Balance`](crate::tower::Balance) that fails to become ready.
///
/// Such a failure is isolated: the endpoint is quarantined and the balance goes on with the others, so that no request would
/// show it. The observer hears [`readiness_failed`](Observer::readiness_failed), a [`Recorder`](super::Recorder) counts it,
/// and the error is dropped: nothing keeps it. To count errors and look at them too, call [`failed`](ReadinessObserver::failed)
/// from a closure.
///
/// Give it to [`Balance::observe_readiness`](crate::tower::Balance::observe_readiness), before the balance is put into a
/// `DiscoveryBalance`, where it is to be. A `Balancer` needs none: there endpoints fail in attempts, of which it tells.
///
/// # Complexity
///
/// Constant per failure, without allocation; nothing at all for a service that is ready or pending.
///
/// # Examples
///
/// ```
/// use futures_util::FutureExt;
/// use poise::observe::{ObservedReadiness, Recorder};
/// use poise::prelude::*;
/// use poise::tower::{Balance, Endpoint};
/// use std::task::{Context, Poll};
/// use tower::{Service, ServiceExt};
///
/// /// Stands for a client whose server may be down.
/// struct Client {
///     is_down: bool,
/// }
///
/// impl Service<()> for Client {
///     type Response = ();
///     type Error = std::io::Error;
///     type Future = std::future::Ready<std::io::Result<()>>;
///
///     fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
///         Poll::Ready(if self.is_down { Err(std::io::ErrorKind::ConnectionRefused.into()) } else { Ok(()) })
///     }
///
///     fn call(&mut self, (): ()) -> Self::Future {
///         std::future::ready(Ok(()))
///     }
/// }
///
/// let recorder = Recorder::new();
/// let endpoints = [("a", true), ("b", false)]
///     .map(|(name, is_down)| Endpoint::new(Backend::new(name), Client { is_down }));
/// let mut balance = Balance::new(RoundRobin::new(), endpoints)
///     .observe_readiness(ObservedReadiness::new(recorder.clone()).named_by(|id: &&'static str| *id));
///
/// let ready = balance.ready().now_or_never().expect("one is ready")?;
/// ready.call(()).now_or_never().expect("it answers at once")?;
/// assert_eq!(recorder.snapshot().readiness_failures(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ObservedReadiness<O, N = Unnamed> {
    observer: O,
    name: N,
}

/// Names no endpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unnamed;

impl<O: Observer> ObservedReadiness<O> {
    /// Tells `observer`, without the names of the endpoints.
    pub const fn new(observer: O) -> Self {
        Self { observer, name: Unnamed }
    }
}

impl<O: Observer, N> ObservedReadiness<O, N> {
    /// Says how an endpoint is called, for observers that write it down, such as `TracingObserver`.
    ///
    /// An endpoint whose name panics has none.
    pub fn named_by<Id: ?Sized, M: Fn(&Id) -> &str>(self, name: M) -> ObservedReadiness<O, M> {
        ObservedReadiness { observer: self.observer, name }
    }

    /// Returns the observer.
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    fn tell(&self, event: ReadinessEvent<'_>) {
        contain(|| self.observer.readiness_failed(&event.isolated()));
    }
}

impl<Id: ?Sized, E, O: Observer> ReadinessObserver<Id, E> for ObservedReadiness<O> {
    fn failed(&mut self, _: &Id, _: E) {
        self.tell(ReadinessEvent::new());
    }
}

impl<Id: ?Sized, E, O: Observer, N: Fn(&Id) -> &str> ReadinessObserver<Id, E> for ObservedReadiness<O, N> {
    fn failed(&mut self, endpoint: &Id, _: E) {
        let mut event = ReadinessEvent::new();
        contain(|| event = ReadinessEvent::at((self.name)(endpoint)));
        self.tell(event);
    }
}
