//! Requests that are sent more than once.

use std::fmt;
use std::sync::Weak;
use std::time::{Duration, Instant};

use super::admission::Lease;
use super::cluster::Cluster;
use super::conduct::{Conduct, Sleep};
use super::endpoint::Endpoint;
use super::repeating::Repeating;
use crate::core::striped::StripedCounter;
use crate::core::{LoadTracker, Outcome};
use crate::sync::{AtomicU64, Mutex, Ordering, lock};
use crate::tower::{Event, HedgeDelay, Idempotent, Retry, RetryBudget};

/// Counts what a balancer sent more than once.
///
/// It is a part of the [`Report`](super::Report).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepeatReport {
    /// The requests that were tried again after a failure, once for each time.
    pub retries: u64,
    /// The retries that the budget did not allow.
    pub retries_denied: u64,
    /// The requests that were sent to a second endpoint beside the first.
    pub hedges: u64,
    /// The hedges that the budget did not allow.
    pub hedges_denied: u64,
    /// The hedges that had the answer first.
    pub hedges_won: u64,
}

/// Prints what is not zero, each with a comma before it.
impl fmt::Display for RepeatReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.retries, "retries"),
            (self.retries_denied, "retries denied"),
            (self.hedges, "hedges"),
            (self.hedges_denied, "hedges denied"),
            (self.hedges_won, "hedges won"),
        ];
        counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .try_for_each(|(count, what)| write!(f, ", {count} {what}"))
    }
}

/// A copy of a request that may be sent again.
pub(crate) struct Spare<R> {
    pub(super) request: R,
    /// Whether it may be only when nobody has had the request.
    pub(super) only_unsent: bool,
    pub(super) is_hedged: bool,
}

/// How requests are sent again, and how much of that there has been.
pub(super) struct Repeats<R> {
    retry: Retry,
    hedge: Option<HedgeDelay>,
    clone: fn(&R) -> R,
    idempotent: Option<Box<dyn Idempotent<R> + Send + Sync>>,
    spending: Mutex<Spending>,
    requests: StripedCounter,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    retries: AtomicU64,
    retries_denied: AtomicU64,
    hedges: AtomicU64,
    hedges_denied: AtomicU64,
    hedges_won: AtomicU64,
}

/// The budget and what has been deposited in it.
struct Spending {
    budget: RetryBudget,
    deposited: u64,
    at: Instant,
}

impl Spending {
    /// Takes what a repeat costs, if `requests`, counted from the start, have earned it.
    fn try_withdraw(&mut self, requests: u64, now: Instant) -> bool {
        self.budget.deposit_since(requests.saturating_sub(self.deposited), self.at, now);
        (self.deposited, self.at) = (requests, now);
        self.budget.try_withdraw(now)
    }
}

impl<R> Repeating<R> {
    pub(super) fn into_repeats(self, now: Instant) -> Option<Repeats<R>> {
        let clone = self.clone?;
        let retry = self.retry.unwrap_or_else(Retry::never);
        Some(Repeats {
            hedge: self.hedge.map(|hedge| HedgeDelay::new(hedge, now)),
            clone,
            idempotent: self.idempotent,
            spending: Mutex::new(Spending { budget: retry.budget().clone(), deposited: 0, at: now }),
            retry,
            requests: StripedCounter::new(),
            counts: Counts::default(),
        })
    }
}

impl<R> Repeats<R> {
    /// Takes the token for one repeat. Requests are counted where they are made, and brought in here, so that they share
    /// nothing that is written.
    fn try_withdraw(&self, now: Instant) -> bool {
        lock(&self.spending).try_withdraw(self.requests.sum(), now)
    }

    /// Tells whether a request that was sent so many times may be sent once more after a failure.
    fn has_attempts_left(&self, sent: u32) -> bool {
        sent < self.retry.max_attempts()
    }

    /// Learns from an attempt that took so many nanoseconds when hedges are due.
    pub(super) fn time(&self, outcome: Outcome, elapsed: u64) {
        if let Some(hedge) = &self.hedge {
            hedge.record(outcome, Duration::from_nanos(elapsed));
        }
    }

    pub(super) fn report(&self) -> RepeatReport {
        // Statistics: no ordering.
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RepeatReport {
            retries: count(&self.counts.retries),
            retries_denied: count(&self.counts.retries_denied),
            hedges: count(&self.counts.hedges),
            hedges_denied: count(&self.counts.hedges_denied),
            hedges_won: count(&self.counts.hedges_won),
        }
    }
}

impl<S, R> Conduct<S, R> {
    /// Counts a request, which earns a part of a repeat, and copies it if it may be made again.
    #[inline]
    pub(super) fn spare(&self, request: &R) -> Option<Spare<R>> {
        self.spare_by(self.repeats.as_ref()?, request)
    }

    fn spare_by(&self, repeats: &Repeats<R>, request: &R) -> Option<Spare<R>> {
        repeats.requests.add(1);
        let is_retried = repeats.has_attempts_left(1);
        let is_hedged = repeats.hedge.is_some();
        if !is_hedged && !is_retried {
            return None;
        }
        let may_repeat = repeats.idempotent.as_ref().is_none_or(|idempotent| {
            // Whoever cannot say that it may be sent twice does not say so.
            self.contain("idempotent", || idempotent.is_idempotent(request)).unwrap_or(false)
        });
        let only_unsent = !may_repeat;
        if only_unsent && (!is_retried || self.unsent.is_none()) {
            return None;
        }
        Some(Spare { request: (repeats.clone)(request), only_unsent, is_hedged: is_hedged && may_repeat })
    }

    /// Copies a request that may be made again after the attempt that follows those for which it was sent.
    pub(super) fn copy(&self, request: &R, sent: u32) -> Option<R> {
        let repeats = self.repeats.as_ref()?;
        repeats.has_attempts_left(sent.saturating_add(1)).then(|| (repeats.clone)(request))
    }

    /// Starts to wait before a retry, if it is to wait.
    pub(super) fn rest(&self, sent: u32, outcome: Outcome) -> Option<Sleep> {
        let wait = self.repeats.as_ref()?.retry.wait(sent, outcome);
        if wait.is_zero() {
            return None;
        }
        let until = self.now().checked_add(wait)?;
        Some(self.timer.sleep_until(until))
    }

    /// Starts to wait for as long as an attempt may take until it is hedged, if it is to be.
    pub(super) fn hedge_delay(&self) -> Option<Sleep> {
        let repeats = self.repeats.as_ref()?;
        let now = self.now();
        let until = now.checked_add(repeats.hedge.as_ref()?.delay(now)?)?;
        Some(self.timer.sleep_until(until))
    }

    /// Says that a hedge had the answer first.
    pub(super) fn hedge_won(&self) {
        if let Some(repeats) = &self.repeats {
            repeats.counts.hedges_won.fetch_add(1, Ordering::Relaxed);
        }
        self.tell(&Event::HedgeWon);
    }
}

impl<K, B, S, R, L> Cluster<K, B, S, R, L>
where
    S: Clone,
    L: LoadTracker,
{
    pub(super) fn try_retry(&self, sent: u32) -> bool {
        let Some(repeats) = &self.settings.conduct.repeats else { return false };
        if !repeats.has_attempts_left(sent) || self.is_closed() {
            return false;
        }
        let granted = repeats.try_withdraw(self.settings.conduct.timer.now());
        let (counter, event) = if granted {
            (&repeats.counts.retries, Event::Retried)
        } else {
            (&repeats.counts.retries_denied, Event::RetryDenied)
        };
        counter.fetch_add(1, Ordering::Relaxed);
        self.settings.conduct.tell(&event);
        granted
    }

    pub(super) fn try_hedge(
        &self,
        request: &R,
        tried: &[Weak<Endpoint<S, R, L>>],
        avoided: &[Box<str>],
    ) -> Option<Lease<S, R, L>> {
        let repeats = self.settings.conduct.repeats.as_ref()?;
        if self.is_closed() || !self.has_others(tried, avoided) {
            return None;
        }
        if !repeats.try_withdraw(self.settings.conduct.timer.now()) {
            repeats.counts.hedges_denied.fetch_add(1, Ordering::Relaxed);
            self.settings.conduct.tell(&Event::HedgeDenied);
            return None;
        }
        let lease = self.admit_one(request, tried, avoided).ok()?;
        repeats.counts.hedges.fetch_add(1, Ordering::Relaxed);
        self.settings.conduct.tell(&Event::Hedged { endpoint: lease.attempt.endpoint().name() });
        Some(lease)
    }

    /// Tells whether somebody else seems to be eligible, so that no token is spent in vain.
    fn has_others(&self, tried: &[Weak<Endpoint<S, R, L>>], avoided: &[Box<str>]) -> bool {
        let pool = self.pool.load();
        let passed_over = pool.positions_of(tried, avoided);
        let eligible = passed_over.iter().filter(|position| pool.eligibility.contains(*position)).count();
        pool.eligibility.count() > eligible
    }
}
