//! The circuit.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::core::{Changes, Exclusion, Exclusions, Now, Outcome};
use crate::health::{ExclusionBudget, HealthSignal};
use crate::sync::{Mutex, lock};

use super::deadlines::Deadlines;
use super::ledger::Ledger;
use super::permit::Role;
use super::phase::Phase;
use super::word::{AtomicWord, Kind, Word};
use super::{CircuitConfig, CircuitPermit, CircuitRejection, CircuitState, CircuitTicket, Completion};

/// Watches the results of one endpoint and leaves it alone after too many failures in a row.
///
/// Ask [`try_acquire`](Self::try_acquire) before each attempt and give the permit the outcome. Where the attempt cannot
/// borrow the circuit, [`admit`](Self::admit) and [`settle`](Self::settle) do the same with a plain value.
///
/// A [success](Outcome::Success) ends a row of failures. [`Failure`](Outcome::Failure) and
/// [`Overload`](Outcome::Overload) count alike. [`Cancelled`](Outcome::Cancelled) never counts.
///
/// As a [`HealthSignal`] it gives [`Exclusion::Circuit`] while it would refuse an attempt. An open circuit whose cooldown
/// has elapsed does not object any more; the first attempt then is its probe. It notifies after every transition, and
/// when the last half-open permit goes or the first comes back.
///
/// # Complexity
///
/// While the circuit is closed and the last result was no failure, admission and a success cost one atomic load each, and
/// nothing is written. A rejection takes no lock. Transitions and half-open probes take a short lock of this circuit, under
/// which nobody is notified.
///
/// # Examples
///
/// ```
/// use poise::core::{Now, Outcome};
/// use poise::health::{CircuitConfig, CircuitState, PassiveHealth};
/// use std::time::{Duration, Instant};
///
/// let circuit = PassiveHealth::new(CircuitConfig::new(2, Duration::from_secs(10))?);
/// let start = Instant::now();
/// let at = |seconds| Now::at(start + Duration::from_secs(seconds));
///
/// circuit.try_acquire(&at(0))?.complete(Outcome::Failure, &at(0));
/// circuit.try_acquire(&at(1))?.complete(Outcome::Failure, &at(1));
/// assert!(circuit.try_acquire(&at(10)).is_err(), "open for ten seconds");
///
/// let probe = circuit.try_acquire(&at(11))?;
/// assert!(circuit.try_acquire(&at(11)).is_err(), "one probe at a time");
/// probe.complete(Outcome::Success, &at(12));
/// assert_eq!(circuit.state(&at(12)), CircuitState::Closed { failures: 0 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PassiveHealth {
    pub(super) word: AtomicWord,
    pub(super) deadlines: Deadlines,
    pub(super) ledger: Mutex<Ledger>,
    pub(super) config: CircuitConfig,
    pub(super) budget: Option<Arc<ExclusionBudget>>,
}

impl PassiveHealth {
    /// Makes a closed circuit.
    #[must_use]
    pub fn new(config: CircuitConfig) -> Self {
        Self {
            word: AtomicWord::new(Word::START),
            deadlines: Deadlines::new(),
            ledger: Mutex::new(Ledger::new(&config)),
            config,
            budget: None,
        }
    }

    /// Lets each trip take a slot of a budget that the circuits of a pool share; without one there is no cap.
    ///
    /// The slot is held while the circuit is open and half open, and given back when it closes, is forced closed, lifted or
    /// dropped. With no slot left the circuit stays closed at its threshold and asks again at each further failure.
    #[must_use]
    pub fn with_budget(mut self, budget: Arc<ExclusionBudget>) -> Self {
        self.budget = Some(budget);
        self
    }

    /// Admits an attempt and guards it.
    ///
    /// # Errors
    ///
    /// [`CircuitRejection`] while the circuit is open, is half open with every permit taken, or is forced open.
    pub fn try_acquire(&self, now: &Now) -> Result<CircuitPermit<'_>, CircuitRejection> {
        self.admit(now).map(|ticket| CircuitPermit::new(self, ticket))
    }

    /// Admits an attempt that does not borrow the circuit. Whoever gets the ticket [settles](Self::settle) it once.
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn admit(&self, now: &Now) -> Result<CircuitTicket, CircuitRejection> {
        let word = self.word.load();
        match word.kind() {
            Kind::Closed | Kind::ForcedClosed => Ok(CircuitTicket::new(word.epoch(), Role::Regular)),
            _ => self.admit_probe(now),
        }
    }

    /// Admits an attempt whatever the state, for pools in which nobody is healthy.
    ///
    /// Where [`admit`](Self::admit) would admit it, this is the same. Otherwise the attempt holds no permit, and its result
    /// is ignored.
    pub fn admit_forced(&self, now: &Now) -> CircuitTicket {
        self.admit(now).unwrap_or_else(|_| CircuitTicket::new(self.word.load().epoch(), Role::Bystander))
    }

    /// Ends the attempt of a ticket and says what that did.
    #[inline]
    pub fn settle(&self, ticket: CircuitTicket, outcome: Outcome, now: &Now) -> Completion {
        // Nearly all attempts are so.
        if matches!(outcome, Outcome::Success)
            && matches!(ticket.role, Role::Regular)
            && self.word.load().is_untouched_in(ticket.epoch())
        {
            return Completion::Counted;
        }
        self.settle_unusual(ticket, outcome, now)
    }

    #[cold]
    fn settle_unusual(&self, ticket: CircuitTicket, outcome: Outcome, now: &Now) -> Completion {
        match ticket.role {
            Role::Regular => self.count(ticket.epoch(), outcome, now),
            Role::Probe(number) => self.decide(ticket.epoch(), number, outcome, now),
            Role::Bystander => Completion::Ignored,
        }
    }

    /// Refuses every attempt, at once and until it is lifted or forced closed.
    ///
    /// It is the operator's word and needs no slot of a budget; it takes one if there is one, so that fewer circuits trip
    /// beside it.
    pub fn force_open(&self) {
        self.force(Kind::ForcedOpen);
    }

    /// Admits every attempt and counts none, at once and until it is lifted or forced open.
    pub fn force_close(&self) {
        self.force(Kind::ForcedClosed);
    }

    /// Ends a forced state: the circuit is closed and has seen no failure. Returns whether it was forced.
    pub fn lift(&self) -> bool {
        self.unforce()
    }

    /// Returns the state at this time.
    #[must_use]
    pub fn state(&self, now: &Now) -> CircuitState {
        let ledger = lock(&self.ledger);
        let word = self.word.load();
        match Phase::of(word, &self.deadlines, now) {
            Phase::Closed => CircuitState::Closed { failures: word.payload() },
            Phase::Open { until, .. } => CircuitState::Open { until },
            Phase::HalfOpen { until, .. } => CircuitState::HalfOpen {
                probes: ledger.round.probes(),
                successes: ledger.round.successes(),
                until,
            },
            Phase::ForcedOpen => CircuitState::ForcedOpen,
            Phase::ForcedClosed => CircuitState::ForcedClosed,
        }
    }

    /// Returns the current epoch. It grows with each transition, so of two different ones the larger is the later.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.word.load().epoch()
    }

    /// Returns how often failures have opened the circuit, from closed and from half open.
    #[must_use]
    pub fn trips(&self) -> u64 {
        lock(&self.ledger).trips
    }

    /// Returns the configuration.
    #[must_use]
    pub const fn config(&self) -> &CircuitConfig {
        &self.config
    }

    /// Tells whether everything is admitted, counted or not.
    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.word.load().is_closed()
    }

    #[cold]
    fn objection(&self, now: &Now) -> Exclusions {
        Exclusions::NONE.with_if(Exclusion::Circuit, self.phase(now).rejection().is_some())
    }

    pub(super) fn phase(&self, now: &Now) -> Phase {
        Phase::observe(&self.word, &self.deadlines, now)
    }
}

impl HealthSignal for PassiveHealth {
    #[inline]
    fn exclusions(&self, now: &Now) -> Exclusions {
        // Most circuits are closed most of the time, and a policy may ask all of them.
        if self.is_closed() { Exclusions::NONE } else { self.objection(now) }
    }

    fn watch(&self, changes: Changes) {
        let previous = std::mem::replace(&mut lock(&self.ledger).changes, changes);
        // Dropping a listener may run code that asks this circuit: the lock is free again by now.
        drop(previous);
    }

    fn changes_at(&self, now: &Now) -> Option<Instant> {
        self.phase(now).changes_at()
    }
}

impl fmt::Debug for PassiveHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PassiveHealth")
            .field("word", &self.word.load())
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
