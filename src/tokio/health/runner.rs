//! Probing one endpoint.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use ::tokio::sync::Notify;

use super::attempt::attempt;
use super::{ProbeEndCounts, ProbeReport, TimeoutPolicy, TokioProbe};
use crate::core::{Changes, Now};
use crate::health::{ActiveHealth, ProbeReservation};
use crate::tokio::contain::{Panicked, contain};
use crate::tokio::wait::{now, sleep_until};

/// Probes one endpoint whenever that is due, by Tokio's clock.
///
/// A probe may take as long as the [timeout](crate::health::ActiveHealthConfig::with_timeout) of the configuration says,
/// in all that it does; what a longer one means is the [`TimeoutPolicy`]'s to say. While a state is forced nothing is
/// probed, and once that is lifted it is, at once.
///
/// A probe that panics is contained: it counts as cancelled, and the next one is sent when it is due.
///
/// # Cancel safety
///
/// The futures of [`next`](Self::next) and [`run`](Self::run) can be dropped at any time: a probe under way is dropped, and
/// its reservation cancelled.
///
/// # Panics
///
/// These futures panic when they are polled outside of a runtime with a timer.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use poise::health::{ActiveHealth, ActiveHealthConfig, ProbeCompletion, ProbeOutcome, ProbeState};
/// use poise::tokio::{ActiveHealthRunner, ProbeEnd, TimeoutPolicy};
/// use std::sync::Arc;
///
/// let health = Arc::new(ActiveHealth::new(ActiveHealthConfig::default()));
/// let hangs = || std::future::pending::<ProbeOutcome>();
/// let mut runner = ActiveHealthRunner::new(Arc::clone(&health), hangs, TimeoutPolicy::Unhealthy);
///
/// for _ in 0..3 {
///     assert_eq!(runner.next().await.end, ProbeEnd::TimedOut);
/// }
/// assert_eq!(health.state(), ProbeState::Unhealthy);
/// # }
/// ```
pub struct ActiveHealthRunner<P> {
    health: Arc<ActiveHealth>,
    probe: P,
    policy: TimeoutPolicy,
    /// Whether a probe has become due out of turn.
    called: Arc<Notify>,
    counts: ProbeEndCounts,
}

impl<P> ActiveHealthRunner<P> {
    /// Makes a runner, which becomes the one that `health` tells of [probes out of turn](ActiveHealth::watch_due).
    pub fn new(health: Arc<ActiveHealth>, probe: P, policy: TimeoutPolicy) -> Self {
        let called = Arc::new(Notify::new());
        let listener = Arc::clone(&called);
        health.watch_due(Changes::new(Arc::new(move || listener.notify_one())));
        Self { health, probe, policy, called, counts: ProbeEndCounts::default() }
    }

    /// Returns the health that the probes decide.
    pub const fn health(&self) -> &Arc<ActiveHealth> {
        &self.health
    }

    /// Returns how the probes of this runner came to their ends.
    #[must_use]
    pub const fn counts(&self) -> ProbeEndCounts {
        self.counts
    }

    /// Waits until a probe is due, and reserves it.
    async fn reserve(&self) -> ProbeReservation<Arc<ActiveHealth>> {
        loop {
            match self.health.try_reserve_owned(&Now::at(now())) {
                Ok(reservation) => return reservation,
                Err(rejection) => either(self.called.notified(), sleep_until(rejection.retry_at())).await,
            }
        }
    }
}

impl<P: TokioProbe> ActiveHealthRunner<P> {
    /// Waits until a probe is due, sends it, and says how it went.
    pub async fn next(&mut self) -> ProbeReport {
        let reservation = self.reserve().await;
        let (epoch, started) = (reservation.epoch(), reservation.reserved_at());
        let ended = attempt(|| self.probe.probe(), self.health.config(), self.policy, started).await;
        let completion = reservation.complete(ended.outcome, &ended.at);
        self.counts.count(ended.end);
        ProbeReport { end: ended.end, completion, epoch, elapsed: ended.at.since(started) }
    }

    /// Sends probe after probe, and tells `listener` of each. It never ends.
    ///
    /// A listener that panics is counted, and told of the next one.
    pub async fn run(&mut self, mut listener: impl FnMut(&ProbeReport)) -> Infallible {
        loop {
            let report = self.next().await;
            if contain(|| listener(&report)) == Err(Panicked) {
                self.counts.listeners_panicked += 1;
            }
        }
    }
}

impl<P> fmt::Debug for ActiveHealthRunner<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActiveHealthRunner")
            .field("health", &self.health)
            .field("policy", &self.policy)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

/// Waits for whichever is ready first.
pub(super) async fn either(one: impl Future<Output = ()>, other: impl Future<Output = ()>) {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|context| {
        let ready = one.as_mut().poll(context).is_ready() || other.as_mut().poll(context).is_ready();
        if ready { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
