//! What a request needs of its balancer.

use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Instant;

use super::admission::{Lease, Obstacle};
use super::cluster::Cluster;
use super::conduct::Conduct;
use super::endpoint::Endpoint;
use super::operator::OperatorVerb;
use super::pool::Member;
use super::repeats::Repeats;
use super::report::Report;
use crate::core::policy::Explained;
use crate::core::{LoadMetric, LoadTracker, Now};
use crate::sync::wakers::WakerKey;
use crate::sync::{Ordering, fence, lock};
use crate::tower::BalancerErrorKind;

/// What a request needs of its balancer, whatever the types of keys, backends and policies.
pub(crate) trait Dispatch<S, R, L: LoadTracker>: Send + Sync {
    /// Returns what attempts go by.
    fn conduct(&self) -> &Arc<Conduct<S, R>>;

    /// Picks an endpoint beside those that were tried and those of these names, admits an attempt, and clones the service.
    fn pick(
        &self,
        request: &R,
        tried: &[Weak<Endpoint<S, R, L>>],
        avoided: &[Box<str>],
    ) -> Result<Lease<S, R, L>, Obstacle>;

    /// Takes what one more attempt costs.
    fn may_retry(&self, sent: u32) -> bool;
    /// Takes what a hedge costs, and picks an endpoint as [`pick`](Self::pick) does.
    fn hedge(
        &self,
        request: &R,
        tried: &[Weak<Endpoint<S, R, L>>],
        avoided: &[Box<str>],
    ) -> Option<Lease<S, R, L>>;

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
    /// Brings into effect what an operator says of the members of this name, and tells whether there are any.
    fn operate(&self, endpoint: &str, verb: OperatorVerb) -> bool;
    fn report(&self) -> Report;
    /// Says whom the first attempt of a request would be sent to.
    fn explain(&self, request: &R) -> Explained;

    /// Lets go of all endpoints, the first time. Attempts that are under way are seen through.
    fn close(&self);
    /// Says that an attempt ended at an endpoint that drains or is no member any more.
    fn left(&self);
    /// Counts the attempts at endpoints that are no members any more.
    fn in_flight_departed(&self) -> u64;
    /// Returns until when a drain that starts now may take; `None` is for ever.
    fn drains_until(&self) -> Option<Instant>;
}

impl<K, B, S, R, L> Dispatch<S, R, L> for Cluster<K, B, S, R, L>
where
    K: Send + Sync,
    B: Send + Sync,
    S: Clone + Send + Sync,
    R: Send,
    L: LoadTracker<Ticket: Send> + LoadMetric + Send + Sync,
{
    fn conduct(&self) -> &Arc<Conduct<S, R>> {
        &self.settings.conduct
    }

    fn pick(
        &self,
        request: &R,
        tried: &[Weak<Endpoint<S, R, L>>],
        avoided: &[Box<str>],
    ) -> Result<Lease<S, R, L>, Obstacle> {
        self.admit_one(request, tried, avoided)
    }

    fn may_retry(&self, sent: u32) -> bool {
        self.try_retry(sent)
    }

    fn hedge(
        &self,
        request: &R,
        tried: &[Weak<Endpoint<S, R, L>>],
        avoided: &[Box<str>],
    ) -> Option<Lease<S, R, L>> {
        self.try_hedge(request, tried, avoided)
    }

    fn should_wait(&self, obstacle: &BalancerErrorKind) -> bool {
        let passes = matches!(
            obstacle,
            BalancerErrorKind::Undiscovered | BalancerErrorKind::NoMembers | BalancerErrorKind::NoEligible(_)
        );
        passes && !self.is_hopeless()
    }

    fn waits_until(&self) -> Option<Instant> {
        self.settings.conduct.timer.now().checked_add(self.settings.fail_fast)
    }

    fn expect(&self, deadline: Instant) -> bool {
        if self.settings.conduct.timer.now() >= deadline {
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
        self.seed(&pool, endpoint, now);
        // The slot that came back is for whoever could not trip for want of one. Its next failure takes it, so it may have
        // a request again, whatever it failed before.
        for withheld in
            pool.members.iter().map(Member::endpoint).filter(|member| member.signals().is_withheld(now))
        {
            self.seed(&pool, withheld, now);
        }
    }

    fn operate(&self, endpoint: &str, verb: OperatorVerb) -> bool {
        self.obey(endpoint, verb)
    }

    fn report(&self) -> Report {
        let now = Now::at(self.settings.conduct.timer.now());
        let pool = self.pool.load_full();
        let ledger = lock(&self.ledger);
        let flags = [&self.failing, &self.panicking, &self.driven, &self.closed];
        let flags = flags.map(|flag| flag.load(Ordering::Acquire));
        let repeats = self.settings.conduct.repeats.as_ref().map(Repeats::report).unwrap_or_default();
        Report::new(&pool, &ledger, flags, &now).with_repeats(repeats)
    }

    fn explain(&self, request: &R) -> Explained {
        self.explain_pick(request)
    }

    fn close(&self) {
        self.let_go();
    }

    fn left(&self) {
        self.driver.wake();
        if self.is_closed() {
            self.waiters.wake_all();
        }
    }

    fn in_flight_departed(&self) -> u64 {
        self.departed.in_flight()
    }

    fn drains_until(&self) -> Option<Instant> {
        self.settings.conduct.timer.now().checked_add(self.settings.drain_deadline)
    }
}
