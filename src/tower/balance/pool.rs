//! The endpoints of a balance, and where they stand with their readiness.

use std::fmt;
use std::mem;
use std::time::Instant;

use super::endpoint::{Endpoint, Readiness};
use super::inbox::{Inbox, Signal};
use crate::core::{Attempted, Candidate, Eligibility, Exclusions, LoadTracker, Now, Prepared, View};
use crate::sync::Arc;
use crate::tower::Backoff;
use crate::tower::timer::{Alarm, Clock};

/// Keeps endpoints and everything that goes by their positions.
///
/// 1. An endpoint is in `ready` exactly while it holds a reservation.
/// 2. One that is idle is in `due` or in `parked`; one that is quarantined for a time is in `parked`.
/// 3. Positions are good for one membership: [`place`](Self::place) makes all of them anew.
pub(super) struct Pool<C, S, L> {
    pub(super) endpoints: Vec<Endpoint<C, S, L>>,
    /// Who holds a reservation.
    pub(super) ready: Eligibility,
    /// Who is not polled before something about it changes.
    pub(super) parked: Eligibility,
    /// Of whom the table believes that they are excluded.
    pub(super) hidden: Eligibility,
    /// Who is to be polled next time.
    pub(super) due: Vec<usize>,
    pub(super) inbox: Arc<Inbox>,
    /// Empty between polls; kept for its capacity.
    news: Vec<Arc<Signal>>,
    pub(super) prepared: Prepared,
    /// Whether `prepared` is for an earlier membership.
    pub(super) is_stale: bool,
    /// When the first quarantine ends.
    pub(super) next_release: Option<Instant>,
    /// Which of the parked to look at next, and which of the hidden.
    pub(super) patrol: usize,
    pub(super) hidden_patrol: usize,
    pub(super) clock: Clock,
    pub(super) alarm: Alarm,
    pub(super) recovery: Option<Backoff>,
}

impl<C, S, L> Pool<C, S, L> {
    pub(super) fn new() -> Self {
        Self {
            endpoints: Vec::new(),
            ready: Eligibility::new(0, |_| false),
            parked: Eligibility::new(0, |_| false),
            hidden: Eligibility::new(0, |_| false),
            due: Vec::new(),
            inbox: Arc::default(),
            news: Vec::new(),
            prepared: Prepared::none(),
            is_stale: true,
            next_release: None,
            patrol: 0,
            hidden_patrol: 0,
            clock: Clock::default(),
            alarm: Alarm::default(),
            recovery: None,
        }
    }

    /// Finds out anew what goes by positions, and has the task look again.
    pub(super) fn place(&mut self) {
        let endpoints = &self.endpoints;
        let is = |position: usize| endpoints[position].readiness();
        self.ready = Eligibility::new(endpoints.len(), |position| is(position) == Readiness::Reserved);
        self.parked = Eligibility::new(endpoints.len(), |position| {
            matches!(is(position), Readiness::Quarantined { until: Some(_) })
        });
        self.due.clear();
        self.due.extend((0..endpoints.len()).filter(|position| is(*position) == Readiness::Idle));
        for (position, endpoint) in endpoints.iter().enumerate() {
            endpoint.signal().place(position);
        }
        self.is_stale = true;
        self.inbox.wake();
    }

    /// Has the endpoint at `position` polled again, whatever is known of it.
    pub(super) fn reset(&mut self, position: usize) {
        self.endpoints[position].forget_failures();
        self.requeue(position);
        self.inbox.wake();
    }

    /// Has the endpoint at `position` polled next time; its reservation is gone.
    pub(super) fn requeue(&mut self, position: usize) {
        self.endpoints[position].set_readiness(Readiness::Idle);
        self.ready.set(position, false);
        self.parked.set(position, false);
        self.due.push(position);
    }

    /// Leaves the endpoint at `position` alone, because it failed.
    pub(super) fn quarantine(&mut self, position: usize) {
        let endpoint = &mut self.endpoints[position];
        let failures = endpoint.count_failure();
        let until = self
            .recovery
            .as_ref()
            .and_then(|backoff| self.clock.now().instant().checked_add(backoff.pause(failures)));
        endpoint.set_readiness(Readiness::Quarantined { until });
        self.ready.set(position, false);
        self.parked.set(position, until.is_some());
        self.next_release = self.next_release.into_iter().chain(until).min();
    }

    /// Takes the positions of the endpoints that were woken; those that have left are none.
    pub(super) fn take_news(&mut self, mut each: impl FnMut(&mut Self, usize)) {
        let mut news = mem::take(&mut self.news);
        self.inbox.take(&mut news);
        for signal in news.drain(..) {
            signal.hear();
            let position = signal.position();
            let is_here = |endpoint: &Endpoint<C, S, L>| Arc::ptr_eq(endpoint.signal(), &signal);
            if self.endpoints.get(position).is_some_and(is_here) {
                each(self, position);
            }
        }
        self.news = news;
    }
}

impl<C: Candidate, S, L: LoadTracker> Pool<C, S, L> {
    /// Takes in an endpoint that is not placed yet.
    pub(super) fn adopt(&self, endpoint: &Endpoint<C, S, L>) {
        endpoint.join(&self.inbox);
        endpoint.watch();
    }

    /// Shows a policy who may be called.
    pub(super) fn view<'a>(&'a self, tried: &'a Attempted, now: &'a Now) -> View<'a, Endpoint<C, S, L>> {
        View::new(&self.endpoints)
            .prepared(&self.prepared)
            .eligibility(&self.ready)
            .avoiding(tried)
            .with_now(now)
    }

    /// Remembers who is excluded, for a table that is made afterwards.
    pub(super) fn hide(&mut self) {
        let (endpoints, now) = (&self.endpoints, self.clock.now());
        self.hidden = Eligibility::new(endpoints.len(), |position| {
            !endpoints[position].obstacles(&now).only(Exclusions::SLOW).is_empty()
        });
    }

    /// Tells the table whether the endpoint at `position` is eligible, as far as that changes by transitions.
    pub(super) fn tell_table(&self, position: usize, obstacles: Exclusions) {
        let eligible = obstacles.only(Exclusions::SLOW).is_empty();
        if self.hidden.set(position, !eligible) {
            self.prepared.set_eligible(position, eligible);
        }
    }

    /// Tells whether somebody could be called now.
    pub(super) fn is_any_callable(&self, now: &Now) -> bool {
        self.ready.slots().any(|position| self.endpoints[position].obstacles(now).is_empty())
    }

    /// Has the task told when somebody who holds a reservation and is full gets a place. The caller looks again afterwards.
    pub(super) fn want_places(&self) {
        for endpoint in self.ready.slots().map(|position| &self.endpoints[position]) {
            if endpoint.is_full() {
                endpoint.signal().want_place();
            }
        }
    }

    /// Returns when somebody may become callable although nothing happens.
    pub(super) fn changes_at(&self, now: &Now) -> Option<Instant> {
        let excluded = self.ready.slots().chain(self.parked.slots());
        let changes = excluded.filter_map(|position| self.endpoints[position].changes_at(now));
        changes.chain(self.next_release).filter(|at| !now.has_reached(*at)).min()
    }
}

impl<C: fmt::Debug, S, L> fmt::Debug for Pool<C, S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.endpoints).finish()
    }
}
