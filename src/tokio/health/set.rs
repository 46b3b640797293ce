//! Probing members that come and go.

use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use ::tokio::sync::Notify;

use super::attempt::attempt;
use super::runner::either;
use super::{ProbeEndCounts, ProbeReport, TimeoutPolicy};
use crate::core::{Changes, Now};
use crate::health::{ActiveHealth, ProbeOutcome, ProbeSchedule, StartedProbe};
use crate::sync::{AtomicBool, Mutex, Ordering, lock};
use crate::tokio::contain::{Panicked, contain};
use crate::tokio::flights::Flights;
use crate::tokio::wait::{now, sleep_until};

/// Probes the members of a set whenever that is due, by Tokio's clock.
///
/// The [`ProbeSchedule`] says how many at once and how newcomers are spread. Members are put in and taken out at any time,
/// also while [`run`](Self::run) is polled; clones are handles of the same set.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use poise::health::{ActiveHealth, ActiveHealthConfig, ProbeOutcome, ProbeSchedule, ProbeState};
/// use poise::tokio::{ProbeSet, TimeoutPolicy};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// let set = ProbeSet::new(ProbeSchedule::new(), TimeoutPolicy::Unhealthy);
/// let health = Arc::new(ActiveHealth::new(ActiveHealthConfig::default()));
/// set.insert("a", Arc::clone(&health));
///
/// let probe = |member: &&str| {
///     let is_well = *member == "a";
///     async move { if is_well { ProbeOutcome::Healthy } else { ProbeOutcome::Unhealthy } }
/// };
/// let running = tokio::spawn(set.run(probe, |_member, _report| {}));
/// tokio::time::sleep(Duration::from_secs(12)).await;
/// assert_eq!(health.state(), ProbeState::Healthy);
///
/// drop(set);
/// assert!(running.await.is_ok(), "it ends with the last handle");
/// # }
/// ```
pub struct ProbeSet<K> {
    shared: Arc<Shared<K>>,
    handle: Arc<Handle>,
}

struct Shared<K> {
    schedule: Mutex<ProbeSchedule<K>>,
    policy: TimeoutPolicy,
    counts: Mutex<ProbeEndCounts>,
    gate: Arc<Gate>,
}

/// Tells whoever runs the set that there is something to look at.
#[derive(Default)]
struct Gate {
    called: Notify,
    is_closed: AtomicBool,
}

/// Closes the gate with the last handle.
struct Handle(Arc<Gate>);

impl Drop for Handle {
    fn drop(&mut self) {
        // Release: whoever sees it closed sees what was done before.
        self.0.is_closed.store(true, Ordering::Release);
        self.0.called.notify_one();
    }
}

impl<K> ProbeSet<K> {
    /// Makes a set of the members that the schedule has.
    pub fn new(schedule: ProbeSchedule<K>, policy: TimeoutPolicy) -> Self {
        let gate = Arc::new(Gate::default());
        let listener = Arc::clone(&gate);
        schedule.watch(Changes::new(Arc::new(move || listener.called.notify_one())));
        let handle = Arc::new(Handle(Arc::clone(&gate)));
        let shared = Shared { schedule: Mutex::new(schedule), policy, counts: Mutex::default(), gate };
        Self { shared: Arc::new(shared), handle }
    }

    /// Returns the number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        lock(&self.shared.schedule).len()
    }

    /// Tells whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how the probes of all members came to their ends.
    #[must_use]
    pub fn counts(&self) -> ProbeEndCounts {
        *lock(&self.shared.counts)
    }
}

impl<K: Clone + Eq + Hash> ProbeSet<K> {
    /// Takes a member in, as [`ProbeSchedule::insert`] does.
    pub fn insert(&self, key: K, health: Arc<ActiveHealth>) -> Option<Arc<ActiveHealth>> {
        let previous = lock(&self.shared.schedule).insert(key, health, &Now::at(now()));
        self.shared.gate.called.notify_one();
        previous
    }

    /// Lets a member go, and returns its health. A probe of it that is under way goes on to its end.
    pub fn remove(&self, key: &K) -> Option<Arc<ActiveHealth>> {
        lock(&self.shared.schedule).remove(key)
    }

    /// Makes the future that sends the probes: `probe` makes that of a member, and `listener` is told of each.
    ///
    /// It ends with the last handle of the set, and with it the probes under way, which are cancelled. A set is meant to be
    /// run once at a time.
    ///
    /// Each probe has its own deadline, and at most as many are under way as the schedule allows. What panics is contained
    /// and counted: a probe as cancelled, and a listener is told of the next one.
    ///
    /// # Cancel safety
    ///
    /// The future can be dropped at any time: probes under way are dropped and their reservations cancelled. The set can
    /// then be run again.
    ///
    /// # Panics
    ///
    /// It panics when it is polled outside of a runtime with a timer.
    #[must_use = "nothing is probed unless the future is polled"]
    pub fn run<P, F, L>(&self, probe: P, listener: L) -> impl Future<Output = ()> + use<K, P, F, L>
    where
        P: Fn(&K) -> F,
        F: Future<Output = ProbeOutcome> + Send,
        L: FnMut(&K, &ProbeReport),
    {
        run(Arc::clone(&self.shared), probe, listener)
    }
}

impl<K> Clone for ProbeSet<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), handle: Arc::clone(&self.handle) }
    }
}

impl<K> fmt::Debug for ProbeSet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProbeSet")
            .field("schedule", &*lock(&self.shared.schedule))
            .field("policy", &self.shared.policy)
            .field("counts", &*lock(&self.shared.counts))
            .finish_non_exhaustive()
    }
}

async fn run<K, P, F, L>(shared: Arc<Shared<K>>, probe: P, mut listener: L)
where
    K: Clone + Eq + Hash,
    P: Fn(&K) -> F,
    F: Future<Output = ProbeOutcome> + Send,
    L: FnMut(&K, &ProbeReport),
{
    let mut flights = Flights::default();
    while !shared.gate.is_closed.load(Ordering::Acquire) {
        while let Some(started) = start(&shared) {
            flights.start(fly(started, &probe, shared.policy));
        }
        let next = lock(&shared.schedule).next_due();
        let (mut flying, mut waiting) =
            (pin!(flights.next()), pin!(either(shared.gate.called.notified(), sleep_until(next))));
        let ended = poll_fn(|context| match flying.as_mut().poll(context) {
            Poll::Ready(ended) => Poll::Ready(Some(ended)),
            Poll::Pending => waiting.as_mut().poll(context).map(|()| None),
        })
        .await;
        if let Some((key, report)) = ended {
            lock(&shared.counts).count(report.end);
            if contain(|| listener(&key, &report)) == Err(Panicked) {
                lock(&shared.counts).listeners_panicked += 1;
            }
        }
    }
}

/// A function of its own, so that the lock is not held while a probe is made.
fn start<K: Clone + Eq + Hash>(shared: &Shared<K>) -> Option<StartedProbe<K>> {
    lock(&shared.schedule).start(&Now::at(now()))
}

async fn fly<K, F: Future<Output = ProbeOutcome>>(
    started: StartedProbe<K>,
    probe: impl Fn(&K) -> F,
    policy: TimeoutPolicy,
) -> (K, ProbeReport)
where
    K: Clone,
{
    let (key, epoch, at) = (started.key().clone(), started.epoch(), started.started());
    let ended = attempt(|| probe(&key), started.health().config(), policy, at).await;
    let completion = started.complete(ended.outcome, &ended.at);
    (key, ProbeReport { end: ended.end, completion, epoch, elapsed: ended.at.since(at) })
}
