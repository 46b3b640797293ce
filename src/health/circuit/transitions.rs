//! How a circuit gets from one state to the next.

use std::time::Duration;

use crate::core::{Now, Outcome};
use crate::health::{BudgetKind, BudgetSlot};
use crate::sync::lock;

use super::ledger::Ledger;
use super::permit::Role;
use super::phase::{Phase, has_passed};
use super::word::{Kind, Word};
use super::{CircuitRejection, CircuitTicket, Completion, PassiveHealth};

impl PassiveHealth {
    /// Admits an attempt of a circuit that was not closed.
    #[cold]
    pub(super) fn admit_probe(&self, now: &Now) -> Result<CircuitTicket, CircuitRejection> {
        if let Some(rejection) = self.phase(now).rejection() {
            return Err(rejection);
        }
        self.transition(|ledger| {
            self.expire(ledger, now);
            let word = self.word.load();
            if let Some(rejection) = Phase::of(word, &self.deadlines, now).rejection() {
                return Err(rejection);
            }
            Ok(match word.kind() {
                Kind::Open => self.begin_round(ledger, word, now),
                Kind::HalfOpen => self.issue(ledger, word),
                _ => CircuitTicket::new(word.epoch(), Role::Regular),
            })
        })
    }

    /// Counts the result of an attempt that a closed circuit admitted.
    pub(super) fn count(&self, epoch: u64, outcome: Outcome, now: &Now) -> Completion {
        let mut seen = self.word.load();
        loop {
            if !seen.is_closed_in(epoch) {
                return Completion::Ignored;
            }
            let next = match outcome {
                Outcome::Cancelled => return Completion::Cancelled,
                Outcome::Success if seen.payload() == 0 => return Completion::Counted,
                Outcome::Success => seen.with_payload(0),
                Outcome::Failure | Outcome::Overload { .. } => {
                    if self.is_last_straw(seen) {
                        return self.transition(|ledger| self.trip(ledger, epoch, outcome, now));
                    }
                    seen.with_payload(seen.payload() + 1)
                }
            };
            match self.word.exchange(seen, next) {
                Ok(()) => return Completion::Counted,
                Err(found) => seen = found,
            }
        }
    }

    /// Takes the result of a half-open probe.
    #[cold]
    pub(super) fn decide(&self, epoch: u64, number: u64, outcome: Outcome, now: &Now) -> Completion {
        self.transition(|ledger| {
            self.expire(ledger, now);
            let Some(word) = self.take_back(ledger, epoch, number) else {
                return Completion::Ignored;
            };
            match outcome {
                Outcome::Cancelled => {
                    self.word.store(word);
                    Completion::Cancelled
                }
                Outcome::Success if ledger.round.succeed() < self.config.successes_to_close() => {
                    self.word.store(word);
                    Completion::Counted
                }
                Outcome::Success => {
                    self.enter(ledger, word, Kind::Closed);
                    Completion::Closed
                }
                Outcome::Failure | Outcome::Overload { .. } => {
                    let cooldown = ledger.cooldown.grown(&self.config, outcome);
                    ledger.round.end();
                    ledger.trips += 1;
                    self.word.store(self.opened(word, cooldown, now));
                    Completion::Tripped
                }
            }
        })
    }

    /// Ends an attempt whose end has no time: the slot is free, and whether the round is over is for others to see.
    pub(super) fn abandon(&self, ticket: CircuitTicket) {
        if let Role::Probe(number) = ticket.role {
            self.transition(|ledger| {
                if let Some(word) = self.take_back(ledger, ticket.epoch(), number) {
                    self.word.store(word);
                }
            });
        }
    }

    #[cold]
    pub(super) fn force(&self, kind: Kind) {
        self.transition(|ledger| {
            let word = self.word.load();
            if word.kind() == kind {
                return;
            }
            if kind == Kind::ForcedOpen {
                ledger.slot = ledger.slot.take().or_else(|| self.ask_leave()?.0);
                ledger.round.end();
                self.word.store(word.next(kind));
            } else {
                self.enter(ledger, word, kind);
            }
        });
    }

    #[cold]
    pub(super) fn unforce(&self) -> bool {
        self.transition(|ledger| {
            let word = self.word.load();
            let forced = matches!(word.kind(), Kind::ForcedOpen | Kind::ForcedClosed);
            if forced {
                self.enter(ledger, word, Kind::Closed);
            }
            forced
        })
    }

    /// Runs `step` under the lock, and after it tells the pool when there is something to tell.
    fn transition<T>(&self, step: impl FnOnce(&mut Ledger) -> T) -> T {
        let mut ledger = lock(&self.ledger);
        let before = self.word.load();
        let result = step(&mut ledger);
        let after = self.word.load();
        let news = before.epoch() != after.epoch() || before.is_exhausted() != after.is_exhausted();
        let changes = news.then(|| ledger.changes.clone());
        drop(ledger);
        if let Some(changes) = changes {
            changes.notify();
        }
        result
    }

    fn is_last_straw(&self, seen: Word) -> bool {
        seen.payload() + 1 >= self.config.failures()
    }

    /// Opens a closed circuit, unless a success came first or the budget refuses.
    fn trip(&self, ledger: &mut Ledger, epoch: u64, cause: Outcome, now: &Now) -> Completion {
        let mut leave = None;
        loop {
            let seen = self.word.load();
            if !seen.is_closed_in(epoch) {
                return Completion::Ignored;
            }
            if !self.is_last_straw(seen) {
                if self.word.exchange(seen, seen.with_payload(seen.payload() + 1)).is_ok() {
                    return Completion::Counted;
                }
                continue;
            }
            leave = leave.or_else(|| self.ask_leave());
            if leave.is_none() {
                if self.word.exchange(seen, seen.with_payload(self.config.failures())).is_ok() {
                    return Completion::Withheld;
                }
                continue;
            }
            let cooldown = ledger.cooldown.first(&self.config, cause);
            if self.word.exchange(seen, self.opened(seen, cooldown, now)).is_ok() {
                ledger.slot = leave.and_then(|leave| leave.0);
                ledger.trips += 1;
                return Completion::Tripped;
            }
        }
    }

    /// Asks the budget, if there is one, for leave to open.
    fn ask_leave(&self) -> Option<Leave> {
        match &self.budget {
            None => Some(Leave(None)),
            Some(budget) => budget.try_take(BudgetKind::Circuit).map(|slot| Leave(Some(slot))),
        }
    }

    /// Writes down that the deadline of a round has passed.
    fn expire(&self, ledger: &mut Ledger, now: &Now) {
        let word = self.word.load();
        if word.kind() == Kind::HalfOpen && has_passed(self.deadlines.turn(word.epoch()), now) {
            let open = word.next(Kind::Open);
            ledger.round.expire();
            self.deadlines.set(open.epoch(), now.instant(), self.deadlines.again(word.epoch()), None);
            self.word.store(open);
        }
    }

    fn begin_round(&self, ledger: &mut Ledger, from: Word, now: &Now) -> CircuitTicket {
        let start = now.instant();
        let turn = start.checked_add(self.config.half_open_deadline());
        let again = turn.and_then(|turn| turn.checked_add(ledger.cooldown.current()));
        let word = from.next(Kind::HalfOpen).with_payload(self.config.half_open_permits());
        self.deadlines.set(word.epoch(), start, turn, again);
        self.issue(ledger, word)
    }

    /// Returns the word of an epoch that is open from now on, whose deadline is set.
    fn opened(&self, from: Word, cooldown: Duration, now: &Now) -> Word {
        let start = now.instant();
        let word = from.next(Kind::Open);
        self.deadlines.set(word.epoch(), start, start.checked_add(cooldown), None);
        word
    }

    fn issue(&self, ledger: &mut Ledger, word: Word) -> CircuitTicket {
        self.word.store(word.with_payload(word.payload() - 1));
        CircuitTicket::new(word.epoch(), Role::Probe(ledger.round.issue()))
    }

    /// Takes a permit back and returns the word with one more free, if it was out in this epoch.
    fn take_back(&self, ledger: &mut Ledger, epoch: u64, number: u64) -> Option<Word> {
        let word = self.word.load();
        let is_current = word.kind() == Kind::HalfOpen && word.epoch() == epoch;
        (is_current && ledger.round.take_back(number)).then(|| word.with_payload(word.payload() + 1))
    }

    /// Enters a state in which the endpoint takes traffic.
    fn enter(&self, ledger: &mut Ledger, from: Word, kind: Kind) {
        ledger.slot = None;
        ledger.round.end();
        self.word.store(from.next(kind));
    }
}

/// Allows a trip; with the slot for it where there is a budget.
struct Leave(Option<BudgetSlot>);
