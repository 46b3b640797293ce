//! What the clones of a balancer, its requests and its driver share.

use std::sync::{Arc, Weak};
use std::time::Instant;

use futures_util::task::AtomicWaker;

use super::departed::Departed;
use super::endpoint::Endpoint;
use super::panic::PanicPolicy;
use super::pool::{Member, Pool};
use super::settings::Settings;
use crate::core::{Listener, LoadTracker, Now, PickError};
use crate::health::ExclusionBudget;
use crate::sync::swap::ArcSwap;
use crate::sync::wakers::WakerSet;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering, lock};
use crate::tower::Event;

/// The state behind all clones of one balancer.
pub(super) struct Cluster<K, B, S, R, L: LoadTracker> {
    pub(super) settings: Settings<Member<K, B, S, R, L>, S, R>,
    pub(super) pool: ArcSwap<Pool<K, B, S, R, L>>,
    pub(super) budget: Arc<ExclusionBudget>,
    pub(super) ledger: Mutex<Ledger>,
    pub(super) driver: Arc<AtomicWaker>,
    /// Endpoints that are members no more and have attempts under way.
    pub(super) departed: Departed<S, R, L>,
    pub(super) waiters: WakerSet,
    pub(super) changes: AtomicU64,
    /// How many wait for a place at an endpoint that is full.
    pub(super) places_wanted: AtomicUsize,
    pub(super) available: AtomicBool,
    pub(super) failing: AtomicBool,
    pub(super) panicking: AtomicBool,
    pub(super) driven: AtomicBool,
    pub(super) closed: AtomicBool,
}

/// What changes with transitions; whoever flips or swaps holds it.
#[derive(Default)]
pub(super) struct Ledger {
    /// Since when nobody has been eligible.
    pub(super) unavailable_since: Option<Instant>,
    /// When the first of those ends its wait to whom the pool is of no use although somebody is eligible.
    pub(super) expected: Option<Instant>,
    /// Members of the latest membership without a service.
    pub(super) unbuilt: usize,
    /// Why the policy refused the latest membership, if it did.
    pub(super) refused: Option<PickError>,
    pub(super) last_update: Option<Instant>,
    pub(super) last_error: Option<Arc<str>>,
}

impl<K, B, S, R, L: LoadTracker> Cluster<K, B, S, R, L> {
    pub(super) fn new(settings: Settings<Member<K, B, S, R, L>, S, R>, budget: ExclusionBudget) -> Self {
        let now = settings.conduct.timer.now();
        Self {
            settings,
            pool: ArcSwap::from_pointee(Pool::empty()),
            budget: Arc::new(budget),
            ledger: Mutex::new(Ledger { unavailable_since: Some(now), ..Ledger::default() }),
            driver: Arc::new(AtomicWaker::new()),
            departed: Departed::new(),
            waiters: WakerSet::new(),
            changes: AtomicU64::new(0),
            places_wanted: AtomicUsize::new(0),
            available: AtomicBool::new(false),
            failing: AtomicBool::new(false),
            panicking: AtomicBool::new(false),
            driven: AtomicBool::new(true),
            closed: AtomicBool::new(false),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Returns when requests start to fail at once, unless somebody becomes eligible.
    pub(super) fn fails_at(&self) -> Option<Instant> {
        if self.failing.load(Ordering::Acquire) {
            return None;
        }
        self.fail_fast_deadline(&lock(&self.ledger))
    }

    fn fail_fast_deadline(&self, ledger: &Ledger) -> Option<Instant> {
        ledger.unavailable_since?.checked_add(self.settings.fail_fast)
    }

    /// Returns when the next member changes by itself.
    pub(super) fn changes_at(&self, now: &Now) -> Option<Instant> {
        let pool = self.pool.load_full();
        let changes = pool.members.iter().filter_map(|member| member.endpoint().signals().changes_at(now));
        // What was due has been looked at; a circuit whose cooldown is over changes with its next attempt.
        changes.filter(|at| !now.has_reached(*at)).min()
    }

    /// Looks again at whatever changes by itself, and starts to fail at once when the time has come.
    pub(super) fn sweep(&self, now: &Now) {
        self.revisit(now);
        let (over, given_up) = {
            let mut ledger = lock(&self.ledger);
            // Decided under the ledger, so that somebody who becomes eligible meanwhile is not overlooked.
            let deadline = self.fail_fast_deadline(&ledger);
            let given_up = deadline.is_some_and(|deadline| now.has_reached(deadline))
                && !self.failing.swap(true, Ordering::AcqRel);
            let expected = ledger.expected.take_if(|deadline| now.has_reached(*deadline)).is_some();
            (given_up || expected, given_up)
        };
        if given_up {
            self.settings.conduct.tell(&Event::FailFast { on: true });
        }
        if over {
            self.wake_waiters();
        }
    }

    /// Looks again at every member, and gives those that time alone brought back a first estimate of their load: what they
    /// failed before they were excluded would keep their probe away for many times as long as they were.
    pub(super) fn revisit(&self, now: &Now) {
        let pool = self.pool.load_full();
        let mut returned = Vec::new();
        let (news, settled) = {
            let mut ledger = lock(&self.ledger);
            let mut any = false;
            for position in 0..pool.members.len() {
                let (eligible, news) = pool.refresh(position, now);
                any |= news;
                if eligible && news {
                    returned.push(position);
                }
            }
            (any, self.settle(&mut ledger, &pool, now))
        };
        self.announce(settled, &pool);
        for position in returned {
            self.seed(&pool, pool.members[position].endpoint(), now);
        }
        if news {
            self.wake_waiters();
        }
    }

    /// Says that nobody brings in changes any more, so that waiting is of no use.
    pub(super) fn abandon(&self) {
        self.driven.store(false, Ordering::Release);
        self.wake_waiters();
    }

    /// Tells whether waiting for somebody to become eligible is of no use.
    pub(super) fn is_hopeless(&self) -> bool {
        self.failing.load(Ordering::Acquire) || !self.driven.load(Ordering::Acquire) || self.is_closed()
    }

    /// Looks at one endpoint again, after a transition.
    pub(super) fn refresh(&self, endpoint: &Endpoint<S, R, L>) {
        // First of all: a table that was prepared without it is found out by the change, which is counted after it.
        {
            let _ledger = lock(&self.ledger);
            endpoint.note_signals();
        }
        self.changes.fetch_add(1, Ordering::AcqRel);
        let now = Now::at(self.settings.conduct.timer.now());
        let (pool, eligible, settled) = {
            let mut ledger = lock(&self.ledger);
            let pool = self.pool.load_full();
            let position = pool.position_of(endpoint);
            let eligible = position.is_some_and(|position| pool.transition(position, &now));
            let settled = self.settle(&mut ledger, &pool, &now);
            (pool, eligible, settled)
        };
        self.announce(settled, &pool);
        // Also when that is no news here: of two transitions close together the first may be noted after the second, and
        // whoever looked between them waits.
        if eligible {
            self.waiters.wake_all();
        }
        // The time of the next change may be another one now.
        self.driver.wake();
    }

    /// Gives an endpoint a first estimate of its load, from that of the others. The tracker may be the user's.
    pub(super) fn seed(&self, pool: &Pool<K, B, S, R, L>, endpoint: &Endpoint<S, R, L>, now: &Now) {
        let _seeded = self.settings.conduct.contain("load", || pool.seed(endpoint, now));
    }

    /// Records whether requests can go anywhere, and tells what that ends or begins. The caller holds the ledger, and
    /// [announces](Self::announce) the answer when it does not any more.
    pub(super) fn settle(&self, ledger: &mut Ledger, pool: &Pool<K, B, S, R, L>, now: &Now) -> Settled {
        let (eligible, fit) = (pool.eligibility.count(), pool.fit.count());
        let panics = self.settings.panic.is_some_and(|mode| mode.is_reached(eligible, fit));
        let turned = self.panicking.swap(panics, Ordering::AcqRel) != panics;
        let panic = turned.then_some(Event::Panic { on: panics, eligible, members: fit });
        // In panic a request is served or refused at once, also while nobody is eligible.
        let available = eligible > 0 || panics;
        self.available.store(available, Ordering::Release);
        if !available {
            ledger.unavailable_since.get_or_insert(now.instant());
            return Settled { recovered: false, panic };
        }
        ledger.unavailable_since = None;
        Settled { recovered: self.failing.swap(false, Ordering::AcqRel), panic }
    }

    /// Tells the hook what has begun or ended. No lock is held: a hook may ask for a report.
    pub(super) fn announce(&self, settled: Settled, pool: &Pool<K, B, S, R, L>) {
        for _ in 0..pool.take_table_panics() {
            self.settings.conduct.tell(&Event::Contained { what: "policy" });
        }
        if settled.recovered {
            self.settings.conduct.tell(&Event::FailFast { on: false });
        }
        if let Some(panic) = settled.panic {
            self.settings.conduct.tell(&panic);
            // Either way, other members than before may be chosen now.
            self.wake_waiters();
        }
    }

    /// Returns how requests are treated while too few members are healthy, if they are too few.
    #[inline]
    pub(super) fn panic(&self) -> Option<PanicPolicy> {
        // Relaxed: who chooses by what held a moment ago is right too.
        if self.panicking.load(Ordering::Relaxed) {
            self.settings.panic.map(|mode| mode.policy())
        } else {
            None
        }
    }

    pub(super) fn changes_seen(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Wakes whoever waits, after a change that could help.
    pub(super) fn wake_waiters(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.waiters.wake_all();
    }
}

/// What a transition has begun or ended for the cluster as a whole.
#[derive(Clone, Copy)]
#[must_use = "it is to be announced"]
pub(super) struct Settled {
    /// Requests no longer fail at once.
    recovered: bool,
    /// It is in panic from now on, or no longer.
    panic: Option<Event<'static>>,
}

/// Tells a cluster that the health of an endpoint made a transition.
pub(super) struct EndpointListener<K, B, S, R, L: LoadTracker> {
    pub(super) cluster: Weak<Cluster<K, B, S, R, L>>,
    pub(super) endpoint: Weak<Endpoint<S, R, L>>,
}

impl<K, B, S, R, L> Listener for EndpointListener<K, B, S, R, L>
where
    K: Send + Sync,
    B: Send + Sync,
    S: Send + Sync,
    R: Send,
    L: LoadTracker<Ticket: Send> + Send + Sync,
{
    fn changed(&self) {
        if let (Some(cluster), Some(endpoint)) = (self.cluster.upgrade(), self.endpoint.upgrade()) {
            cluster.refresh(&endpoint);
        }
    }
}
