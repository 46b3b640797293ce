//! A balance that follows a stream of snapshots.

use std::fmt;
use std::hash::Hash;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tower_service::Service;

use super::reconcile::Made;
use super::{
    DiscoveryBalance, EndpointFactory, ReconcileError, StreamEndPolicy, StreamingConfig, StreamingError,
    StreamingFuture,
};
use crate::core::{Policy, Prepare};
use crate::discovery::{Snapshot, SnapshotStream};
use crate::tower::timer::Alarm;
use crate::tower::{IgnoreFailures, NoContext, ReadinessObserver, RequestContext};

/// Balances over what a stream of snapshots says, with no task of its own.
///
/// Every `poll_ready` brings the newest snapshot into effect first, and then looks for an endpoint that can be called. The task
/// is woken by both, so whoever waits for readiness follows the membership too; while nobody polls, nothing changes.
///
/// - **A busy control plane starves nobody.** A poll that has applied as many snapshots as its
///   [budget](StreamingConfig::with_update_budget) wakes its task and is pending; the next one looks for endpoints whatever
///   comes in meanwhile.
/// - **A snapshot that fails** is [`StreamingError::Reconcile`], once. The membership before it stays, and later polls serve it
///   or apply a newer one. With [`report_failures`](StreamingConfig::report_failures) no poll fails, and the snapshot is tried
///   again.
/// - **When the publisher is gone** the last membership is served for good, or with [`StreamEndPolicy::FailClosed`] none.
///
/// # Examples
///
/// ```
/// use futures_util::FutureExt;
/// use poise::core::Backend;
/// use poise::core::policy::RoundRobin;
/// use poise::discovery::Directory;
/// use poise::tower::{DiscoveryBalance, StreamingConfig, StreamingDiscoveryBalance, in_flight_factory};
/// use std::convert::Infallible;
/// use tower::{ServiceExt, service_fn};
/// use tower_service::Service;
///
/// let mut directory = Directory::new();
/// let factory = in_flight_factory(|_key: &&str, backend: &Backend<&'static str>| {
///     let address = *backend.id();
///     Ok::<_, Infallible>(service_fn(move |(): ()| std::future::ready(Ok::<_, Infallible>(address))))
/// });
/// let mut balance = StreamingDiscoveryBalance::new(
///     DiscoveryBalance::new(RoundRobin::new(), factory),
///     directory.reader().subscribe(),
///     StreamingConfig::new(),
/// );
/// assert!(balance.ready().now_or_never().is_none(), "there is nobody yet");
///
/// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
/// let ready = balance.ready().now_or_never().expect("the endpoint is ready")?;
/// assert_eq!(ready.call(()).now_or_never().expect("it answers at once")?, "10.0.0.1:80");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StreamingDiscoveryBalance<K, B, F, P, X = NoContext, O = IgnoreFailures>
where
    F: EndpointFactory<K, B>,
{
    balance: DiscoveryBalance<K, B, F, P, X, O>,
    stream: SnapshotStream<K, B>,
    config: StreamingConfig,
    has_ended: bool,
    /// Whether the poll before this one spent its budget and was pending for that.
    has_yielded: bool,
    failed: Option<Failed<K, B, F::Error>>,
    failures: u64,
    alarm: Alarm,
}

/// A snapshot that did not take effect.
struct Failed<K, B, E> {
    snapshot: Snapshot<K, B>,
    error: ReconcileError<E>,
    /// How often in a row.
    times: u32,
    /// When it is tried again; never when that makes no sense.
    again_at: Option<Instant>,
}

impl<K, B, F, P, X, O> StreamingDiscoveryBalance<K, B, F, P, X, O>
where
    F: EndpointFactory<K, B>,
{
    /// Has `balance` follow `stream`.
    pub fn new(
        balance: DiscoveryBalance<K, B, F, P, X, O>,
        stream: SnapshotStream<K, B>,
        config: StreamingConfig,
    ) -> Self {
        Self {
            balance,
            stream,
            config,
            has_ended: false,
            has_yielded: false,
            failed: None,
            failures: 0,
            alarm: Alarm::default(),
        }
    }

    /// Returns the balance.
    pub fn balance(&self) -> &DiscoveryBalance<K, B, F, P, X, O> {
        &self.balance
    }

    /// Returns the balance, to reset endpoints for instance.
    pub fn balance_mut(&mut self) -> &mut DiscoveryBalance<K, B, F, P, X, O> {
        &mut self.balance
    }

    /// Returns why the newest snapshot is not in effect, when failures are
    /// [reported](StreamingConfig::report_failures).
    pub fn failure(&self) -> Option<&ReconcileError<F::Error>> {
        self.failed.as_ref().map(|failed| &failed.error)
    }

    /// Counts the failures since the start, those that were errors of `poll_ready` included.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Tells whether the publisher is gone and its last snapshot was seen.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }
}

impl<K, B, F, P, X, O> StreamingDiscoveryBalance<K, B, F, P, X, O>
where
    K: Eq + Hash,
    F: EndpointFactory<K, B>,
    P: Prepare<Made<K, B, F>>,
{
    /// Brings in what the stream has, as far as the budget goes. Answers whether there may be more.
    fn poll_discovery(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, ReconcileError<F::Error>>> {
        let mut updates = 0;
        while !self.has_ended {
            if updates == self.config.budget.get() {
                if !std::mem::replace(&mut self.has_yielded, true) {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                // Twice in a row is once too often: endpoints have their turn.
                self.has_yielded = false;
                return Poll::Ready(Ok(true));
            }
            match self.stream.poll_next_snapshot(cx) {
                Poll::Ready(Some(snapshot)) => {
                    updates += 1;
                    self.apply(snapshot, 0)?;
                }
                Poll::Ready(None) => self.has_ended = true,
                Poll::Pending => break,
            }
        }
        self.has_yielded = false;
        self.try_again(cx);
        Poll::Ready(Ok(false))
    }

    /// Brings a snapshot into effect that failed so many times before.
    fn apply(&mut self, snapshot: Snapshot<K, B>, times: u32) -> Result<(), ReconcileError<F::Error>> {
        self.failed = None;
        let Err(error) = self.balance.apply_snapshot(&snapshot) else { return Ok(()) };
        self.failures = self.failures.saturating_add(1);
        let Some((backoff, clock)) = &self.config.retry else { return Err(error) };
        let times = times.saturating_add(1);
        let is_lasting = matches!(error, ReconcileError::StaleRevision { .. });
        let pause = Some(backoff.pause(times)).filter(|_| !is_lasting);
        let again_at = pause.and_then(|pause| clock.now().instant().checked_add(pause));
        self.failed = Some(Failed { snapshot, error, times, again_at });
        Ok(())
    }

    /// Tries a snapshot again that failed, when its pause is over; until then the task is woken by that.
    fn try_again(&mut self, cx: &mut Context<'_>) {
        for _ in 0..2 {
            let Some((_, clock)) = &self.config.retry else { return };
            let Some(at) = self.failed.as_ref().and_then(|failed| failed.again_at) else { return };
            if !clock.now().has_reached(at) && self.alarm.poll(clock.timer(), Some(at), cx).is_pending() {
                return;
            }
            if let Some(failed) = self.failed.take() {
                // Failures are reported, so this is none.
                let _kept = self.apply(failed.snapshot, failed.times);
            }
        }
        // However often the timer goes off, others have their turn.
        cx.waker().wake_by_ref();
    }
}

impl<R, K, B, F, P, X, O> Service<R> for StreamingDiscoveryBalance<K, B, F, P, X, O>
where
    K: Eq + Hash,
    F: EndpointFactory<K, B, Service: Service<R>>,
    P: Policy<Made<K, B, F>, X::Key>,
    X: RequestContext<R>,
    O: ReadinessObserver<K, <F::Service as Service<R>>::Error>,
{
    type Response = <F::Service as Service<R>>::Response;
    type Error = StreamingError<<F::Service as Service<R>>::Error, F::Error>;
    type Future = StreamingFuture<
        <F::Service as Service<R>>::Future,
        <F::Service as Service<R>>::Error,
        F::Tracker,
        F::Error,
    >;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        let may_have_more = ready!(self.poll_discovery(cx)).map_err(StreamingError::Reconcile)?;
        if self.has_ended && self.config.end == StreamEndPolicy::FailClosed {
            return Poll::Ready(Err(StreamingError::Closed));
        }
        let ready = self.balance.poll_ready(cx).map_err(StreamingError::Balance);
        if may_have_more && ready.is_pending() {
            cx.waker().wake_by_ref();
        }
        ready
    }

    fn call(&mut self, request: R) -> Self::Future {
        StreamingFuture::new(self.balance.call(request))
    }
}

impl<K, B, F, P, X, O> fmt::Debug for StreamingDiscoveryBalance<K, B, F, P, X, O>
where
    K: fmt::Debug,
    F: EndpointFactory<K, B>,
    P: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamingDiscoveryBalance")
            .field("balance", &self.balance)
            .field("has_ended", &self.has_ended)
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}
