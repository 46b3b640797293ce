//! One endpoint of a balance.

use std::fmt;
use std::task::Waker;
use std::time::Instant;

use super::account::{Account, Holding};
use super::inbox::{Inbox, Signal};
use crate::core::delegate::delegate_candidate;
use crate::core::{AtCapacity, Candidate, Exclusion, Exclusions, InFlight, LoadTracker, Now};
use crate::sync::Arc;
use crate::tower::attempt::Attempt;
use crate::tower::timer::Clock;

/// Joins a candidate, its service and its load, and keeps what the service said of its readiness.
///
/// As a [`Candidate`] it has the identity, the data and the attributes of its candidate, and its own load. To what excludes
/// the candidate it adds [`Exclusion::Capacity`] while its tracker is full, and [`Exclusion::NotReady`] while it holds no
/// reservation: while its service is not ready, or is left alone because it failed to become ready.
///
/// ```
/// use poise::core::{Backend, Exclusion, Candidate, InFlight, Now};
/// use poise::tower::Endpoint;
///
/// let endpoint = Endpoint::new(Backend::new("a"), "some service").with_tracker(InFlight::with_limit(8)?);
/// assert_eq!(*endpoint.id(), "a");
/// assert_eq!(endpoint.exclusions(&Now::lazy()), Exclusion::NotReady.into(), "nobody has asked the service yet");
/// # Ok::<(), poise::core::ZeroLimit>(())
/// ```
pub struct Endpoint<C, S, L = InFlight> {
    candidate: C,
    service: S,
    account: Arc<Account<L>>,
    waker: Waker,
    readiness: Readiness,
    /// Failures of readiness in a row, with no request between them.
    failures: u32,
}

/// What is known of the readiness of a service.
///
/// ```text
///            poll: ready                   call
///   Idle ---------------------> Reserved --------> Idle
///    | |  poll: pending            | no longer ready, seen before a call
///    | +-----------> Pending <-----+
///    |                  | woken: polled again
///    | poll: error      v
///    +-------------> Quarantined ----> Idle         after a reset, or when its back-off is over
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readiness {
    /// It is to be polled.
    Idle,
    /// It was polled, and wakes.
    Pending,
    /// It is ready for one request.
    Reserved,
    /// It failed, and is left alone until then, or until it is reset.
    Quarantined { until: Option<Instant> },
}

impl<C, S> Endpoint<C, S> {
    /// Joins a candidate and its service, whose requests in flight are counted without a limit.
    pub fn new(candidate: C, service: S) -> Self {
        Self::of(candidate, service, InFlight::new())
    }
}

impl<C, S, L> Endpoint<C, S, L> {
    pub(crate) fn of(candidate: C, service: S, tracker: L) -> Self {
        let account = Account::new(tracker);
        let waker = Waker::from(Arc::clone(account.signal()));
        Self {
            candidate,
            service,
            account: Arc::new(account),
            waker,
            readiness: Readiness::Idle,
            failures: 0,
        }
    }

    /// Tracks load by `tracker` from now on; attempts that are under way still end at the one before.
    #[must_use]
    pub fn with_tracker<T>(self, tracker: T) -> Endpoint<C, S, T> {
        Endpoint::of(self.candidate, self.service, tracker)
    }

    /// Returns the candidate.
    pub fn candidate(&self) -> &C {
        &self.candidate
    }

    /// Returns the service.
    pub fn service(&self) -> &S {
        &self.service
    }

    /// Returns the tracker.
    pub fn tracker(&self) -> &L {
        self.account.load()
    }

    /// Tells whether the service has said that it is ready and has had no request since.
    #[must_use]
    pub fn is_reserved(&self) -> bool {
        self.readiness == Readiness::Reserved
    }

    /// Tells whether the endpoint is left alone because its service failed to become ready.
    #[must_use]
    pub fn is_quarantined(&self) -> bool {
        matches!(self.readiness, Readiness::Quarantined { .. })
    }

    /// Takes the endpoint apart; the tracker only when no attempt is under way.
    pub fn into_parts(self) -> (C, S, Option<L>) {
        let load = Arc::into_inner(self.account).map(Account::into_load);
        (self.candidate, self.service, load)
    }

    pub(super) fn join(&self, inbox: &Arc<Inbox>) {
        self.signal().join(inbox);
    }

    /// Forgets the pool that it belonged to.
    pub(crate) fn leave(&mut self) {
        self.signal().leave();
        // Nobody hears of it from now on, so another pool has to ask.
        if self.readiness == Readiness::Pending {
            self.readiness = Readiness::Idle;
        }
    }

    pub(super) fn signal(&self) -> &Arc<Signal> {
        self.account.signal()
    }

    pub(super) fn readiness(&self) -> Readiness {
        self.readiness
    }

    pub(super) fn set_readiness(&mut self, readiness: Readiness) {
        self.readiness = readiness;
    }

    /// Counts one more failure, and returns how many there were in a row.
    pub(super) fn count_failure(&mut self) -> u32 {
        self.failures = self.failures.saturating_add(1);
        self.failures
    }

    pub(super) fn forget_failures(&mut self) {
        self.failures = 0;
    }

    pub(crate) fn candidate_mut(&mut self) -> &mut C {
        &mut self.candidate
    }

    /// Returns the service and the waker of this endpoint.
    pub(super) fn service_mut(&mut self) -> (&mut S, &Waker) {
        (&mut self.service, &self.waker)
    }
}

impl<C: Candidate, S, L: LoadTracker> Endpoint<C, S, L> {
    /// Has the candidate tell of its changes.
    pub(super) fn watch(&self) {
        self.candidate.watch(self.signal().changes());
    }

    pub(super) fn is_full(&self) -> bool {
        self.tracker().is_full()
    }

    /// Returns what excludes it beside its readiness.
    pub(super) fn obstacles(&self, now: &Now) -> Exclusions {
        self.candidate.exclusions(now).with_if(Exclusion::Capacity, self.is_full())
    }

    pub(super) fn admit(&self, clock: &Clock, now: &Now) -> Result<Attempt<Holding<L>>, AtCapacity> {
        self.account.admit(clock, now)
    }
}

impl<C: Candidate, S, L: LoadTracker> Candidate for Endpoint<C, S, L> {
    type Id = C::Id;
    type Data = C::Data;
    type Load = L;

    delegate_candidate!(self => self.candidate, except: load, exclusions);

    fn load(&self) -> &L {
        self.account.load()
    }

    fn exclusions(&self, now: &Now) -> Exclusions {
        self.obstacles(now).with_if(Exclusion::NotReady, !self.is_reserved())
    }
}

impl<C: fmt::Debug, S, L> fmt::Debug for Endpoint<C, S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("candidate", &self.candidate)
            .field("readiness", &self.readiness)
            .finish_non_exhaustive()
    }
}
