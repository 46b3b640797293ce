//! An active health that is slow and obviously right, and a run of the real one against it.
//!
//! A run is decoded from bytes, so a property test and a fuzz target can share it.

use std::time::{Duration, Instant};

use poise::core::{Exclusion, Now};
use poise::health::{
    ActiveHealth, ActiveHealthConfig, HealthSignal, ProbeCompletion, ProbeOutcome, ProbeRejection,
    ProbeReservation, ProbeState, ProbeTicket, UnknownPolicy,
};

/// One thing that happens to an endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Forward(Duration),
    Back(Duration),
    Reserve,
    ReserveTicket,
    Settle(usize, ProbeOutcome),
    /// A ticket is settled and kept, to be settled once more.
    SettleAgain(usize, ProbeOutcome),
    Drop(usize),
    ForceHealthy,
    ForceUnhealthy,
    Lift,
}

impl Event {
    fn decode(kind: u8, detail: u8) -> Self {
        let chosen = usize::from(detail);
        // Quarters of the interval, so that due times are hit exactly; with the top bit a nanosecond short of that.
        let quarters = INTERVAL / 4 * u32::from(detail % 16);
        let step = if detail < 128 { quarters } else { quarters.saturating_sub(Duration::from_nanos(1)) };
        match kind % 16 {
            0..=2 => Self::Forward(step),
            3 => Self::Back(step / 4),
            4..=6 => Self::Reserve,
            7 => Self::ReserveTicket,
            8 | 9 => Self::Settle(chosen, ProbeOutcome::Healthy),
            10 | 11 => Self::Settle(chosen, ProbeOutcome::Unhealthy),
            12 => Self::Settle(chosen, ProbeOutcome::Cancelled),
            13 if detail < 128 => Self::SettleAgain(chosen, ProbeOutcome::Unhealthy),
            13 => Self::SettleAgain(chosen, ProbeOutcome::Healthy),
            14 => Self::Drop(chosen),
            _ if detail < 64 => Self::ForceHealthy,
            _ if detail < 128 => Self::ForceUnhealthy,
            _ => Self::Lift,
        }
    }
}

const INTERVAL: Duration = Duration::from_secs(4);

/// The numbers of a configuration.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    healthy: u32,
    unhealthy: u32,
    deny: bool,
    fast: bool,
    /// Only one probe is ever due.
    once: bool,
}

impl Numbers {
    fn decode([a, b]: [u8; 2]) -> Self {
        Self {
            healthy: 1 + u32::from(a % 3),
            unhealthy: 1 + u32::from(b % 3),
            deny: a >= 128,
            fast: b >= 128,
            once: a == 77,
        }
    }

    fn config(self) -> ActiveHealthConfig {
        let interval = if self.once { Duration::MAX } else { INTERVAL };
        let config = ActiveHealthConfig::default()
            .with_healthy_threshold(self.healthy)
            .and_then(|config| config.with_unhealthy_threshold(self.unhealthy))
            .and_then(|config| config.with_interval(interval))
            .expect("the numbers are in range")
            .with_unknown_policy(if self.deny { UnknownPolicy::Deny } else { UnknownPolicy::Allow });
        if self.fast { config.with_fast_start() } else { config }
    }
}

/// How one probe ended; the history of all is what the model decides by.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    UnderWay,
    Ended(ProbeOutcome),
    Lapsed,
    Void,
}

#[derive(Clone, Copy, Debug)]
enum Due {
    AtOnce,
    At(Instant),
    Never,
}

/// Keeps every probe that ever was, and looks through all of them.
#[derive(Debug)]
struct Model {
    numbers: Numbers,
    state: ProbeState,
    epoch: u64,
    since: Option<Instant>,
    probes: Vec<Fate>,
    /// The probes from here on count.
    from: usize,
    due: Due,
    ignored: u64,
}

impl Model {
    fn new(numbers: Numbers) -> Self {
        Self {
            numbers,
            state: ProbeState::Unknown,
            epoch: 0,
            since: None,
            probes: Vec::new(),
            from: 0,
            due: Due::AtOnce,
            ignored: 0,
        }
    }

    fn is_forced(&self) -> bool {
        matches!(self.state, ProbeState::ForcedHealthy | ProbeState::ForcedUnhealthy)
    }

    fn is_due(&self, now: Instant) -> bool {
        match self.due {
            Due::AtOnce => true,
            Due::At(at) => now >= at,
            Due::Never => false,
        }
    }

    fn end(&mut self, from: Fate, to: Fate) {
        for fate in self.probes.iter_mut().filter(|fate| **fate == from) {
            *fate = to;
        }
    }

    fn take_note(&mut self, now: Instant) {
        if self.is_due(now) {
            self.end(Fate::UnderWay, Fate::Lapsed);
        }
    }

    fn next_due(&self, now: Instant) -> Option<Instant> {
        match self.due {
            _ if self.is_forced() => None,
            Due::AtOnce => Some(now),
            Due::At(at) => Some(at),
            Due::Never => None,
        }
    }

    fn reserve(&mut self, now: Instant) -> Result<usize, ProbeRejection> {
        if self.is_forced() {
            return Err(ProbeRejection::Forced);
        }
        self.take_note(now);
        if self.probes.contains(&Fate::UnderWay) {
            return Err(ProbeRejection::UnderWay { until: self.next_due(now) });
        }
        if !self.is_due(now) {
            return Err(ProbeRejection::NotDue { at: self.next_due(now) });
        }
        self.due = if self.numbers.once { Due::Never } else { Due::At(now + INTERVAL) };
        self.probes.push(Fate::UnderWay);
        Ok(self.probes.len() - 1)
    }

    /// The results in a row at the end of those that count.
    fn row(&self, of: ProbeOutcome) -> u32 {
        let mut row = 0;
        for fate in self.probes[self.from..].iter().rev() {
            match fate {
                Fate::Ended(outcome) if *outcome == of => row += 1,
                Fate::Ended(ProbeOutcome::Healthy | ProbeOutcome::Unhealthy) => break,
                _ => {}
            }
        }
        row
    }

    fn settle(&mut self, probe: usize, outcome: ProbeOutcome, now: Instant) -> ProbeCompletion {
        self.take_note(now);
        if self.probes[probe] != Fate::UnderWay {
            self.ignored += 1;
            return ProbeCompletion::Ignored;
        }
        self.probes[probe] = Fate::Ended(outcome);
        let enough = match outcome {
            ProbeOutcome::Cancelled => return ProbeCompletion::Cancelled,
            ProbeOutcome::Healthy if self.numbers.fast && self.state == ProbeState::Unknown => 1,
            ProbeOutcome::Healthy => self.numbers.healthy,
            ProbeOutcome::Unhealthy => self.numbers.unhealthy,
        };
        let (state, completion) = if outcome == ProbeOutcome::Healthy {
            (ProbeState::Healthy, ProbeCompletion::TurnedHealthy)
        } else {
            (ProbeState::Unhealthy, ProbeCompletion::TurnedUnhealthy)
        };
        if self.row(outcome) < enough || self.state == state {
            return ProbeCompletion::Counted;
        }
        self.enter(state, now);
        completion
    }

    fn abandon(&mut self, probe: usize) {
        if self.probes[probe] == Fate::UnderWay {
            self.probes[probe] = Fate::Ended(ProbeOutcome::Cancelled);
        } else {
            self.ignored += 1;
        }
    }

    fn enter(&mut self, state: ProbeState, now: Instant) {
        self.state = state;
        self.epoch += 1;
        self.since = Some(now);
    }

    fn force(&mut self, state: ProbeState, now: Instant) {
        if self.state != state {
            self.take_note(now);
            self.end(Fate::UnderWay, Fate::Void);
            self.from = self.probes.len();
            self.enter(state, now);
        }
    }

    fn lift(&mut self, now: Instant) -> bool {
        let forced = self.is_forced();
        if forced {
            self.due = Due::AtOnce;
            self.enter(ProbeState::Unknown, now);
        }
        forced
    }

    fn is_excluded(&self) -> bool {
        match self.state {
            ProbeState::Unknown => self.numbers.deny,
            state => matches!(state, ProbeState::Unhealthy | ProbeState::ForcedUnhealthy),
        }
    }
}

/// A probe under way, guarded or not.
enum Held<'a> {
    Reservation(ProbeReservation<&'a ActiveHealth>),
    Ticket(ProbeTicket),
}

/// A configuration and what happens to an endpoint that has it.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    numbers: Numbers,
    events: Vec<Event>,
}

impl Scenario {
    /// Decodes a scenario; every sequence of bytes is one.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let (numbers, events) = bytes.split_first_chunk().unwrap_or((&[0; 2], &[]));
        Self {
            numbers: Numbers::decode(*numbers),
            events: events.chunks_exact(2).map(|pair| Event::decode(pair[0], pair[1])).collect(),
        }
    }

    /// Runs endpoint and model side by side.
    ///
    /// # Panics
    ///
    /// When they differ in anything that can be seen.
    pub(crate) fn check(&self, start: Instant) {
        let health = ActiveHealth::new(self.numbers.config());
        let mut run = Run { model: Model::new(self.numbers), now: start, held: Vec::new() };
        for event in &self.events {
            run.step(&health, *event);
            run.compare(&health, *event);
        }
    }
}

struct Run<'a> {
    model: Model,
    now: Instant,
    held: Vec<(usize, Held<'a>)>,
}

impl<'a> Run<'a> {
    fn step(&mut self, health: &'a ActiveHealth, event: Event) {
        let now = Now::at(self.now);
        match event {
            Event::Forward(step) => self.now += step,
            Event::Back(step) => self.now = self.now.checked_sub(step).unwrap_or(self.now),
            Event::Reserve => {
                let reservation = health.try_reserve(&now);
                self.hold(reservation.map(Held::Reservation));
            }
            Event::ReserveTicket => self.hold(health.reserve(&now).map(Held::Ticket)),
            Event::Settle(chosen, outcome) => {
                let Some((probe, held)) = self.let_go(chosen) else { return };
                let completion = match held {
                    Held::Reservation(reservation) => reservation.complete(outcome, &now),
                    Held::Ticket(ticket) => health.settle(ticket, outcome, &now),
                };
                let expected = self.model.settle(probe, outcome, self.now);
                assert_eq!(completion, expected, "what {outcome} does");
            }
            Event::SettleAgain(chosen, outcome) => {
                let tickets: Vec<_> = self
                    .held
                    .iter()
                    .filter_map(|(probe, held)| match held {
                        Held::Ticket(ticket) => Some((*probe, *ticket)),
                        Held::Reservation(_) => None,
                    })
                    .collect();
                if !tickets.is_empty() {
                    let (probe, ticket) = tickets[chosen % tickets.len()];
                    let expected = self.model.settle(probe, outcome, self.now);
                    assert_eq!(health.settle(ticket, outcome, &now), expected, "what {outcome} does");
                }
            }
            Event::Drop(chosen) => {
                // Only a reservation notices that it is dropped: a ticket is lost.
                if let Some((probe, Held::Reservation(reservation))) = self.let_go(chosen) {
                    self.model.abandon(probe);
                    drop(reservation);
                }
            }
            Event::ForceHealthy => {
                self.model.force(ProbeState::ForcedHealthy, self.now);
                health.force_healthy(&now);
            }
            Event::ForceUnhealthy => {
                self.model.force(ProbeState::ForcedUnhealthy, self.now);
                health.force_unhealthy(&now);
            }
            Event::Lift => assert_eq!(health.lift(&now), self.model.lift(self.now), "what is lifted"),
        }
    }

    fn hold(&mut self, result: Result<Held<'a>, ProbeRejection>) {
        match (result, self.model.reserve(self.now)) {
            (Ok(held), Ok(probe)) => self.held.push((probe, held)),
            (Err(rejection), Err(expected)) => assert_eq!(rejection, expected),
            (result, expected) => panic!("expected {expected:?}, reserved: {}", result.is_ok()),
        }
    }

    fn let_go(&mut self, chosen: usize) -> Option<(usize, Held<'a>)> {
        let count = self.held.len();
        (count > 0).then(|| self.held.swap_remove(chosen % count))
    }

    fn compare(&self, health: &ActiveHealth, event: Event) {
        let (now, model) = (Now::at(self.now), &self.model);
        let report = health.report(&now);
        assert_eq!((report.state, report.epoch), (model.state, model.epoch), "the state after {event:?}");
        assert_eq!(report.since, model.since, "since when, after {event:?}");
        let rows = (model.row(ProbeOutcome::Healthy), model.row(ProbeOutcome::Unhealthy));
        assert_eq!((report.successes, report.failures), rows, "the row after {event:?}");
        assert_eq!(report.next_due, model.next_due(self.now), "when it is due, after {event:?}");
        assert_eq!(
            health.exclusions(&now).contains(Exclusion::Probe),
            model.is_excluded(),
            "whether it is excluded, after {event:?}"
        );
        assert_eq!(health.changes_at(&now), None, "time alone changes nothing");
        self.compare_counts(health, event);
    }

    fn compare_counts(&self, health: &ActiveHealth, event: Event) {
        let (now, model) = (Now::at(self.now), &self.model);
        let report = health.report(&now);
        let count = |wanted: Fate| model.probes.iter().filter(|fate| **fate == wanted).count() as u64;
        // A probe that has lapsed is under way no more, whether or not anybody has taken note.
        let out = count(Fate::UnderWay);
        let lapsing = if model.is_due(self.now) { out } else { 0 };
        assert_eq!(u64::from(report.is_under_way), out - lapsing, "what is under way, after {event:?}");
        let counts = report.counts;
        assert_eq!(counts.reserved, model.probes.len() as u64);
        assert_eq!(counts.healthy, count(Fate::Ended(ProbeOutcome::Healthy)));
        assert_eq!(counts.unhealthy, count(Fate::Ended(ProbeOutcome::Unhealthy)));
        assert_eq!(counts.cancelled, count(Fate::Ended(ProbeOutcome::Cancelled)));
        assert_eq!(counts.lapsed, count(Fate::Lapsed) + lapsing, "what has lapsed, after {event:?}");
        assert_eq!(counts.voided, count(Fate::Void));
        assert_eq!(counts.ignored, model.ignored, "what was ignored, after {event:?}");
    }
}
