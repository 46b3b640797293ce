//! Polling services until somebody can be called.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::{Context, Poll, Waker, ready};

use tower_service::Service;

use super::endpoint::Readiness;
use super::observer::ReadinessObserver;
use super::pool::Pool;
use crate::core::{Candidate, Eligibility, Exclusion, LoadTracker, Now};
use crate::tower::contain::attempt;

/// How many excluded endpoints each poll looks at, in turn.
const PATROL: usize = 4;

impl<C: Candidate, S, L: LoadTracker> Pool<C, S, L> {
    /// Is ready when somebody can be called.
    ///
    /// # Complexity
    ///
    /// One poll for each endpoint that was woken, called or added since the last time. Only before it is pending it looks
    /// once at everybody who is excluded, without polling them.
    pub(super) fn poll_callable<R, O>(&mut self, cx: &mut Context<'_>, observer: &mut O) -> Poll<()>
    where
        S: Service<R>,
        O: ReadinessObserver<C::Id, S::Error>,
    {
        self.inbox.register(cx.waker());
        let mut has_time_passed = false;
        loop {
            let now = self.clock.now();
            self.take_news(Self::note);
            if self.next_release.is_some_and(|at| now.has_reached(at)) {
                self.look_at_all(&now);
            } else {
                self.patrol(&now);
            }
            self.poll_due(&now, observer);
            if self.is_any_callable(&now) {
                return Poll::Ready(());
            }
            self.look_at_all(&now);
            self.poll_due(&now, observer);
            self.want_places();
            if self.is_any_callable(&now) {
                return Poll::Ready(());
            }
            let wakes_at = self.changes_at(&now);
            ready!(self.alarm.poll(self.clock.timer(), wakes_at, cx));
            if !mem::replace(&mut has_time_passed, true) {
                continue;
            }
            // However often the timer goes off, others have their turn.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
    }

    /// Polls the service at `position` once more before it is called, without having anybody woken, and tells whether its
    /// reservation holds.
    pub(super) fn confirm<R, O>(&mut self, position: usize, observer: &mut O) -> bool
    where
        S: Service<R>,
        O: ReadinessObserver<C::Id, S::Error>,
    {
        self.poll_endpoint(position, Some(Waker::noop()), observer) == Readiness::Reserved
    }

    /// Notes that the endpoint at `position` was woken.
    fn note(&mut self, position: usize) {
        match self.endpoints[position].readiness() {
            Readiness::Pending => self.due.push(position),
            // A candidate that changed, or a place that came free.
            Readiness::Idle | Readiness::Quarantined { .. } => {
                let now = self.clock.now();
                self.look_at(position, &now);
            }
            Readiness::Reserved => {
                let now = self.clock.now();
                self.tell_table(position, self.endpoints[position].obstacles(&now));
            }
        }
    }

    /// Looks at a few of those who were excluded: time passes, and candidates need not tell of their changes.
    fn patrol(&mut self, now: &Now) {
        if self.parked.count() > 0 {
            for position in next_few(&self.parked, self.patrol).into_iter().flatten() {
                self.patrol = position + 1;
                self.look_at(position, now);
            }
        }
        if self.hidden.count() > 0 {
            for position in next_few(&self.hidden, self.hidden_patrol).into_iter().flatten() {
                self.hidden_patrol = position + 1;
                self.tell_table(position, self.endpoints[position].obstacles(now));
            }
        }
    }

    fn look_at_all(&mut self, now: &Now) {
        self.next_release = None;
        let mut from = 0;
        while let Some(position) = self.parked.next_from(from) {
            self.look_at(position, now);
            if let Readiness::Quarantined { until } = self.endpoints[position].readiness() {
                self.next_release = self.next_release.into_iter().chain(until).min();
            }
            from = position + 1;
        }
    }

    /// Has an endpoint polled that waits for that, if nothing excludes it any more, and parks it otherwise.
    fn look_at(&mut self, position: usize, now: &Now) {
        let endpoint = &mut self.endpoints[position];
        if let Readiness::Quarantined { until } = endpoint.readiness() {
            if !until.is_some_and(|until| now.has_reached(until)) {
                return;
            }
            endpoint.set_readiness(Readiness::Idle);
        }
        if endpoint.is_full() {
            endpoint.signal().want_place();
        }
        let obstacles = endpoint.obstacles(now);
        self.tell_table(position, obstacles);
        let was_parked = self.parked.set(position, !obstacles.is_empty()) && obstacles.is_empty();
        if was_parked {
            self.due.push(position);
        }
    }

    /// Polls everybody who is due and whom nothing excludes.
    fn poll_due<R, O>(&mut self, now: &Now, observer: &mut O)
    where
        S: Service<R>,
        O: ReadinessObserver<C::Id, S::Error>,
    {
        while let Some(position) = self.due.pop() {
            let endpoint = &mut self.endpoints[position];
            if matches!(endpoint.readiness(), Readiness::Reserved | Readiness::Quarantined { .. }) {
                continue;
            }
            // Also one that was pending: it may be excluded by now.
            endpoint.set_readiness(Readiness::Idle);
            self.look_at(position, now);
            if !self.parked.contains(position) {
                self.poll_endpoint(position, None, observer);
            }
        }
    }

    /// Polls one service. Without `waker` the endpoint's own is used, and has it polled again.
    fn poll_endpoint<R, O>(&mut self, position: usize, waker: Option<&Waker>, observer: &mut O) -> Readiness
    where
        S: Service<R>,
        O: ReadinessObserver<C::Id, S::Error>,
    {
        let endpoint = &mut self.endpoints[position];
        let (service, own) = endpoint.service_mut();
        let mut cx = Context::from_waker(waker.unwrap_or(own));
        let polled = catch_unwind(AssertUnwindSafe(|| service.poll_ready(&mut cx)));
        match polled {
            Ok(Poll::Ready(Ok(()))) => {
                if !endpoint.is_reserved() {
                    endpoint.set_readiness(Readiness::Reserved);
                    self.ready.set(position, true);
                }
            }
            Ok(Poll::Pending) if waker.is_none() => endpoint.set_readiness(Readiness::Pending),
            Ok(Poll::Pending) => self.requeue(position),
            Err(panic) => {
                // The caller hears of it; the endpoint has failed.
                self.quarantine(position);
                resume_unwind(panic);
            }
            Ok(Poll::Ready(Err(error))) => {
                self.quarantine(position);
                let id = self.endpoints[position].id();
                // An observer that panics loses its error and nothing else.
                let _seen = attempt(|| observer.failed(id, error));
            }
        }
        self.endpoints[position].readiness()
    }
}

impl<C: Candidate, S, L: LoadTracker> Pool<C, S, L> {
    /// Tells whether places are all that is missing: somebody is at a limit, and nobody else is only not ready.
    pub(super) fn is_short_of_places(&self, now: &Now) -> bool {
        let obstacles = || self.endpoints.iter().map(|endpoint| (endpoint, endpoint.obstacles(now)));
        obstacles().any(|(_, obstacles)| obstacles == Exclusion::Capacity.into())
            && obstacles().all(|(endpoint, obstacles)| !obstacles.is_empty() || endpoint.is_reserved())
    }
}

/// Returns the next few slots from `start` on, wrapping around; the same one again when there are fewer.
fn next_few(slots: &Eligibility, start: usize) -> [Option<usize>; PATROL] {
    let mut from = start;
    [(); PATROL].map(|()| {
        let next = slots.next_from(from).or_else(|| slots.next_from(0));
        from = next.map_or(0, |slot| slot + 1);
        next
    })
}
