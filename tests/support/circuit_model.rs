//! A circuit that is slow and obviously right, and a run of the real one against it.
//!
//! A run is decoded from bytes, so a property test and a fuzz target can share it.

use std::time::{Duration, Instant};

use poise::core::{Exclusion, Now, Outcome};
use poise::health::{
    CircuitConfig, CircuitPermit, CircuitRejection, CircuitState, CircuitTicket, Completion, HealthSignal,
    PassiveHealth,
};

/// One thing that happens to a circuit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Forward(Duration),
    Back(Duration),
    Admit,
    AdmitForced,
    Settle(usize, Outcome),
    Drop(usize),
    ForceOpen,
    ForceClose,
    Lift,
}

impl Event {
    fn decode(kind: u8, detail: u8) -> Self {
        let chosen = usize::from(detail);
        // Quarters of the cooldown, so that deadlines are hit exactly; with the top bit a nanosecond short of that.
        let quarters = Duration::from_millis(250) * u32::from(detail % 32);
        let step = if detail < 128 { quarters } else { quarters.saturating_sub(Duration::from_nanos(1)) };
        match kind % 16 {
            0 | 1 => Self::Forward(step),
            2 => Self::Back(step / 4),
            3..=5 => Self::Admit,
            6 => Self::AdmitForced,
            7 | 8 => Self::Settle(chosen, Outcome::Success),
            9 | 10 => Self::Settle(chosen, Outcome::Failure),
            11 => Self::Settle(chosen, Outcome::Overload { retry_after: Some(step) }),
            12 => Self::Settle(chosen, Outcome::Cancelled),
            13 => Self::Drop(chosen),
            14 if detail < 64 => Self::ForceOpen,
            14 if detail < 128 => Self::ForceClose,
            _ => Self::Lift,
        }
    }
}

/// The numbers of a configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    failures: u32,
    permits: u32,
    successes: u32,
    max: Option<Duration>,
    deadline: Duration,
}

const OPEN_FOR: Duration = Duration::from_secs(1);

impl Numbers {
    fn decode(bytes: [u8; 3]) -> Self {
        let [a, b, c] = bytes;
        Self {
            failures: 1 + u32::from(a % 3),
            permits: 1 + u32::from(b % 3),
            successes: 1 + u32::from(c % 3),
            max: (a >= 128).then_some(OPEN_FOR * 5),
            deadline: Duration::from_millis(250) * (1 + u32::from(b / 3 % 8)),
        }
    }

    fn config(self) -> CircuitConfig {
        let config = CircuitConfig::new(self.failures, OPEN_FOR)
            .and_then(|config| config.with_half_open_permits(self.permits))
            .and_then(|config| config.with_successes_to_close(self.successes))
            .and_then(|config| config.with_half_open_deadline(self.deadline))
            .expect("the numbers are in range");
        match self.max {
            None => config,
            Some(max) => config.with_growth(max).expect("the maximum is above the first cooldown"),
        }
    }
}

#[derive(Clone, Debug)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    HalfOpen { probes: Vec<usize>, until: Instant },
    ForcedOpen,
    ForcedClosed,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    Regular,
    Probe,
    Bystander,
}

/// Takes one event after another; an attempt is named by a number.
#[derive(Debug)]
struct Model {
    numbers: Numbers,
    state: State,
    epoch: u64,
    trips: u64,
    successes: u32,
    /// What the next failure of a probe multiplies.
    value: Duration,
    /// What an undecided round repeats.
    cooldown: Duration,
}

impl Model {
    fn new(numbers: Numbers) -> Self {
        let state = State::Closed { failures: 0 };
        Self { numbers, state, epoch: 0, trips: 0, successes: 0, value: OPEN_FOR, cooldown: OPEN_FOR }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.epoch += 1;
    }

    fn settled(&mut self, state: State) {
        self.successes = 0;
        self.enter(state);
    }

    /// What the state is at this time, whether or not anybody has taken note.
    fn seen_at(&self, now: Instant) -> State {
        match &self.state {
            State::HalfOpen { until, .. } if now >= *until => State::Open { until: *until + self.cooldown },
            state => state.clone(),
        }
    }

    fn take_note(&mut self, now: Instant) {
        if let (State::HalfOpen { .. }, open @ State::Open { .. }) = (&self.state, self.seen_at(now)) {
            self.enter(open);
        }
    }

    fn refusal(&self, now: Instant) -> Option<CircuitRejection> {
        match self.seen_at(now) {
            State::Open { until } if now < until => Some(CircuitRejection::Open { until: Some(until) }),
            State::HalfOpen { probes, until } if probes.len() == self.numbers.permits as usize => {
                Some(CircuitRejection::HalfOpen { until: Some(until) })
            }
            State::ForcedOpen => Some(CircuitRejection::ForcedOpen),
            _ => None,
        }
    }

    fn changes_at(&self, now: Instant) -> Option<Instant> {
        match self.seen_at(now) {
            State::Open { until } if now < until => Some(until),
            State::HalfOpen { until, .. } => Some(until),
            _ => None,
        }
    }

    fn admit(&mut self, name: usize, now: Instant) -> Result<Role, CircuitRejection> {
        if let Some(refusal) = self.refusal(now) {
            return Err(refusal);
        }
        self.take_note(now);
        if let State::Open { .. } = self.state {
            self.enter(State::HalfOpen { probes: vec![], until: now + self.numbers.deadline });
        }
        Ok(match &mut self.state {
            State::HalfOpen { probes, .. } => {
                probes.push(name);
                Role::Probe
            }
            _ => Role::Regular,
        })
    }

    fn settle(&mut self, name: usize, attempt: (u64, Role), outcome: Outcome, now: Instant) -> Completion {
        if attempt.1 == Role::Probe {
            self.take_note(now);
        }
        if attempt.0 != self.epoch || attempt.1 == Role::Bystander {
            return Completion::Ignored;
        }
        match &mut self.state {
            State::Closed { failures } => match outcome {
                Outcome::Cancelled => Completion::Cancelled,
                Outcome::Success => {
                    *failures = 0;
                    Completion::Counted
                }
                _ if *failures + 1 < self.numbers.failures => {
                    *failures += 1;
                    Completion::Counted
                }
                _ => {
                    self.value = OPEN_FOR;
                    self.trip(outcome, now)
                }
            },
            State::HalfOpen { probes, .. } => {
                probes.retain(|other| *other != name);
                match outcome {
                    Outcome::Cancelled => Completion::Cancelled,
                    Outcome::Success if self.successes + 1 < self.numbers.successes => {
                        self.successes += 1;
                        Completion::Counted
                    }
                    Outcome::Success => {
                        self.settled(State::Closed { failures: 0 });
                        Completion::Closed
                    }
                    _ => {
                        self.value = self.numbers.max.map_or(self.value, |max| max.min(self.value * 2));
                        self.trip(outcome, now)
                    }
                }
            }
            _ => Completion::Ignored,
        }
    }

    fn trip(&mut self, cause: Outcome, now: Instant) -> Completion {
        let asked_for = match cause {
            Outcome::Overload { retry_after } => retry_after.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        self.cooldown = self.value.max(asked_for.min(self.numbers.max.unwrap_or_default()));
        self.trips += 1;
        self.settled(State::Open { until: now + self.cooldown });
        Completion::Tripped
    }

    fn abandon(&mut self, name: usize, attempt: (u64, Role)) {
        if let State::HalfOpen { probes, .. } = &mut self.state
            && attempt.0 == self.epoch
        {
            probes.retain(|other| *other != name);
        }
    }

    fn force(&mut self, state: State) {
        if std::mem::discriminant(&self.state) != std::mem::discriminant(&state) {
            self.settled(state);
        }
    }

    fn lift(&mut self) -> bool {
        let forced = matches!(self.state, State::ForcedOpen | State::ForcedClosed);
        if forced {
            self.settled(State::Closed { failures: 0 });
        }
        forced
    }

    fn expected(&self, now: Instant) -> CircuitState {
        match self.seen_at(now) {
            State::Closed { failures } => CircuitState::Closed { failures },
            State::Open { until } => CircuitState::Open { until: Some(until) },
            State::HalfOpen { probes, until } => CircuitState::HalfOpen {
                probes: u32::try_from(probes.len()).expect("few probes"),
                successes: self.successes,
                until: Some(until),
            },
            State::ForcedOpen => CircuitState::ForcedOpen,
            State::ForcedClosed => CircuitState::ForcedClosed,
        }
    }
}

/// An attempt under way, guarded or not.
enum Held<'a> {
    Permit(CircuitPermit<'a>),
    Ticket(CircuitTicket),
}

/// A configuration and what happens to a circuit that has it.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    numbers: Numbers,
    events: Vec<Event>,
}

impl Scenario {
    /// Decodes a scenario; every sequence of bytes is one.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let (numbers, events) = bytes.split_first_chunk().unwrap_or((&[0; 3], &[]));
        Self {
            numbers: Numbers::decode(*numbers),
            events: events.chunks_exact(2).map(|pair| Event::decode(pair[0], pair[1])).collect(),
        }
    }

    /// Runs circuit and model side by side.
    ///
    /// # Panics
    ///
    /// When they differ in anything that can be seen.
    pub(crate) fn check(&self, start: Instant) {
        let circuit = PassiveHealth::new(self.numbers.config());
        let mut run = Run { model: Model::new(self.numbers), now: start, held: Vec::new(), named: 0 };
        for event in &self.events {
            run.step(&circuit, *event);
            run.compare(&circuit, *event);
        }
    }
}

struct Run<'a> {
    model: Model,
    now: Instant,
    held: Vec<(usize, (u64, Role), Held<'a>)>,
    named: usize,
}

impl<'a> Run<'a> {
    fn step(&mut self, circuit: &'a PassiveHealth, event: Event) {
        let now = Now::at(self.now);
        match event {
            Event::Forward(step) => self.now += step,
            Event::Back(step) => self.now = self.now.checked_sub(step).unwrap_or(self.now),
            Event::Admit => {
                let expected = self.model.admit(self.named, self.now);
                let permit = circuit.try_acquire(&now);
                assert_eq!(
                    permit.as_ref().map(CircuitPermit::is_probe).map_err(|rejection| *rejection),
                    expected.map(|role| role == Role::Probe),
                    "who is admitted"
                );
                if let (Ok(permit), Ok(role)) = (permit, expected) {
                    self.hold(role, Held::Permit(permit));
                }
            }
            Event::AdmitForced => {
                let role = self.model.admit(self.named, self.now).unwrap_or(Role::Bystander);
                let ticket = circuit.admit_forced(&now);
                assert_eq!(ticket.is_probe(), role == Role::Probe, "who is a probe");
                self.hold(role, Held::Ticket(ticket));
            }
            Event::Settle(chosen, outcome) => {
                let Some((name, attempt, held)) = self.let_go(chosen) else { return };
                let expected = self.model.settle(name, attempt, outcome, self.now);
                let completion = match held {
                    Held::Permit(permit) => permit.complete(outcome, &now),
                    Held::Ticket(ticket) => circuit.settle(ticket, outcome, &now),
                };
                assert_eq!(completion, expected, "what {outcome} does");
            }
            Event::Drop(chosen) => {
                // Only a permit notices that it is dropped: a ticket is lost.
                if let Some((name, attempt, Held::Permit(permit))) = self.let_go(chosen) {
                    self.model.abandon(name, attempt);
                    drop(permit);
                }
            }
            Event::ForceOpen => {
                self.model.force(State::ForcedOpen);
                circuit.force_open();
            }
            Event::ForceClose => {
                self.model.force(State::ForcedClosed);
                circuit.force_close();
            }
            Event::Lift => assert_eq!(circuit.lift(), self.model.lift(), "what is lifted"),
        }
    }

    fn hold(&mut self, role: Role, held: Held<'a>) {
        self.held.push((self.named, (self.model.epoch, role), held));
        self.named += 1;
    }

    fn let_go(&mut self, chosen: usize) -> Option<(usize, (u64, Role), Held<'a>)> {
        let count = self.held.len();
        (count > 0).then(|| self.held.swap_remove(chosen % count))
    }

    fn compare(&self, circuit: &PassiveHealth, event: Event) {
        let now = Now::at(self.now);
        assert_eq!(circuit.state(&now), self.model.expected(self.now), "the state after {event:?}");
        assert_eq!(circuit.epoch(), self.model.epoch, "the epoch after {event:?}");
        assert_eq!(circuit.trips(), self.model.trips, "the trips after {event:?}");
        assert_eq!(
            circuit.exclusions(&now).contains(Exclusion::Circuit),
            self.model.refusal(self.now).is_some(),
            "a circuit objects exactly when it refuses, after {event:?}"
        );
        assert_eq!(
            circuit.changes_at(&now),
            self.model.changes_at(self.now),
            "when it changes, after {event:?}"
        );
    }
}
