//! The pool.

use std::fmt;
use std::hash::{BuildHasher, Hash};

use super::entry::{Entry, Sample};
use super::recent::Recent;
use super::{Order, ProbeAnswer, ProbeConfig};
use crate::core::{Changes, Now, Rng, StableBuildHasher};
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock};

/// How many answers a pool keeps at most.
pub(super) const MOST: usize = 16;

/// Keeps the last answers to probes of one client, one for each member, for [`Prequal`](crate::core::policy::Prequal).
///
/// 1. Each query is worth some probes, which may be a fraction: [`take_due`](Self::take_due) says how many are owed.
///    Whoever drives the pool asks that many members at random, none of them twice, and [inserts](Self::insert) the answers.
/// 2. A query takes the best answer: of the cold servers, whose requests in flight do not exceed a quantile of what was
///    answered of late, the quickest; when all are hot, the one with the fewest in flight.
/// 3. A query makes an answer older than it is: its requests in flight are counted up, and after
///    [a number of uses](ProbeConfig::reuse) it is gone.
/// 4. Each query throws some answers away, the oldest and the worst in turn, so that the pool does not degrade to those
///    that nobody wants. An answer past the age limit is gone, and so is one that lies further ahead of a clock
///    that went back.
/// 5. In a full pool an answer takes the place of that of the same member, or of the oldest one.
///
/// Members are told apart by a hash of their identity, so the pool outlives changes of the membership: answers of those
/// that left are passed over until they are too old.
///
/// # Threads
///
/// A query reads and writes the few words of the answers and takes no lock; a use that races with another is counted by
/// exchange. Inserting takes a lock, which only other inserts want.
///
/// # Examples
///
/// ```
/// use poise::core::policy::Prequal;
/// use poise::core::{Backend, Now, Policy, ProbeAnswer, ProbePool};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// let pool = Arc::new(ProbePool::new());
/// let policy = Prequal::over(Arc::clone(&pool));
/// let members = ["a", "b", "c"].map(Backend::new);
///
/// pool.insert("a", ProbeAnswer::new(2, Duration::from_millis(40)), &Now::lazy());
/// pool.insert("c", ProbeAnswer::new(2, Duration::from_millis(15)), &Now::lazy());
/// assert_eq!(policy.pick(&members, &())?.index(), 2, "both are cold, and c is quicker");
/// assert_eq!(pool.take_due(), 3, "probes for that query");
/// # Ok::<(), poise::core::PickError>(())
/// ```
pub struct ProbePool {
    config: ProbeConfig,
    /// The age limit in nanoseconds.
    max_age: u64,
    rng: Rng,
    entries: [Entry; MOST],
    /// From how many requests in flight on a server is hot.
    hot_from: AtomicU64,
    queries: AtomicU64,
    /// How many of the probes that queries are worth were handed out.
    handed_out: AtomicU64,
    /// Who holds it is the only one that writes answers.
    recent: Mutex<Recent>,
    driver: Mutex<Changes>,
    /// Whether there is a driver.
    is_watched: AtomicBool,
    /// Whether the driver has found nothing due, and wants to be told.
    is_waiting: AtomicBool,
}

impl ProbePool {
    /// Makes an empty pool with the [default settings](ProbeConfig).
    #[must_use]
    pub fn new() -> Self {
        Self::with_config(ProbeConfig::new())
    }

    /// Makes an empty pool.
    #[must_use]
    pub fn with_config(config: ProbeConfig) -> Self {
        let recent = Recent::new();
        Self {
            rng: config.seed().map_or_else(Rng::thread, Rng::seeded),
            entries: std::array::from_fn(|_| Entry::new()),
            hot_from: AtomicU64::new(recent.hot_from(config.quantile())),
            queries: AtomicU64::new(0),
            handed_out: AtomicU64::new(0),
            recent: Mutex::new(recent),
            driver: Mutex::new(Changes::default()),
            is_watched: AtomicBool::new(false),
            is_waiting: AtomicBool::new(false),
            max_age: u64::try_from(config.max_age().as_nanos()).unwrap_or(u64::MAX),
            config,
        }
    }

    /// Returns the settings.
    #[must_use]
    pub const fn config(&self) -> &ProbeConfig {
        &self.config
    }

    /// Takes the number of probes that queries have earned since the last call.
    ///
    /// No more than the capacity are handed out at once: what a driver has slept through is not made up for. When it is none,
    /// whoever [watches](Self::watch_due) is told of the next one.
    #[must_use = "probes that are taken and not sent starve the pool"]
    pub fn take_due(&self) -> usize {
        match self.take_earned(self.queries.load(Ordering::Relaxed)) {
            0 if self.is_watched.load(Ordering::Relaxed) => {
                // Release: whoever finds it finds the driver that watches.
                self.is_waiting.store(true, Ordering::Release);
                // Adds nothing, but has a place among the queries, which count by the same kind of exchange: those before are
                // seen here, and to those after, by Release here and Acquire there, the driver is seen to wait.
                self.take_earned(self.queries.fetch_add(0, Ordering::Release))
            }
            due => due,
        }
    }

    /// Has `driver` told when probes are due again after [`take_due`](Self::take_due) found none. There is one driver: it
    /// takes the place of the last one, which is dropped, as this one is with the pool.
    ///
    /// It is told by the query that makes a probe due, once, on the thread of that query.
    pub fn watch_due(&self, driver: Changes) {
        let previous = std::mem::replace(&mut *lock(&self.driver), driver);
        self.is_watched.store(true, Ordering::Relaxed);
        // Whoever is told of the end of the last one may look at the pool.
        drop(previous);
    }

    /// Takes what so many queries have earned.
    fn take_earned(&self, queries: u64) -> usize {
        let earned = self.config.probes.after(queries);
        let before = self.handed_out.fetch_max(earned, Ordering::Relaxed);
        usize::try_from(earned.saturating_sub(before)).unwrap_or(usize::MAX).min(self.config.capacity())
    }

    /// Keeps what the member with this identity has answered.
    ///
    /// Add the failures that the client has seen: [`ProbeAnswer::with_failures`], for example with
    /// [`PeakEwma::consecutive_failures`](crate::core::PeakEwma::consecutive_failures).
    pub fn insert<Id: Hash + ?Sized>(&self, id: &Id, answer: ProbeAnswer, now: &Now) {
        let identity = identity_of(id);
        let now = now.nanos();
        let mut recent = lock(&self.recent);
        recent.add(answer.rif());
        self.hot_from.store(recent.hot_from(self.config.quantile()), Ordering::Relaxed);
        let (latency, rif) = (answer.penalised_latency(), answer.penalised_rif());
        self.place_for(identity, now).write(identity, now, latency, rif);
    }

    /// Throws the answer of a member away, for example because a probe of it failed.
    pub fn forget<Id: Hash + ?Sized>(&self, id: &Id) {
        let identity = identity_of(id);
        let _writing = lock(&self.recent);
        for (place, entry) in self.entries.iter().enumerate() {
            if let Some(sample) = entry.read(place).filter(|sample| sample.identity == identity) {
                entry.clear(&sample);
            }
        }
    }

    /// Returns how many answers can be used now.
    #[must_use]
    pub fn len(&self, now: &Now) -> usize {
        self.samples(now).len
    }

    /// Tells whether no answer can be used now.
    #[must_use]
    pub fn is_empty(&self, now: &Now) -> bool {
        self.len(now) == 0
    }

    /// Returns how answers are ordered now.
    #[inline]
    pub(crate) fn order(&self) -> Order {
        Order { hot_from: self.hot_from.load(Ordering::Relaxed) }
    }

    /// Learns what servers have in flight from answers that are not kept.
    pub(crate) fn observe(&self, answers: impl Iterator<Item = ProbeAnswer>) {
        let mut recent = lock(&self.recent);
        answers.for_each(|answer| recent.add(answer.rif()));
        self.hot_from.store(recent.hot_from(self.config.quantile()), Ordering::Relaxed);
    }

    /// Copies the answers that can be used now.
    #[inline]
    pub(crate) fn samples(&self, now: &Now) -> Samples {
        let mut samples = Samples { kept: [None; MOST], len: 0 };
        let now = now.nanos();
        for (place, entry) in self.entries[..self.config.capacity()].iter().enumerate() {
            let Some(sample) = entry.read(place) else { continue };
            if self.is_alive(&sample, now) {
                samples.kept[samples.len] = Some(sample);
                samples.len += 1;
            }
        }
        samples
    }

    /// Uses an answer for a query among this many members.
    #[inline]
    pub(crate) fn spend(&self, samples: &mut Samples, at: usize, members: usize) {
        let Some(sample) = samples.kept[at].take() else { return };
        let entry = &self.entries[sample.place];
        let Some(left) = entry.spend(&sample) else { return };
        // Of a limit of 1.3 uses three tenths of the answers get a second one.
        let rest = self.config.reuse(members) - left.used() as f64;
        if rest >= 1.0 || rest > 0.0 && self.rng.unit() < rest {
            samples.kept[at] = Some(left);
        } else {
            entry.clear(&left);
        }
    }

    #[cold]
    fn call_driver(&self) {
        let earned = self.config.probes.after(self.queries.load(Ordering::Relaxed));
        let is_due = earned > self.handed_out.load(Ordering::Relaxed);
        // Acquire: the driver below is the one that waits, or a later one.
        if is_due && self.is_waiting.swap(false, Ordering::Acquire) {
            let driver = lock(&self.driver).clone();
            driver.notify();
        }
    }

    /// Counts a query, and throws away what it makes go.
    #[inline]
    pub(crate) fn end_query(&self, samples: &mut Samples, order: Order) {
        // Acquire: a driver that has looked before waits for this query.
        let before = self.queries.fetch_add(1, Ordering::Acquire);
        if self.is_waiting.load(Ordering::Relaxed) {
            self.call_driver();
        }
        let removals = self.config.removals;
        let (from, to) = (removals.after(before), removals.after(before.wrapping_add(1)));
        for turn in from..to {
            let gone = if turn % 2 == 0 { samples.oldest() } else { samples.worst(order) };
            let Some(sample) = gone.and_then(|at| samples.kept[at].take()) else { return };
            self.entries[sample.place].clear(&sample);
        }
    }

    /// Finds where the answer of a member goes: to its last one, a free place, or the oldest one.
    fn place_for(&self, identity: u64, now: u64) -> &Entry {
        let mut best = (0, u64::MAX);
        for (place, entry) in self.entries[..self.config.capacity()].iter().enumerate() {
            let sample = entry.read(place);
            if sample.is_some_and(|sample| sample.identity == identity) {
                return entry;
            }
            let alive = sample.filter(|sample| self.is_alive(sample, now));
            let received = alive.map_or(0, |sample| age_order(sample.received, now));
            if received < best.1 {
                best = (place, received);
            }
        }
        &self.entries[best.0]
    }

    fn is_alive(&self, sample: &Sample, now: u64) -> bool {
        now.wrapping_sub(sample.received).cast_signed().unsigned_abs() <= self.max_age
    }
}

impl Default for ProbePool {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ProbePool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProbePool")
            .field("config", &self.config)
            .field("queries", &self.queries.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}

fn identity_of<Id: Hash + ?Sized>(id: &Id) -> u64 {
    StableBuildHasher::default().hash_one(id)
}

/// Maps times, which wrap, to numbers that grow with them, none of them zero.
fn age_order(received: u64, now: u64) -> u64 {
    (received.wrapping_sub(now) ^ 1 << 63).max(1)
}

/// What one query saw of a pool.
pub(crate) struct Samples {
    kept: [Option<Sample>; MOST],
    pub(crate) len: usize,
}

impl Samples {
    /// Lists the answers with their places here.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Sample)> {
        self.kept[..self.len].iter().enumerate().filter_map(|(at, sample)| Some((at, sample.as_ref()?)))
    }

    fn oldest(&self) -> Option<usize> {
        let newest = self.iter().next()?.1.received;
        self.iter().min_by_key(|(_, sample)| age_order(sample.received, newest)).map(|(at, _)| at)
    }

    fn worst(&self, order: Order) -> Option<usize> {
        self.iter().max_by_key(|(_, sample)| order.rank(sample.rif(), sample.latency)).map(|(at, _)| at)
    }
}
