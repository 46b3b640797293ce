//! What an admitted attempt carries.

use std::fmt;

use crate::core::{Now, Outcome};

use super::word::epoch_after;
use super::{Completion, PassiveHealth, TripCause};

/// Carries what a circuit must know at the end of an attempt that it admitted.
///
/// It is a plain value, for a response future that cannot borrow the circuit, and is handed to
/// [`PassiveHealth::settle`] once. Where borrowing is possible, a [`CircuitPermit`] does that by itself.
///
/// A ticket that is lost keeps its half-open permit until the deadline of the round. The ticket of a probe that is
/// settled twice is ignored the second time; that of an attempt under a closed circuit is counted twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a ticket that is not settled keeps its half-open permit until the round ends"]
pub struct CircuitTicket {
    epoch: u64,
    pub(super) role: Role,
}

/// What the result of an attempt is used for.
///
/// All of it is as wide as a word, so that a ticket that moves right after it was made is read as it was written; otherwise
/// the processor waits for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Role {
    /// Admitted by a closed circuit: failures count.
    Regular,
    /// Holds the half-open permit with this number.
    Probe(u64),
    /// Admitted past a circuit that would have refused it: decides nothing.
    Bystander,
}

impl CircuitTicket {
    pub(super) const fn new(epoch: u64, role: Role) -> Self {
        Self { epoch, role }
    }

    /// Returns the epoch in which the attempt was admitted.
    #[must_use]
    pub const fn epoch(self) -> u64 {
        self.epoch
    }

    /// Tells whether the attempt holds a half-open permit.
    #[must_use]
    pub const fn is_probe(self) -> bool {
        matches!(self.role, Role::Probe(_))
    }

    /// Returns the epoch that the end of the attempt starts, if it opens or closes the circuit.
    ///
    /// It is exact, where [`PassiveHealth::epoch`] may have gone on meanwhile: a result counts in the epoch in which it was
    /// admitted and in no other, so what it starts is the next one.
    ///
    /// ```
    /// use poise::core::{Now, Outcome};
    /// use poise::health::{CircuitConfig, Completion, PassiveHealth, TripCause};
    /// use std::time::Duration;
    ///
    /// let circuit = PassiveHealth::new(CircuitConfig::new(1, Duration::from_secs(1))?);
    /// let now = Now::lazy();
    /// let ticket = circuit.admit(&now)?;
    /// assert_eq!(circuit.settle(ticket, Outcome::Failure, &now), Completion::Tripped);
    /// assert_eq!((ticket.next_epoch(), ticket.trip_cause()), (1, TripCause::Failures));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn next_epoch(self) -> u64 {
        epoch_after(self.epoch)
    }

    /// Returns the cause of a trip, if the end of this attempt was one.
    #[must_use]
    pub const fn trip_cause(self) -> TripCause {
        if self.is_probe() { TripCause::Probe } else { TripCause::Failures }
    }
}

/// Guards one admitted attempt.
///
/// One of three things ends it: [`complete`](Self::complete) with an outcome, [`cancel`](Self::cancel), or the drop of
/// the permit, also while a panic unwinds. A drop cancels: it frees the half-open permit, decides nothing, and reads no
/// clock.
///
/// # Examples
///
/// ```
/// use poise::core::{Now, Outcome};
/// use poise::health::{CircuitConfig, Completion, PassiveHealth};
/// use std::time::Duration;
///
/// let circuit = PassiveHealth::new(CircuitConfig::new(1, Duration::from_secs(1))?);
/// let now = Now::lazy();
/// let permit = circuit.try_acquire(&now)?;
/// assert_eq!(permit.complete(Outcome::Failure, &now), Completion::Tripped);
/// assert!(circuit.try_acquire(&now).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropping the permit cancels the attempt at once"]
pub struct CircuitPermit<'a> {
    circuit: &'a PassiveHealth,
    ticket: CircuitTicket,
    ended: bool,
}

impl<'a> CircuitPermit<'a> {
    pub(super) const fn new(circuit: &'a PassiveHealth, ticket: CircuitTicket) -> Self {
        Self { circuit, ticket, ended: false }
    }

    /// Returns the epoch in which the attempt was admitted.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.ticket.epoch()
    }

    /// Tells whether this is a half-open probe.
    #[must_use]
    pub const fn is_probe(&self) -> bool {
        self.ticket.is_probe()
    }

    /// Ends the attempt with an outcome; [`Outcome::Cancelled`] is the same as [`cancel`](Self::cancel).
    pub fn complete(mut self, outcome: Outcome, now: &Now) -> Completion {
        self.ended = true;
        self.circuit.settle(self.ticket, outcome, now)
    }

    /// Gives the attempt up.
    pub fn cancel(self, now: &Now) -> Completion {
        self.complete(Outcome::Cancelled, now)
    }
}

impl Drop for CircuitPermit<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.circuit.abandon(self.ticket);
        }
    }
}

impl fmt::Debug for CircuitPermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitPermit")
            .field("epoch", &self.epoch())
            .field("is_probe", &self.is_probe())
            .finish_non_exhaustive()
    }
}
