//! The machine.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::core::{Changes, Exclusion, Exclusions, Now};
use crate::health::HealthSignal;
use crate::sync::{Mutex, lock};

use super::ledger::Ledger;
use super::state::StateWord;
use super::{
    ActiveHealthConfig, ActiveHealthReport, ProbeCompletion, ProbeOutcome, ProbeRejection, ProbeReservation,
    ProbeState, ProbeTicket, UnknownPolicy,
};

/// Says when to probe one endpoint, and whether the results make it healthy.
///
/// Whoever drives it asks [`try_reserve`](Self::try_reserve) from [`next_due`](Self::next_due) on, probes the endpoint in
/// whatever way fits its protocol, and gives the reservation the outcome. Where a driver cannot keep a guard,
/// [`reserve`](Self::reserve) and [`settle`](Self::settle) do the same with a plain value. The first probe is due at
/// once, and each later one an interval after the one before was reserved, however that ended.
///
/// Results count in a row: one of the other kind starts anew. [`Cancelled`](ProbeOutcome::Cancelled) counts for nothing
/// and ends no row.
///
/// As a [`HealthSignal`] it gives [`Exclusion::Probe`] while the endpoint is unhealthy, and while nothing is known of it
/// if the [policy](UnknownPolicy) is to deny. It notifies after every transition; time alone changes nothing.
///
/// # Complexity
///
/// Its answer as a signal costs one atomic load. Everything else takes a short lock of this endpoint, under which nobody
/// is notified.
///
/// # Examples
///
/// ```
/// use poise::core::Now;
/// use poise::health::{ActiveHealth, ActiveHealthConfig, ProbeOutcome, ProbeState};
/// use std::time::{Duration, Instant};
///
/// let health = ActiveHealth::new(ActiveHealthConfig::default());
/// let start = Instant::now();
/// let at = |seconds| Now::at(start + Duration::from_secs(seconds));
///
/// for seconds in [0, 10, 20] {
///     assert_eq!(health.state(), ProbeState::Unknown);
///     health.try_reserve(&at(seconds))?.complete(ProbeOutcome::Unhealthy, &at(seconds + 1));
/// }
/// assert_eq!(health.state(), ProbeState::Unhealthy, "three in a row");
/// assert_eq!(health.next_due(&at(21)), Some(at(30).instant()));
/// # Ok::<(), poise::health::ProbeRejection>(())
/// ```
pub struct ActiveHealth {
    word: StateWord,
    ledger: Mutex<Ledger>,
    config: ActiveHealthConfig,
}

impl ActiveHealth {
    /// Makes the health of an endpoint of which nothing is known; its first probe is due at once.
    #[must_use]
    pub fn new(config: ActiveHealthConfig) -> Self {
        Self { word: StateWord::new(), ledger: Mutex::new(Ledger::default()), config }
    }

    /// Reserves the probe that is due, and guards it.
    ///
    /// # Errors
    ///
    /// [`ProbeRejection`] while the next probe is not due, one is under way, or the state is forced.
    pub fn try_reserve(&self, now: &Now) -> Result<ProbeReservation<&Self>, ProbeRejection> {
        self.reserve(now).map(|ticket| ProbeReservation::new(self, ticket))
    }

    /// As [`try_reserve`](Self::try_reserve), with a guard that borrows nothing.
    ///
    /// # Errors
    ///
    /// As [`try_reserve`](Self::try_reserve).
    pub fn try_reserve_owned(
        self: &Arc<Self>,
        now: &Now,
    ) -> Result<ProbeReservation<Arc<Self>>, ProbeRejection> {
        self.reserve(now).map(|ticket| ProbeReservation::new(Arc::clone(self), ticket))
    }

    /// Reserves the probe that is due as a plain value. Whoever gets the ticket [settles](Self::settle) it once.
    ///
    /// # Errors
    ///
    /// As [`try_reserve`](Self::try_reserve).
    pub fn reserve(&self, now: &Now) -> Result<ProbeTicket, ProbeRejection> {
        let mut ledger = lock(&self.ledger);
        let (state, epoch) = self.word.load();
        if state.is_forced() {
            return Err(ProbeRejection::Forced);
        }
        let number = ledger.reserve(&self.config, now)?;
        Ok(ProbeTicket { number, epoch, reserved_at: now.instant() })
    }

    /// Ends the probe of a ticket and says what that did.
    pub fn settle(&self, ticket: ProbeTicket, outcome: ProbeOutcome, now: &Now) -> ProbeCompletion {
        let mut ledger = lock(&self.ledger);
        ledger.take_note(now);
        if !ledger.take_back(ticket.number) {
            return ProbeCompletion::Ignored;
        }
        let completion = ledger.count(&self.config, self.word.load().0, outcome);
        let state = match completion {
            ProbeCompletion::TurnedHealthy => ProbeState::Healthy,
            ProbeCompletion::TurnedUnhealthy => ProbeState::Unhealthy,
            _ => return completion,
        };
        let changes = self.enter(&mut ledger, state, now);
        drop(ledger);
        changes.notify();
        completion
    }

    /// Ends a probe whose end has no time.
    pub(super) fn abandon(&self, ticket: ProbeTicket) {
        let mut ledger = lock(&self.ledger);
        if ledger.take_back(ticket.number) {
            ledger.counts.cancelled += 1;
        }
    }

    /// Makes the endpoint healthy, at once and until it is lifted or forced the other way.
    ///
    /// A probe under way is void: its result will be ignored, and reported as ignored. No probe is due meanwhile.
    pub fn force_healthy(&self, now: &Now) {
        self.force(ProbeState::ForcedHealthy, now);
    }

    /// Makes the endpoint unhealthy, at once and until it is lifted or forced the other way.
    ///
    /// As for [`force_healthy`](Self::force_healthy), a probe under way is void.
    pub fn force_unhealthy(&self, now: &Now) {
        self.force(ProbeState::ForcedUnhealthy, now);
    }

    /// Ends a forced state: nothing is known of the endpoint, and a probe is due at once. Returns whether it was forced.
    pub fn lift(&self, now: &Now) -> bool {
        let mut ledger = lock(&self.ledger);
        if !self.word.load().0.is_forced() {
            return false;
        }
        ledger.hasten();
        let changes = self.enter(&mut ledger, ProbeState::Unknown, now);
        let prober = ledger.prober.clone();
        drop(ledger);
        changes.notify();
        prober.notify();
        true
    }

    /// Returns when the next probe is due, which may be past; `None` is never, or not before a forced state is lifted.
    ///
    /// While a probe is under way this is when that lapses.
    #[must_use]
    pub fn next_due(&self, now: &Now) -> Option<Instant> {
        let ledger = lock(&self.ledger);
        if self.word.load().0.is_forced() { None } else { ledger.next_due(now) }
    }

    /// Takes the handle to notify when a probe becomes due out of turn, because a forced state was lifted.
    ///
    /// It is for whoever drives the probes and sleeps until [`next_due`](Self::next_due). The last handle is kept.
    pub fn watch_due(&self, prober: Changes) {
        let previous = std::mem::replace(&mut lock(&self.ledger).prober, prober);
        drop(previous);
    }

    /// Returns what is known of the endpoint.
    #[must_use]
    pub fn state(&self) -> ProbeState {
        self.word.load().0
    }

    /// Returns the current epoch. It grows with each transition, so of two different ones the larger is the later.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.word.load().1
    }

    /// Describes the endpoint at this time.
    #[must_use]
    pub fn report(&self, now: &Now) -> ActiveHealthReport {
        let ledger = lock(&self.ledger);
        let (state, epoch) = self.word.load();
        ActiveHealthReport {
            state,
            epoch,
            since: ledger.since,
            successes: ledger.successes,
            failures: ledger.failures,
            is_under_way: ledger.is_under_way(now),
            next_due: if state.is_forced() { None } else { ledger.next_due(now) },
            counts: ledger.counts(now),
        }
    }

    /// Returns the configuration.
    #[must_use]
    pub const fn config(&self) -> &ActiveHealthConfig {
        &self.config
    }

    fn force(&self, state: ProbeState, now: &Now) {
        let mut ledger = lock(&self.ledger);
        if self.word.load().0 == state {
            return;
        }
        ledger.void(now);
        let changes = self.enter(&mut ledger, state, now);
        drop(ledger);
        changes.notify();
    }

    /// Enters a state, and returns whom to tell once the lock is free.
    fn enter(&self, ledger: &mut Ledger, state: ProbeState, now: &Now) -> Changes {
        ledger.since = Some(now.instant());
        self.word.enter(state);
        ledger.changes.clone()
    }
}

impl HealthSignal for ActiveHealth {
    fn exclusions(&self, _: &Now) -> Exclusions {
        let is_excluded = match self.state() {
            ProbeState::Unhealthy | ProbeState::ForcedUnhealthy => true,
            ProbeState::Unknown => self.config.unknown_policy() == UnknownPolicy::Deny,
            ProbeState::Healthy | ProbeState::ForcedHealthy => false,
        };
        Exclusions::NONE.with_if(Exclusion::Probe, is_excluded)
    }

    fn watch(&self, changes: Changes) {
        let previous = std::mem::replace(&mut lock(&self.ledger).changes, changes);
        // Dropping a listener may run code that asks this endpoint: the lock is free again by now.
        drop(previous);
    }
}

impl fmt::Debug for ActiveHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActiveHealth")
            .field("state", &self.state())
            .field("epoch", &self.epoch())
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
