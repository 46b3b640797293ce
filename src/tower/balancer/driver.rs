//! What happens with no request flowing.

use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::cluster::Cluster;
use super::reconcile::{Incomplete, Workshop};
use super::settings::Sleep;
use crate::core::{LoadMetric, LoadTracker, Now};
use crate::discovery::{Snapshot, SnapshotReader, SnapshotStream};
use crate::sync::lock;

/// How long a membership that did not take effect in full waits until it is tried again, the first time and at most.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Does the background work of one [`Balancer`](super::Balancer).
///
/// It brings memberships into effect, tries again what could not be built, looks at circuits when their cooldown is over,
/// and lets requests fail fast when nobody has been eligible for too long. It ends when the last handle of the balancer is
/// dropped.
///
/// It runs on any executor; with the feature `tokio`, `Builder::spawn` spawns it. While it is not polled the balancer goes on
/// with the members that it has. When it is dropped, requests that find nobody eligible fail at once.
#[must_use = "the balancer learns of no change unless its driver is polled"]
pub struct Driver(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Driver")
    }
}

/// The state of a driver.
pub(super) struct Driving<K, B, S, R, L: LoadTracker> {
    cluster: Arc<Cluster<K, B, S, R, L>>,
    workshop: Workshop<K, B, S, L>,
    snapshots: Option<SnapshotStream<K, B>>,
    /// A membership that has not taken effect in full, when to try again, and after how long once more.
    pending: Option<(Snapshot<K, B>, Instant, Duration)>,
    sleep: Option<(Instant, Sleep)>,
}

impl<K, B, S, R, L> Driving<K, B, S, R, L>
where
    K: Eq + Hash + fmt::Display + Send + Sync + 'static,
    B: Send + Sync + 'static,
    S: Clone + Send + Sync + 'static,
    R: Send + 'static,
    L: LoadTracker<Ticket: Send> + LoadMetric + Send + Sync + 'static,
{
    /// Brings the current membership into effect, so that a new balancer can serve at once.
    pub(super) fn start(
        cluster: Arc<Cluster<K, B, S, R, L>>,
        workshop: Workshop<K, B, S, L>,
        reader: &SnapshotReader<K, B>,
    ) -> Self {
        let mut driving =
            Self { cluster, workshop, snapshots: Some(reader.subscribe()), pending: None, sleep: None };
        let snapshot = reader.load();
        if snapshot.revision().value() > 0 {
            driving.apply(snapshot, BACKOFF.0);
        }
        driving
    }

    pub(super) fn into_driver(mut self) -> Driver {
        Driver(Box::pin(poll_fn(move |cx| self.poll(cx))))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // Registered before anything is looked at, so that no change falls between.
        self.cluster.driver.register(cx.waker());
        loop {
            if self.cluster.is_closed() {
                return Poll::Ready(());
            }
            self.take_snapshots(cx);
            let now = Now::at(self.cluster.settings.timer.now());
            if let Some((snapshot, at, backoff)) = self.pending.take() {
                if now.has_reached(at) {
                    self.apply(snapshot, (backoff * 2).min(BACKOFF.1));
                } else {
                    self.pending = Some((snapshot, at, backoff));
                }
            }
            self.cluster.sweep(&now);
            if !self.poll_sleep(cx, &now) {
                return Poll::Pending;
            }
        }
    }

    fn take_snapshots(&mut self, cx: &mut Context<'_>) {
        while let Some(snapshots) = &mut self.snapshots {
            match snapshots.poll_next_snapshot(cx) {
                Poll::Ready(Some(snapshot)) if snapshot.revision() > self.cluster.pool.load().revision => {
                    self.apply(snapshot, BACKOFF.0);
                }
                Poll::Ready(Some(_)) => {}
                // A source that is gone leaves the last membership in effect.
                Poll::Ready(None) => self.snapshots = None,
                Poll::Pending => return,
            }
        }
    }

    fn apply(&mut self, snapshot: Snapshot<K, B>, backoff: Duration) {
        self.pending = None;
        // Whoever returns by now does so in the old pool: a new one cannot tell that it was away.
        self.cluster.revisit(&Now::at(self.cluster.settings.timer.now()));
        if let Err(Incomplete) = self.workshop.apply(&self.cluster, &snapshot) {
            let now = self.cluster.settings.timer.now();
            self.pending = now.checked_add(backoff).map(|at| (snapshot, at, backoff));
        }
    }

    /// Waits for the next thing that is due, and tells whether that is now.
    fn poll_sleep(&mut self, cx: &mut Context<'_>, now: &Now) -> bool {
        let pool = self.cluster.pool.load_full();
        // What was due has been looked at; a circuit whose cooldown is over changes with its next attempt.
        let changes = pool.members.iter().filter_map(|member| member.endpoint().changes_at(now));
        let changes = changes.filter(|at| !now.has_reached(*at));
        let pending = self.pending.as_ref().map(|(_, at, _)| *at);
        let waits = self.cluster.fails_at().into_iter().chain(lock(&self.cluster.ledger).expected);
        let Some(next) = changes.chain(pending).chain(waits).min() else {
            self.sleep = None;
            return false;
        };
        if self.sleep.as_ref().is_none_or(|(until, _)| *until != next) {
            self.sleep = Some((next, self.cluster.settings.timer.sleep_until(next)));
        }
        let due = self.sleep.as_mut().is_some_and(|(_, sleep)| sleep.as_mut().poll(cx).is_ready());
        if due {
            self.sleep = None;
        }
        due
    }
}

impl<K, B, S, R, L: LoadTracker> Drop for Driving<K, B, S, R, L> {
    fn drop(&mut self) {
        self.cluster.abandon();
    }
}
