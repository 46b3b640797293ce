//! When to probe whom.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::core::spread::part;
use crate::core::{Changes, Listener, Now, Rng, ZeroLimit};
use crate::sync::{AtomicUsize, Mutex, Ordering, lock};

use super::{ActiveHealth, ProbeCompletion, ProbeOutcome, ProbeReservation};

/// Keeps the probes of a changing set of members: who is next, and how many at once.
///
/// It sends nothing and waits for nothing, so any driver can use it: start what is due with [`start`](Self::start) until
/// that gives nothing, then wait until [`next_due`](Self::next_due), until a started probe ends, or until the
/// [watcher](Self::watch) is notified, and start again.
///
/// At most [a limit](Self::with_limit) of probes is under way at once, by default 16, and whoever has waited longest is
/// next. So a probe that hangs delays no other member for longer than its own timeout. The first probe of a newcomer starts
/// within a [jitter](Self::with_start_jitter), by default a second or the interval if that is shorter: many members that
/// come together are not probed in one burst, and go on as spread as they began.
///
/// # Complexity
///
/// Each step takes time logarithmic in the number of members.
///
/// # Examples
///
/// ```
/// use poise::core::Now;
/// use poise::health::{ActiveHealth, ActiveHealthConfig, ProbeOutcome, ProbeSchedule};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// let mut schedule = ProbeSchedule::new().with_start_jitter(Duration::ZERO);
/// let now = Now::lazy();
/// for member in ["a", "b"] {
///     schedule.insert(member, Arc::new(ActiveHealth::new(ActiveHealthConfig::default())), &now);
/// }
/// let mut probed = Vec::new();
/// while let Some(probe) = schedule.start(&now) {
///     probed.push(*probe.key());
///     probe.complete(ProbeOutcome::Healthy, &now);
/// }
/// assert_eq!(probed, ["a", "b"]);
/// assert_eq!(schedule.next_due(), Some(now.instant() + Duration::from_secs(10)));
/// ```
pub struct ProbeSchedule<K> {
    numbers: HashMap<K, u64>,
    /// By number, which grows in the order of arrival.
    members: BTreeMap<u64, Scheduled<K>>,
    /// The members that have a time, in its order.
    queue: BTreeSet<(Instant, u64)>,
    newest: u64,
    limit: usize,
    under_way: Arc<AtomicUsize>,
    start_jitter: Duration,
    rng: Rng,
    lifted: Arc<Lifted>,
}

#[derive(Debug)]
struct Scheduled<K> {
    key: K,
    health: Arc<ActiveHealth>,
    /// Its place in the queue, if it has one.
    at: Option<Instant>,
}

impl<K> ProbeSchedule<K> {
    const DEFAULT_LIMIT: usize = 16;
    const DEFAULT_START_JITTER: Duration = Duration::from_secs(1);

    /// Makes a schedule of nobody.
    #[must_use]
    pub fn new() -> Self {
        Self {
            numbers: HashMap::new(),
            members: BTreeMap::new(),
            queue: BTreeSet::new(),
            newest: 0,
            limit: Self::DEFAULT_LIMIT,
            under_way: Arc::default(),
            start_jitter: Self::DEFAULT_START_JITTER,
            rng: Rng::thread(),
            lifted: Arc::default(),
        }
    }

    /// Sets how many probes may be under way at once.
    ///
    /// # Errors
    ///
    /// [`ZeroLimit`].
    pub fn with_limit(self, limit: usize) -> Result<Self, ZeroLimit> {
        if limit == 0 { Err(ZeroLimit) } else { Ok(Self { limit, ..self }) }
    }

    /// Sets within which time the first probe of a newcomer starts, evenly drawn; never more than its interval.
    #[must_use]
    pub fn with_start_jitter(self, start_jitter: Duration) -> Self {
        Self { start_jitter, ..self }
    }

    /// Makes the jitter reproducible.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { rng: Rng::seeded(seed), ..self }
    }

    /// Takes the handle to notify when a probe becomes due out of turn. The last handle is kept.
    pub fn watch(&self, changes: Changes) {
        let previous = std::mem::replace(&mut *lock(&self.lifted.driver), changes);
        drop(previous);
    }

    /// Returns the number of members.
    #[must_use]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Tells whether there is no member.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the number of started probes that have not ended.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.under_way.load(Ordering::Relaxed)
    }

    /// Returns when [`start`](Self::start) is worth another call although no probe ends, which may be past; `None` while as
    /// many are under way as may be, and when nothing is due by time alone.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        if self.under_way() >= self.limit { None } else { self.queue.first().map(|(at, _)| *at) }
    }
}

impl<K: Clone + Eq + Hash> ProbeSchedule<K> {
    /// Takes a member in, and returns the health of the one of the same key that leaves for it. The same allocation once
    /// more changes nothing.
    ///
    /// The schedule becomes the one that `health` tells of [probes out of turn](ActiveHealth::watch_due).
    pub fn insert(&mut self, key: K, health: Arc<ActiveHealth>, now: &Now) -> Option<Arc<ActiveHealth>> {
        if self.health(&key).is_some_and(|present| Arc::ptr_eq(present, &health)) {
            return None;
        }
        let previous = self.remove(&key);
        self.newest += 1;
        let number = self.newest;
        health.watch_due(Changes::new(Arc::new(Caller { number, lifted: Arc::clone(&self.lifted) })));
        let due = health.next_due(now);
        let at =
            due.and_then(|due| if now.has_reached(due) { self.first_start(&health, now) } else { Some(due) });
        self.numbers.insert(key.clone(), number);
        self.members.insert(number, Scheduled { key, health, at });
        self.queue.extend(at.map(|at| (at, number)));
        previous
    }

    /// Lets a member go, and returns its health. A probe of it that is under way may go on.
    pub fn remove(&mut self, key: &K) -> Option<Arc<ActiveHealth>> {
        let number = self.numbers.remove(key)?;
        let member = self.members.remove(&number)?;
        self.queue.extract(member.at, number);
        member.health.watch_due(Changes::default());
        Some(member.health)
    }

    /// Returns the health of a member.
    #[must_use]
    pub fn health(&self, key: &K) -> Option<&Arc<ActiveHealth>> {
        let number = self.numbers.get(key)?;
        self.members.get(number).map(|member| &member.health)
    }

    /// Starts the probe that has been due for longest, if one is due and the limit allows it.
    #[must_use = "dropping the probe cancels it at once"]
    pub fn start(&mut self, now: &Now) -> Option<StartedProbe<K>> {
        self.call_up(now);
        while self.under_way() < self.limit {
            let (at, number) = *self.queue.first()?;
            if !now.has_reached(at) {
                return None;
            }
            let member = self.members.get_mut(&number)?;
            let reservation = member.health.try_reserve_owned(now);
            // Either way that lies ahead, so the next look is at another member.
            let next = match &reservation {
                Ok(_) => member.health.next_due(now),
                Err(rejection) => rejection.retry_at(),
            };
            member.at = next;
            let key = member.key.clone();
            self.queue.pop_first();
            self.queue.extend(next.map(|next| (next, number)));
            if let Ok(reservation) = reservation {
                let place = Place::take(&self.under_way);
                return Some(StartedProbe { key, reservation, place });
            }
        }
        None
    }

    fn first_start(&self, health: &ActiveHealth, now: &Now) -> Option<Instant> {
        let jitter = part(self.start_jitter.min(health.config().interval()), self.rng.unit());
        now.instant().checked_add(jitter)
    }

    /// Puts those whose forced state was lifted where they belong now.
    fn call_up(&mut self, now: &Now) {
        for number in self.lifted.take() {
            if let Some(member) = self.members.get_mut(&number) {
                self.queue.extract(member.at, number);
                member.at = member.health.next_due(now);
                self.queue.extend(member.at.map(|at| (at, number)));
            }
        }
    }
}

impl<K> Default for ProbeSchedule<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> fmt::Debug for ProbeSchedule<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProbeSchedule")
            .field("members", &self.len())
            .field("under_way", &self.under_way())
            .field("next_due", &self.next_due())
            .finish_non_exhaustive()
    }
}

trait Extract {
    /// Takes out the entry of a member that has a place.
    fn extract(&mut self, at: Option<Instant>, number: u64);
}

impl Extract for BTreeSet<(Instant, u64)> {
    fn extract(&mut self, at: Option<Instant>, number: u64) {
        if let Some(at) = at {
            self.remove(&(at, number));
        }
    }
}

/// Guards a probe that a [`ProbeSchedule`] has started: its reservation, and its place among those under way.
///
/// A drop cancels the probe, as for a [`ProbeReservation`], and gives the place back.
#[must_use = "dropping the probe cancels it at once"]
#[derive(Debug)]
pub struct StartedProbe<K> {
    key: K,
    reservation: ProbeReservation<Arc<ActiveHealth>>,
    place: Place,
}

impl<K> StartedProbe<K> {
    /// Returns which member is to be probed.
    pub fn key(&self) -> &K {
        &self.key
    }

    /// Returns the health of that member.
    pub fn health(&self) -> &ActiveHealth {
        self.reservation.health()
    }

    /// Returns when the probe was started.
    pub fn started(&self) -> Instant {
        self.reservation.reserved_at()
    }

    /// Returns the epoch in which the probe was reserved.
    pub fn epoch(&self) -> u64 {
        self.reservation.epoch()
    }

    /// Ends the probe with an outcome and says what that did.
    pub fn complete(self, outcome: ProbeOutcome, now: &Now) -> ProbeCompletion {
        // The place is free before anybody is told of a transition.
        drop(self.place);
        self.reservation.complete(outcome, now)
    }
}

/// One of the probes under way.
#[derive(Debug)]
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(under_way: &Arc<AtomicUsize>) -> Self {
        // Relaxed: only the number counts, and only the owner of the schedule raises it.
        under_way.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(under_way))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Gathers the members whose forced state was lifted since the last look.
#[derive(Debug, Default)]
struct Lifted {
    /// A set, so that it grows with the membership and not with what an operator does to it.
    numbers: Mutex<BTreeSet<u64>>,
    driver: Mutex<Changes>,
}

impl Lifted {
    fn take(&self) -> BTreeSet<u64> {
        std::mem::take(&mut *lock(&self.numbers))
    }
}

/// Names one member to the schedule.
struct Caller {
    number: u64,
    lifted: Arc<Lifted>,
}

impl Listener for Caller {
    fn changed(&self) {
        lock(&self.lifted.numbers).insert(self.number);
        let driver = lock(&self.lifted.driver).clone();
        driver.notify();
    }
}
