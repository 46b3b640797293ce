//! What a reserved probe carries.

use std::fmt;
use std::ops::Deref;
use std::time::Instant;

use crate::core::Now;

use super::{ActiveHealth, ProbeCompletion, ProbeOutcome};

/// Carries what [`ActiveHealth`] must know at the end of a probe that it reserved.
///
/// It is a plain value, for drivers that keep it beside a future, and is handed to [`ActiveHealth::settle`] once. A
/// [`ProbeReservation`] does that by itself. A ticket that is lost holds its reservation until that lapses; one that is
/// settled twice is ignored the second time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a ticket that is not settled keeps its reservation until that lapses"]
pub struct ProbeTicket {
    pub(super) number: u64,
    pub(super) epoch: u64,
    pub(super) reserved_at: Instant,
}

impl ProbeTicket {
    /// Returns the epoch in which the probe was reserved.
    #[must_use]
    pub const fn epoch(self) -> u64 {
        self.epoch
    }

    /// Returns when the probe was reserved.
    #[must_use]
    pub const fn reserved_at(self) -> Instant {
        self.reserved_at
    }
}

/// Guards one reserved probe, by a reference or an `Arc` to its [`ActiveHealth`].
///
/// One of three things ends it: [`complete`](Self::complete) with an outcome, [`cancel`](Self::cancel), or the drop of
/// the reservation, also while a panic unwinds. A drop cancels: it decides nothing, and reads no clock.
///
/// # Examples
///
/// ```
/// use poise::core::Now;
/// use poise::health::{ActiveHealth, ActiveHealthConfig, ProbeCompletion, ProbeOutcome};
///
/// let health = ActiveHealth::new(ActiveHealthConfig::default().with_fast_start());
/// let now = Now::lazy();
/// let probe = health.try_reserve(&now)?;
/// assert!(health.try_reserve(&now).is_err(), "one at a time");
/// assert_eq!(probe.complete(ProbeOutcome::Healthy, &now), ProbeCompletion::TurnedHealthy);
/// # Ok::<(), poise::health::ProbeRejection>(())
/// ```
#[must_use = "dropping the reservation cancels the probe at once"]
pub struct ProbeReservation<H: Deref<Target = ActiveHealth>> {
    health: H,
    ticket: ProbeTicket,
    ended: bool,
}

impl<H: Deref<Target = ActiveHealth>> ProbeReservation<H> {
    pub(super) const fn new(health: H, ticket: ProbeTicket) -> Self {
        Self { health, ticket, ended: false }
    }

    /// Returns the epoch in which the probe was reserved.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.ticket.epoch()
    }

    /// Returns when the probe was reserved.
    #[must_use]
    pub const fn reserved_at(&self) -> Instant {
        self.ticket.reserved_at()
    }

    /// Returns whose probe this is.
    #[must_use]
    pub fn health(&self) -> &ActiveHealth {
        &self.health
    }

    /// Ends the probe with an outcome; [`ProbeOutcome::Cancelled`] is the same as [`cancel`](Self::cancel).
    pub fn complete(mut self, outcome: ProbeOutcome, now: &Now) -> ProbeCompletion {
        self.ended = true;
        self.health.settle(self.ticket, outcome, now)
    }

    /// Gives the probe up.
    pub fn cancel(self, now: &Now) -> ProbeCompletion {
        self.complete(ProbeOutcome::Cancelled, now)
    }
}

impl<H: Deref<Target = ActiveHealth>> Drop for ProbeReservation<H> {
    fn drop(&mut self) {
        if !self.ended {
            self.health.abandon(self.ticket);
        }
    }
}

impl<H: Deref<Target = ActiveHealth>> fmt::Debug for ProbeReservation<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProbeReservation").field("epoch", &self.epoch()).finish_non_exhaustive()
    }
}
