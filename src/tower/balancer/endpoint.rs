//! One service generation: its service, its load, its health and its statistics.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::conduct::Conduct;
use super::contain::attempt as contained;
use super::dispatch::Dispatch;
use super::operator::{Mark, SharedMark, Standing};
use super::signals::Signals;
use super::statistics::Statistics;
use crate::core::{Exclusion, Exclusions, LoadTracker, Now, Outcome};
use crate::health::{CircuitTicket, Completion, PassiveHealth};
use crate::sync::{AtomicBool, AtomicU32, Mutex, Ordering, lock};
use crate::tower::attempt::{self, Settle};
use crate::tower::{Event, Phase};

/// An attempt at an endpoint.
pub(crate) type Attempt<S, R, L> = attempt::Attempt<Arc<Endpoint<S, R, L>>>;

/// What an attempt holds of an endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admitted<T> {
    pub(crate) permit: Option<CircuitTicket>,
    pub(crate) ticket: T,
    /// When it began, as [`Now::nanos`].
    pub(crate) started: u64,
}

/// Joins everything that belongs to one allocation of a backend.
///
/// What each request reads comes first and lies together: with many endpoints it is in no cache, and costs by the line.
#[repr(C)]
pub(crate) struct Endpoint<S, R, L: LoadTracker> {
    load: L,
    /// What an operator says: a copy of what stands in `standing`, which all generations share.
    mark: SharedMark,
    /// Whether the membership has it drain.
    drains: AtomicBool,
    retired: AtomicBool,
    /// Whether it gets its part of the load little by little.
    ramps: bool,
    /// Whether it was ejected and has returned, so that some attempts may be of before: what each end wants to know of that.
    has_returned: AtomicBool,
    /// Whether a signal may object: what each pick wants to know of all of them, which lie further away.
    in_question: AtomicBool,
    /// Where it stood in the pool when it was last placed: a hint.
    position: AtomicU32,
    /// The cluster that it belongs to. The cluster holds its endpoints in turn; closing it breaks the cycle.
    home: Arc<dyn Dispatch<S, R, L>>,
    conduct: Arc<Conduct<S, R>>,
    service: S,
    signals: Signals,
    /// Also the name in `standing`; here it is where requests read it.
    name: Arc<str>,
    standing: Arc<Standing>,
    statistics: Statistics,
    since: Mutex<(Exclusions, Instant)>,
}

impl<S, R, L: LoadTracker> Endpoint<S, R, L> {
    pub(super) fn new(
        standing: Arc<Standing>,
        service: S,
        load: L,
        signals: Signals,
        home: Arc<dyn Dispatch<S, R, L>>,
        now: &Now,
    ) -> Self {
        Self {
            load,
            mark: SharedMark::new(Mark::NONE),
            drains: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            ramps: signals.has_ramp(),
            has_returned: AtomicBool::new(false),
            in_question: AtomicBool::new(signals.may_object()),
            position: AtomicU32::new(0),
            conduct: Arc::clone(home.conduct()),
            home,
            statistics: Statistics::new(),
            signals,
            service,
            name: Arc::clone(standing.name()),
            standing,
            since: Mutex::new((Exclusions::NONE, now.instant())),
        }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn standing(&self) -> &Arc<Standing> {
        &self.standing
    }

    pub(super) fn service(&self) -> &S {
        &self.service
    }

    pub(crate) fn load(&self) -> &L {
        &self.load
    }

    pub(super) fn circuit(&self) -> Option<&PassiveHealth> {
        self.signals.circuit()
    }

    pub(super) fn signals(&self) -> &Signals {
        &self.signals
    }

    pub(crate) fn home(&self) -> &Arc<dyn Dispatch<S, R, L>> {
        &self.home
    }

    pub(super) fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    pub(crate) fn conduct(&self) -> &Arc<Conduct<S, R>> {
        &self.conduct
    }

    /// Returns what excludes it beside its membership: an operator, its health and its limit.
    pub(super) fn exclusions(&self, now: &Now) -> Exclusions {
        let unwell = if self.in_question.load(Ordering::Acquire) {
            self.signals.exclusions(now)
        } else {
            Exclusions::NONE
        };
        self.said() | unwell.with_if(Exclusion::Capacity, self.load.is_full())
    }

    /// Returns the part of its weight that it gets, as it is new or has come back.
    #[inline]
    pub(super) fn ramp(&self, now: &Now) -> f32 {
        if self.ramps { self.signals.ramp(now) } else { 1.0 }
    }

    /// Gives it a fresh start when its ejection is over.
    pub(super) fn start_anew(&self, now: &Now) {
        if let Some(outlying) = self.signals.outlying() {
            outlying.start_anew(&self.statistics, now);
            // Relaxed, as it is said either way of an attempt that ends at the same time.
            self.has_returned.store(true, Ordering::Relaxed);
        }
    }

    /// Takes note of a transition of a signal. The caller holds the ledger of the cluster or is the only one to know the
    /// endpoint, so that the last transition is noted last.
    pub(super) fn note_signals(&self) {
        self.in_question.store(self.signals.may_object(), Ordering::Release);
    }

    /// Returns what an operator says of it.
    pub(super) fn said(&self) -> Exclusions {
        self.mark.load().exclusions()
    }

    /// Counts a pick, and tells whether there may be one: who drains by now takes nothing new, whatever the policy saw.
    pub(super) fn picked(&self) -> bool {
        // With `in_flight`: either this sees that it drains, or whoever had it drain sees the pick.
        let may_be = self.statistics.picked(|| self.is_draining());
        if !may_be {
            self.home.left();
        }
        may_be
    }

    /// Counts the attempts that have started and not ended.
    ///
    /// Once it [drains](Self::is_draining), zero is final; and once it drains or is retired, an end that this did not see yet
    /// is told to its cluster.
    pub(super) fn in_flight(&self) -> u64 {
        self.statistics.counts().in_flight()
    }

    /// Says whether the membership has it drain.
    pub(super) fn set_drains(&self, drains: bool) {
        self.drains.store(drains, Ordering::SeqCst);
    }

    /// Tells whether the membership or an operator has it drain.
    #[inline]
    pub(super) fn is_draining(&self) -> bool {
        self.drains.load(Ordering::SeqCst) || self.mark.load().drains()
    }

    /// Brings what an operator says into effect, and tells whether that is new.
    ///
    /// Several may do so at the same time: whoever leaves has seen that what it brought in was the latest.
    pub(super) fn obey(&self) -> bool {
        let mut is_new = false;
        loop {
            let mark = self.standing.mark();
            is_new |= self.mark.swap(mark) != mark;
            if let Some(circuit) = self.signals.circuit() {
                if mark.forces_open() {
                    circuit.force_open();
                } else {
                    circuit.lift();
                }
            }
            if self.standing.mark() == mark {
                return is_new;
            }
        }
    }

    /// Tells the load how an attempt ended, and gives its ticket back.
    #[inline]
    pub(crate) fn give_back(&self, ticket: L::Ticket, outcome: Outcome, now: &Now) {
        let mut is_told = false;
        self.track(|load| {
            load.responded(ticket, outcome, now);
            is_told = true;
            load.release(ticket, now);
            load.has_limit()
        });
        if !is_told {
            // It panicked when it was told, which is no reason to keep the place.
            self.release(ticket, now);
        }
    }

    /// Tells the load how an attempt ended that still holds its ticket.
    pub(crate) fn respond(&self, ticket: L::Ticket, outcome: Outcome, now: &Now) {
        self.track(|load| {
            load.responded(ticket, outcome, now);
            false
        });
    }

    /// Gives back the ticket of an attempt of which the load was told how it ended.
    pub(crate) fn release(&self, ticket: L::Ticket, now: &Now) {
        self.track(|load| {
            load.release(ticket, now);
            load.has_limit()
        });
    }

    /// Runs code of the tracker, which answers whether a place may have come free. The tracker may be the user's, and this
    /// may run while a panic unwinds.
    #[inline]
    fn track(&self, code: impl FnOnce(&L) -> bool) {
        match contained(|| code(&self.load)) {
            Some(true) => self.home.place_freed(),
            Some(false) => {}
            None => self.conduct.tell(&Event::Contained { what: "load" }),
        }
    }

    /// Settles an attempt whose load was settled already: when it began, as [`Now::nanos`], and how many nanoseconds it took.
    #[inline]
    pub(crate) fn ended(
        &self,
        permit: Option<CircuitTicket>,
        phase: Phase,
        outcome: Outcome,
        (started, elapsed): (u64, u64),
        now: &Now,
        is_followed: bool,
    ) {
        // What never reached the endpoint says nothing of how long it takes.
        if phase != Phase::Readiness {
            self.conduct.ended(outcome, elapsed);
        }
        if is_followed {
            let elapsed = Duration::from_nanos(elapsed);
            self.conduct.tell(&Event::Ended { endpoint: &self.name, phase, outcome, elapsed });
        }
        self.statistics.ended(outcome, elapsed);
        if self.has_returned.load(Ordering::Relaxed) {
            self.signals.ended(outcome, started);
        }
        if self.is_draining() || self.is_retired() {
            self.home.left();
        }
        if let Some(permit) = permit {
            self.decide(permit, outcome, now);
        }
    }

    /// Tells the circuit how an attempt ended.
    pub(crate) fn decide(&self, permit: CircuitTicket, outcome: Outcome, now: &Now) {
        let Some(circuit) = self.signals.circuit() else { return };
        let endpoint = &*self.name;
        let event = match circuit.settle(permit, outcome, now) {
            Completion::Tripped => {
                Event::Tripped { endpoint, cause: permit.trip_cause(), epoch: permit.next_epoch() }
            }
            Completion::Withheld => Event::TripWithheld { endpoint, epoch: permit.epoch() },
            Completion::Closed => {
                self.home.reseed(self, now);
                Event::Recovered { endpoint, epoch: permit.next_epoch() }
            }
            _ => return,
        };
        self.conduct.tell(&event);
    }

    pub(super) fn position(&self) -> usize {
        self.position.load(Ordering::Relaxed) as usize
    }

    pub(super) fn place(&self, position: usize) {
        self.position.store(u32::try_from(position).unwrap_or(u32::MAX), Ordering::Relaxed);
    }

    /// Says that it is no longer a member.
    pub(super) fn retire(&self) {
        self.retired.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::SeqCst)
    }

    /// Remembers since when it has been excluded as it is.
    pub(super) fn note(&self, exclusions: Exclusions, now: &Now) {
        let mut since = lock(&self.since);
        if since.0 != exclusions {
            *since = (exclusions, now.instant());
        }
    }

    pub(super) fn since(&self) -> Instant {
        lock(&self.since).1
    }
}

impl<S, R, L: LoadTracker> Settle for Arc<Endpoint<S, R, L>> {
    type Ticket = Admitted<L::Ticket>;

    /// One copy for all ends of an attempt: in each of them it would leave no room for what is around it.
    #[inline(never)]
    fn settle(&self, admitted: Admitted<L::Ticket>, phase: Phase, outcome: Outcome, is_followed: bool) {
        let now = Now::at(self.conduct.now());
        self.give_back(admitted.ticket, outcome, &now);
        let elapsed = now.nanos_since(admitted.started);
        self.ended(admitted.permit, phase, outcome, (admitted.started, elapsed), &now, is_followed);
    }
}

impl<S, R, L: LoadTracker> fmt::Debug for Endpoint<S, R, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("name", &self.name).finish_non_exhaustive()
    }
}
