//! Probes of members, apart from the traffic.

use std::collections::HashMap;
use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Instant;

use super::super::cluster::Cluster;
use super::super::dispatch::Dispatch;
use super::super::pool::{Member, Pool};
use super::polled::Polled;
use crate::core::{LoadMetric, LoadTracker, Now};
use crate::discovery::Discovered;
use crate::health::{ActiveHealth, HealthSignal, ProbeCompletion, ProbeOutcome, ProbeSchedule, StartedProbe};
use crate::tower::Event;

/// A probe on its way.
pub(in super::super) type Probing = Pin<Box<dyn Future<Output = ProbeOutcome> + Send>>;

/// Makes the probe of a member.
pub(in super::super) type Probe<K, B> = dyn FnMut(&Discovered<K, B>) -> Probing + Send;

/// Probes the members of the pool whenever that is due.
///
/// Each probe has its own deadline and its own waker, so that one that hangs holds up nobody.
pub(super) struct Probes<K, B, S, R, L: LoadTracker> {
    probe: Box<Probe<K, B>>,
    schedule: ProbeSchedule<Id>,
    /// Where the members stand in the pool.
    positions: HashMap<Id, usize>,
    flights: Vec<Flight>,
    /// The pool that was looked at last.
    pool: Weak<Pool<K, B, S, R, L>>,
}

/// Names the health of one allocation by where it lies. It stays there for as long as it is in the schedule.
type Id = usize;

fn id(health: &Arc<ActiveHealth>) -> Id {
    Arc::as_ptr(health).addr()
}

/// A probe that has started.
struct Flight {
    started: StartedProbe<Id>,
    deadline: Option<Instant>,
    probing: Polled<Probing>,
}

impl<K, B, S, R, L> Probes<K, B, S, R, L>
where
    K: Send + Sync,
    B: Send + Sync,
    S: Clone + Send + Sync,
    R: Send,
    L: LoadTracker<Ticket: Send> + LoadMetric + Send + Sync,
{
    pub(super) fn new(probe: Box<Probe<K, B>>, at_once: NonZeroUsize) -> Self {
        let schedule = ProbeSchedule::new().with_limit(at_once.get()).unwrap_or_default();
        Self { probe, schedule, positions: HashMap::new(), flights: Vec::new(), pool: Weak::new() }
    }

    /// Follows the pool, ends what has ended, and starts what is due.
    pub(super) fn poll(&mut self, cluster: &Cluster<K, B, S, R, L>, now: &Now) {
        let pool = cluster.pool.load_full();
        if !std::ptr::eq(self.pool.as_ptr(), Arc::as_ptr(&pool)) {
            self.pool = Arc::downgrade(&pool);
            self.follow(&pool, cluster, now);
        }
        loop {
            self.land(&pool, cluster, now);
            // One that has ended leaves its place to the next.
            if !self.launch(&pool, cluster, now) {
                return;
            }
        }
    }

    /// Returns when a probe is due or its time is over.
    pub(super) fn acts_at(&self) -> Option<Instant> {
        let deadlines = self.flights.iter().filter_map(|flight| flight.deadline);
        deadlines.chain(self.schedule.next_due()).min()
    }

    /// Gives up all probes.
    pub(super) fn abandon(&mut self, cluster: &Cluster<K, B, S, R, L>) {
        cluster.settings.conduct.discard(std::mem::take(&mut self.flights));
    }

    /// Probes the members of this pool, and nobody else.
    fn follow(&mut self, pool: &Pool<K, B, S, R, L>, cluster: &Cluster<K, B, S, R, L>, now: &Now) {
        let probed = |member: &Member<K, B, S, R, L>| member.endpoint().signals().probed().cloned();
        let members = || (0..).zip(&pool.members).filter_map(|(at, member)| Some((at, probed(member)?)));
        let before = std::mem::take(&mut self.positions);
        self.positions = members().map(|(at, health)| (id(&health), at)).collect();
        let gone = |id: &Id| !self.positions.contains_key(id);
        let left: Vec<_> = self.flights.extract_if(.., |flight| gone(flight.started.key())).collect();
        cluster.settings.conduct.discard(left);
        for id in before.into_keys().filter(gone) {
            self.schedule.remove(&id);
        }
        for (_, health) in members() {
            self.schedule.insert(id(&health), health, now);
        }
    }

    /// Starts what is due, and tells whether there was anything.
    fn launch(&mut self, pool: &Pool<K, B, S, R, L>, cluster: &Cluster<K, B, S, R, L>, now: &Now) -> bool {
        let mut any = false;
        while let Some(started) = self.schedule.start(now) {
            any = true;
            let member = self.positions.get(started.key()).and_then(|at| pool.members.get(*at));
            let probing = member.and_then(|member| {
                cluster.settings.conduct.contain("probe", || (self.probe)(member.discovered()))
            });
            let Some(probing) = probing else {
                started.complete(ProbeOutcome::Cancelled, now);
                continue;
            };
            let config = started.health().config();
            // Without a timeout of its own a probe ends when the next one is due.
            let deadline = started.started().checked_add(config.timeout().unwrap_or(config.interval()));
            self.flights.push(Flight { started, deadline, probing: Polled::new(probing, &cluster.driver) });
        }
        any
    }

    /// Ends what has answered, panicked, or run out of time.
    fn land(&mut self, pool: &Pool<K, B, S, R, L>, cluster: &Cluster<K, B, S, R, L>, now: &Now) {
        let mut place = 0;
        while let Some(flight) = self.flights.get_mut(place) {
            let Some((outcome, at)) = flight.poll(cluster, now) else {
                place += 1;
                continue;
            };
            let Flight { started, probing, .. } = self.flights.swap_remove(place);
            let _dropped = cluster.settings.conduct.contain("drop", || drop(probing));
            let member = self.positions.get(started.key()).and_then(|at| pool.members.get(*at));
            conclude(started, outcome, &at, member, cluster);
        }
    }
}

impl Flight {
    /// Returns what the probe has found out and when, if it has ended.
    fn poll<K, B, S, R, L: LoadTracker>(
        &mut self,
        cluster: &Cluster<K, B, S, R, L>,
        now: &Now,
    ) -> Option<(ProbeOutcome, Now)> {
        let conduct = &cluster.settings.conduct;
        match conduct.contain("probe", || self.probing.poll(|probing, cx| probing.as_mut().poll(cx))) {
            // That says nothing of the endpoint.
            None => Some((ProbeOutcome::Cancelled, now.clone())),
            Some(Poll::Ready(outcome)) => Some((outcome, now.clone())),
            // Its time was over at the deadline, however late the driver is.
            Some(Poll::Pending) => {
                let deadline = self.deadline.filter(|deadline| now.has_reached(*deadline))?;
                Some((ProbeOutcome::Unhealthy, Now::at(deadline)))
            }
        }
    }
}

/// Brings the end of a probe into effect, and tells of the verdict when it is another one than before.
fn conclude<K, B, S, R, L>(
    started: StartedProbe<Id>,
    outcome: ProbeOutcome,
    at: &Now,
    member: Option<&Member<K, B, S, R, L>>,
    cluster: &Cluster<K, B, S, R, L>,
) where
    K: Send + Sync,
    B: Send + Sync,
    S: Clone + Send + Sync,
    R: Send,
    L: LoadTracker<Ticket: Send> + LoadMetric + Send + Sync,
{
    let was_out = !started.health().exclusions(at).is_empty();
    let healthy = match started.complete(outcome, at) {
        ProbeCompletion::TurnedHealthy => true,
        ProbeCompletion::TurnedUnhealthy => false,
        _ => return,
    };
    let Some(endpoint) = member.map(Member::endpoint) else { return };
    if healthy && was_out {
        cluster.reseed(endpoint, at);
    }
    let epoch = endpoint.signals().probed().map_or(0, |health| health.epoch());
    cluster.settings.conduct.tell(&Event::Probed { endpoint: endpoint.name(), healthy, epoch });
}
