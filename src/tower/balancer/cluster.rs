//! What the clones of a balancer, its requests and its driver share.

use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Instant;

use arc_swap::ArcSwap;
use futures_util::task::AtomicWaker;
use tower_service::Service;

use super::contain::{contain, tell};
use super::endpoint::Endpoint;
use super::pool::{Member, Pool};
use super::report::Report;
use super::settings::{Settings, Sleep};
use crate::core::striped::StripedCounter;
use crate::core::wakers::{WakerKey, WakerSet};
use crate::core::{
    Attempted, Exclusion, ExclusionCounts, Exclusions, InvalidSelection, Listener, LoadMetric, LoadTracker,
    Now, Outcome, PickError,
};
use crate::health::ExclusionBudget;
use crate::sync::{AtomicBool, AtomicU64, AtomicUsize, Mutex, Ordering, fence, lock};
use crate::tower::attempt::Attempt;
use crate::tower::{BalancerErrorKind, Event, RetryBudget};

/// What may have changed since a policy looked at a member of the same pool.
const VOLATILE: Exclusions = Exclusions::HEALTH.with_if(Exclusion::Capacity, true);

/// An attempt with the clone of the service that will make it.
pub(crate) struct Lease<S, R, L: LoadTracker> {
    pub(super) attempt: Attempt<S, R, L>,
    pub(super) service: S,
}

/// What a request needs of its balancer, whatever the types of keys, backends and policies.
pub(crate) trait Dispatch<S, R, L: LoadTracker>: Send + Sync {
    fn now(&self) -> Instant;
    fn tell(&self, event: &Event<'_>);
    fn classify(&self, answer: Result<&S::Response, &S::Error>) -> Outcome
    where
        S: Service<R>;

    /// Picks an endpoint beside those that were tried, admits an attempt, and clones the service.
    fn pick(
        &self,
        request: &R,
        tried: &[Arc<Endpoint<S, R, L>>],
    ) -> Result<Lease<S, R, L>, BalancerErrorKind>;

    /// Counts a request, which earns a part of a retry.
    fn count_request(&self);
    /// Copies a request that may be made again after the attempt that follows those that were made.
    fn copy(&self, request: &R, attempts: u32) -> Option<R>;
    /// Takes what one more attempt costs.
    fn may_retry(&self, attempts: u32) -> bool;
    /// Starts to wait for as long as an attempt may take, if there is a limit.
    fn attempt_limit(&self) -> Option<Sleep>;

    /// Tells whether a request that met `obstacle` should wait for better times.
    fn should_wait(&self, obstacle: &BalancerErrorKind) -> bool;
    /// Returns until when a request that starts to wait now may do so; `None` is for ever.
    fn waits_until(&self) -> Option<Instant>;
    /// Has those who wait woken at `deadline` where nothing else would end their wait. Tells whether it is still to come.
    fn expect(&self, deadline: Instant) -> bool;
    /// Tells whether a request would get an answer now, if only an error.
    fn is_ready(&self) -> bool;
    /// Counts the changes that could make an endpoint eligible.
    fn changes(&self) -> u64;
    fn register(&self, key: &mut WakerKey, waker: &Waker);
    fn deregister(&self, key: &mut WakerKey);

    /// Says that somebody waits for a place at an endpoint that is full. The caller looks again afterwards.
    fn want_place(&self);
    /// Takes back one [`want_place`](Self::want_place).
    fn unwant_place(&self);
    /// Says that a place has come free.
    fn place_freed(&self);

    /// Gives an endpoint that returns a first estimate of its load, and those that wait for its slot in the budget too.
    fn reseed(&self, endpoint: &Endpoint<S, R, L>, now: &Now);
    fn report(&self) -> Report;
    /// Lets go of all endpoints. Attempts that are under way are seen through.
    fn close(&self);
}

/// The state behind all clones of one balancer.
pub(super) struct Cluster<K, B, S, R, L: LoadTracker> {
    pub(super) settings: Settings<Member<K, B, S, R, L>, S, R>,
    pub(super) pool: ArcSwap<Pool<K, B, S, R, L>>,
    pub(super) budget: Arc<ExclusionBudget>,
    pub(super) ledger: Mutex<Ledger>,
    pub(super) driver: AtomicWaker,
    waiters: WakerSet,
    retry_budget: Mutex<Spending>,
    requests: StripedCounter,
    changes: AtomicU64,
    /// How many wait for a place at an endpoint that is full.
    places_wanted: AtomicUsize,
    available: AtomicBool,
    failing: AtomicBool,
    driven: AtomicBool,
    closed: AtomicBool,
}

/// What changes with transitions; whoever flips or swaps holds it.
#[derive(Default)]
pub(super) struct Ledger {
    /// Since when nobody has been eligible.
    unavailable_since: Option<Instant>,
    /// When the first of those ends its wait to whom the pool is of no use although somebody is eligible.
    pub(super) expected: Option<Instant>,
    /// Members of the latest membership without a service.
    pub(super) unbuilt: usize,
    /// Why the policy refused the latest membership, if it did.
    pub(super) refused: Option<PickError>,
    pub(super) last_update: Option<Instant>,
    pub(super) last_error: Option<Arc<str>>,
}

/// The retry budget and what has been deposited in it.
struct Spending {
    budget: RetryBudget,
    deposited: u64,
    at: Instant,
}

impl<K, B, S, R, L: LoadTracker> Cluster<K, B, S, R, L> {
    pub(super) fn new(
        settings: Settings<Member<K, B, S, R, L>, S, R>,
        budget: ExclusionBudget,
        retry_budget: RetryBudget,
    ) -> Self {
        let now = settings.timer.now();
        Self {
            settings,
            pool: ArcSwap::from_pointee(Pool::empty()),
            budget: Arc::new(budget),
            ledger: Mutex::new(Ledger { unavailable_since: Some(now), ..Ledger::default() }),
            driver: AtomicWaker::new(),
            waiters: WakerSet::new(),
            retry_budget: Mutex::new(Spending { budget: retry_budget, deposited: 0, at: now }),
            requests: StripedCounter::new(),
            changes: AtomicU64::new(0),
            places_wanted: AtomicUsize::new(0),
            available: AtomicBool::new(false),
            failing: AtomicBool::new(false),
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
            tell(&*self.settings.hook, &Event::FailFast { on: true });
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
        let (news, recovered) = {
            let mut ledger = lock(&self.ledger);
            let mut any = false;
            for position in 0..pool.members.len() {
                let (eligible, news) = pool.refresh(position, now, &*self.settings.hook);
                any |= news;
                if eligible && news {
                    returned.push(position);
                }
            }
            (any, self.settle(&mut ledger, &pool, now))
        };
        self.announce(recovered);
        for position in returned {
            pool.seed(pool.members[position].endpoint(), now);
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
    fn is_hopeless(&self) -> bool {
        self.failing.load(Ordering::Acquire) || !self.driven.load(Ordering::Acquire) || self.is_closed()
    }

    /// Looks at one endpoint again, after a transition.
    fn refresh(&self, endpoint: &Endpoint<S, R, L>) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        let now = Now::at(self.settings.timer.now());
        let (eligible, recovered) = {
            let mut ledger = lock(&self.ledger);
            let pool = self.pool.load_full();
            let position = pool.position_of(endpoint);
            let eligible =
                position.is_some_and(|position| pool.transition(position, &now, &*self.settings.hook));
            (eligible, self.settle(&mut ledger, &pool, &now))
        };
        self.announce(recovered);
        // Also when that is no news here: of two transitions close together the first may be noted after the second, and
        // whoever looked between them waits.
        if eligible {
            self.waiters.wake_all();
        }
        // The time of the next change may be another one now.
        self.driver.wake();
    }

    /// Records whether anybody is eligible, and tells whether that ends failing fast. The caller holds the ledger, and
    /// [announces](Self::announce) the answer when it does not any more.
    #[must_use = "it is to be announced"]
    pub(super) fn settle(&self, ledger: &mut Ledger, pool: &Pool<K, B, S, R, L>, now: &Now) -> bool {
        let available = pool.eligibility.count() > 0;
        self.available.store(available, Ordering::Release);
        if !available {
            ledger.unavailable_since.get_or_insert(now.instant());
            return false;
        }
        ledger.unavailable_since = None;
        self.failing.swap(false, Ordering::AcqRel)
    }

    /// Tells the hook that requests do not fail at once any more. No lock is held: a hook may ask for a report.
    pub(super) fn announce(&self, recovered: bool) {
        if recovered {
            tell(&*self.settings.hook, &Event::FailFast { on: false });
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

    /// Says why nobody can be picked.
    ///
    /// Places are lost when others were faster; by now they may be free again.
    fn obstacle(
        &self,
        pool: &Pool<K, B, S, R, L>,
        error: PickError,
        places_lost: bool,
        now: &Now,
    ) -> BalancerErrorKind {
        match error {
            _ if self.is_closed() => BalancerErrorKind::Closed,
            PickError::Empty if pool.revision.value() == 0 => {
                lock(&self.ledger).refused.map_or(BalancerErrorKind::Undiscovered, BalancerErrorKind::Policy)
            }
            PickError::Empty => match lock(&self.ledger).unbuilt {
                0 => BalancerErrorKind::NoMembers,
                unbuilt => {
                    let mut counts = ExclusionCounts::default();
                    (0..unbuilt).for_each(|_| counts.add(Exclusion::NotReady.into()));
                    BalancerErrorKind::NoEligible(counts)
                }
            },
            PickError::NoEligible(counts)
                if places_lost || counts.of(Exclusion::Capacity) > 0 && pool.is_short_of_places(now) =>
            {
                BalancerErrorKind::AtCapacity(counts)
            }
            PickError::NoEligible(counts) => BalancerErrorKind::NoEligible(counts),
            error => BalancerErrorKind::Policy(error),
        }
    }
}

/// What became of one selection.
enum Admission<S, R, L: LoadTracker> {
    Admitted(Lease<S, R, L>),
    /// Somebody else was faster, and this excludes the member now.
    Lost(Exclusions),
}

impl<K, B, S, R, L> Cluster<K, B, S, R, L>
where
    S: Clone,
    L: LoadTracker,
{
    fn admit(&self, member: &Member<K, B, S, R, L>, panic: bool, now: &Now) -> Admission<S, R, L> {
        let endpoint = member.endpoint();
        let permit = match endpoint.circuit() {
            None => None,
            Some(circuit) if panic => Some(circuit.admit_forced(now)),
            Some(circuit) => match circuit.admit(now) {
                Ok(permit) => Some(permit),
                Err(_) => return Admission::Lost(Exclusion::Circuit.into()),
            },
        };
        let Ok(ticket) = endpoint.load().start(now) else {
            if let (Some(circuit), Some(permit)) = (endpoint.circuit(), permit) {
                circuit.settle(permit, Outcome::Cancelled, now);
            }
            return Admission::Lost(Exclusion::Capacity.into());
        };
        let attempt = Attempt::new(Arc::clone(endpoint), permit, ticket, now);
        endpoint.picked();
        tell(&*self.settings.hook, &Event::Picked { endpoint: endpoint.name(), panic });
        Admission::Admitted(Lease { service: endpoint.service().clone(), attempt })
    }
}

impl<K, B, S, R, L> Dispatch<S, R, L> for Cluster<K, B, S, R, L>
where
    K: Send + Sync,
    B: Send + Sync,
    S: Clone + Send + Sync,
    R: Send,
    L: LoadTracker<Ticket: Send> + LoadMetric + Send + Sync,
{
    fn now(&self) -> Instant {
        self.settings.timer.now()
    }

    fn tell(&self, event: &Event<'_>) {
        tell(&*self.settings.hook, event);
    }

    fn classify(&self, answer: Result<&S::Response, &S::Error>) -> Outcome
    where
        S: Service<R>,
    {
        // Whoever cannot say how it went says nothing.
        contain(&*self.settings.hook, "classifier", || self.settings.classifier.classify(answer))
            .unwrap_or(Outcome::Cancelled)
    }

    fn pick(
        &self,
        request: &R,
        tried: &[Arc<Endpoint<S, R, L>>],
    ) -> Result<Lease<S, R, L>, BalancerErrorKind> {
        let now = Now::at(self.settings.timer.now());
        let pool = self.pool.load();
        let mut attempted: Attempted =
            tried.iter().filter_map(|endpoint| pool.position_of(endpoint)).collect();
        let mut places_lost = false;
        // Each round avoids one member more than the one before, so there are at most as many as there are members.
        loop {
            let view = pool.view(&attempted, &now);
            let selection = self
                .settings
                .picker
                .pick(&view, request)
                .map_err(|error| self.obstacle(&pool, error, places_lost, &now))?;
            let lost = match view.validate(selection) {
                Ok(member) => match self.admit(member, selection.is_panic(), &now) {
                    Admission::Admitted(lease) => return Ok(lease),
                    Admission::Lost(exclusions) => exclusions,
                },
                // That may have come about after the policy had looked: no fault of the policy.
                Err(InvalidSelection::Excluded { exclusions, .. })
                    if exclusions.without(VOLATILE).is_empty() =>
                {
                    exclusions
                }
                Err(error) => return Err(BalancerErrorKind::InvalidSelection(error)),
            };
            places_lost |= lost.contains(Exclusion::Capacity);
            attempted.insert(selection.index());
        }
    }

    fn count_request(&self) {
        if self.settings.retries.is_some() {
            self.requests.add(1);
        }
    }

    fn copy(&self, request: &R, attempts: u32) -> Option<R> {
        let retries = self.settings.retries.as_ref()?;
        (attempts + 1 < retries.max_attempts).then(|| (retries.clone)(request))
    }

    fn may_retry(&self, attempts: u32) -> bool {
        let wanted = self.settings.retries.as_ref().is_some_and(|retries| attempts < retries.max_attempts);
        if !wanted || self.is_closed() {
            return false;
        }
        let now = self.settings.timer.now();
        let granted = {
            let mut spending = lock(&self.retry_budget);
            let Spending { budget, deposited, at } = &mut *spending;
            // Requests are counted where they are made, and brought in here, so that they share nothing that is written.
            let requests = self.requests.sum();
            budget.deposit_since(requests.saturating_sub(*deposited), *at, now);
            (*deposited, *at) = (requests, now);
            budget.try_withdraw(now)
        };
        self.tell(if granted { &Event::Retried } else { &Event::RetryDenied });
        granted
    }

    fn attempt_limit(&self) -> Option<Sleep> {
        let deadline = self.settings.timer.now().checked_add(self.settings.attempt_timeout?)?;
        Some(self.settings.timer.sleep_until(deadline))
    }

    fn should_wait(&self, obstacle: &BalancerErrorKind) -> bool {
        let passes = matches!(
            obstacle,
            BalancerErrorKind::Undiscovered | BalancerErrorKind::NoMembers | BalancerErrorKind::NoEligible(_)
        );
        passes && !self.is_hopeless()
    }

    fn waits_until(&self) -> Option<Instant> {
        self.settings.timer.now().checked_add(self.settings.fail_fast)
    }

    fn expect(&self, deadline: Instant) -> bool {
        if self.settings.timer.now() >= deadline {
            return false;
        }
        // While nobody is eligible the pool fails fast before that, and the end of that is told to all who wait.
        if self.available.load(Ordering::Acquire) {
            let mut ledger = lock(&self.ledger);
            if ledger.expected.is_none_or(|earlier| deadline < earlier) {
                ledger.expected = Some(deadline);
                drop(ledger);
                self.driver.wake();
            }
        }
        true
    }

    fn is_ready(&self) -> bool {
        self.available.load(Ordering::Acquire) || self.is_hopeless()
    }

    fn changes(&self) -> u64 {
        self.changes_seen()
    }

    fn register(&self, key: &mut WakerKey, waker: &Waker) {
        self.waiters.register(key, waker);
    }

    fn deregister(&self, key: &mut WakerKey) {
        self.waiters.remove(key);
    }

    fn want_place(&self) {
        self.places_wanted.fetch_add(1, Ordering::Relaxed);
        // With the fence in `place_freed`: either the caller, who looks again now, sees the place that was given back, or
        // whoever gave it back sees that it is wanted.
        fence(Ordering::SeqCst);
    }

    fn unwant_place(&self) {
        self.places_wanted.fetch_sub(1, Ordering::Relaxed);
    }

    fn place_freed(&self) {
        fence(Ordering::SeqCst);
        if self.places_wanted.load(Ordering::Relaxed) > 0 {
            self.wake_waiters();
        }
    }

    fn reseed(&self, endpoint: &Endpoint<S, R, L>, now: &Now) {
        let pool = self.pool.load();
        pool.seed(endpoint, now);
        // The slot that came back is for whoever could not trip for want of one. Its next failure takes it, so it may have
        // a request again, whatever it failed before.
        for withheld in pool.members.iter().map(Member::endpoint).filter(|member| member.is_withheld(now)) {
            pool.seed(withheld, now);
        }
    }

    fn report(&self) -> Report {
        let now = Now::at(self.settings.timer.now());
        let pool = self.pool.load_full();
        let ledger = lock(&self.ledger);
        Report::new(&pool, &ledger, self.failing.load(Ordering::Acquire), &now)
    }

    fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let pool = {
            let mut ledger = lock(&self.ledger);
            self.available.store(false, Ordering::Release);
            ledger.unavailable_since.get_or_insert(self.settings.timer.now());
            self.pool.swap(Arc::new(Pool::empty()))
        };
        // Services of the user are dropped without a lock.
        drop(pool);
        tell(&*self.settings.hook, &Event::Closed);
        self.wake_waiters();
        self.driver.wake();
    }
}

/// Tells a cluster that the circuit of an endpoint made a transition.
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
