//! The loop over all machines.

use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use super::super::cluster::Cluster;
use super::drains::{Drains, OnDrained};
use super::factory::Workshop;
use super::membership::Membership;
use super::outliers::Outliers;
use super::probes::{Probe, Probes};
use crate::core::{LoadMetric, LoadTracker, Now};
use crate::discovery::SnapshotReader;
use crate::health::EjectorConfig;
use crate::sync::lock;
use crate::tower::timer::Alarm;

/// Does the background work of one [`Balancer`](crate::tower::Balancer).
///
/// It brings memberships into effect, connects to new members ahead of requests and tries again what failed, reports drains
/// that are done, probes members, ejects members that fare worse than the others and lets them return, looks at circuits when their cooldown is over,
/// and lets requests fail fast when nobody has been eligible for too long. It ends when the last handle of the balancer is dropped, or when it is shut down.
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

/// The machines of a driver.
pub(in super::super) struct Driving<K, B, S, R, L: LoadTracker> {
    cluster: Arc<Cluster<K, B, S, R, L>>,
    membership: Membership<K, B, S, R, L>,
    drains: Drains<K, B>,
    probes: Option<Probes<K, B, S, R, L>>,
    outliers: Option<Outliers<K, B, S, R, L>>,
    alarm: Alarm,
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
    pub(in super::super) fn start(
        cluster: Arc<Cluster<K, B, S, R, L>>,
        workshop: Workshop<K, B, S, L>,
        reader: &SnapshotReader<K, B>,
        on_drained: Option<Box<OnDrained<K, B>>>,
        (probe, probing): (Option<Box<Probe<K, B>>>, NonZeroUsize),
        outliers: Option<EjectorConfig>,
    ) -> Self {
        let now = Now::at(cluster.settings.conduct.timer.now());
        let membership = Membership::start(workshop, reader, &cluster, &now);
        let mut outliers = outliers.map(Outliers::new);
        // The first interval begins with the pool.
        if let Some(outliers) = &mut outliers {
            outliers.poll(&cluster, &now);
        }
        let probes = probe.map(|probe| Probes::new(probe, probing));
        let drains = Drains::new(on_drained);
        Self { cluster, membership, drains, probes, outliers, alarm: Alarm::default() }
    }

    pub(in super::super) fn into_driver(self) -> Driver {
        // Nothing outlives the last handle, whether or not somebody keeps the driver that has ended.
        let mut driving = Some(self);
        Driver(Box::pin(poll_fn(move |cx| {
            let Some(machines) = &mut driving else { return Poll::Ready(()) };
            if machines.poll(cx).is_pending() {
                return Poll::Pending;
            }
            let cluster = Arc::clone(&machines.cluster);
            let conduct = &cluster.settings.conduct;
            conduct.discard(std::mem::take(&mut machines.membership.slots));
            if let Some(probes) = &mut machines.probes {
                probes.abandon(&cluster);
            }
            conduct.discard(driving.take());
            Poll::Ready(())
        })))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // Registered before anything is looked at, so that no change falls between.
        self.cluster.driver.register(cx.waker());
        loop {
            if self.cluster.is_closed() {
                return Poll::Ready(());
            }
            let now = Now::at(self.cluster.settings.conduct.timer.now());
            self.membership.poll(&self.cluster, cx, &now);
            self.drains.poll(&mut self.membership.slots, &self.cluster, &now);
            if let Some(probes) = &mut self.probes {
                probes.poll(&self.cluster, &now);
            }
            if let Some(outliers) = &mut self.outliers {
                outliers.poll(&self.cluster, &now);
            }
            self.cluster.sweep(&now);
            let at = self.acts_at(&now);
            ready!(self.alarm.poll(Some(&*self.cluster.settings.conduct.timer), at, cx));
        }
    }

    /// Returns when the first of the machines has something to do.
    fn acts_at(&self, now: &Now) -> Option<Instant> {
        let machines = [
            self.membership.acts_at(now),
            Drains::<K, B>::acts_at(&self.membership.slots),
            self.probes.as_ref().and_then(Probes::acts_at),
            self.outliers.as_ref().and_then(Outliers::acts_at),
            self.cluster.changes_at(now),
            self.cluster.fails_at(),
            lock(&self.cluster.ledger).expected,
        ];
        machines.into_iter().flatten().min()
    }
}

impl<K, B, S, R, L: LoadTracker> Drop for Driving<K, B, S, R, L> {
    fn drop(&mut self) {
        self.cluster.abandon();
    }
}
