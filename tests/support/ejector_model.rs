//! An ejector that is slow and obviously right, and a run of the real one against it, beside circuits over one budget.
//!
//! A run is decoded from bytes, so a property test and a fuzz target can share it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use poise::core::{Exclusion, Now, Outcome};
use poise::health::{
    BudgetConfig, BudgetKind, CircuitConfig, Completion, Ejection, EjectionState, Ejector, EjectorAction,
    EjectorConfig, ExclusionBudget, HealthSignal, OutlierCause, OutlierSample, PassiveHealth,
};

use super::outliers::{Verdict, judge};

const INTERVAL: Duration = Duration::from_secs(10);
const FIRST: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_secs(80);

/// One thing that happens to a pool.
#[derive(Clone, Copy, Debug)]
enum Event {
    Forward(Duration),
    Back(Duration),
    /// A turn of the ejector, in which the samples follow from this number.
    Advance(u8),
    ForceEject(usize),
    ForceReturn(usize),
    Lift(usize),
    /// The member is built anew.
    Replace(usize),
    /// The member leaves the pool, or comes back to it as it was.
    Toggle(usize),
    Trip(usize),
    Close(usize),
    Restart,
}

impl Event {
    fn decode(kind: u8, detail: u8) -> Self {
        let chosen = usize::from(detail);
        // Halves of the interval, so that ends are hit exactly; with the top bit a nanosecond short of that.
        let halves = INTERVAL / 2 * u32::from(detail % 16);
        let step = if detail < 128 { halves } else { halves.saturating_sub(Duration::from_nanos(1)) };
        match kind % 32 {
            0..=4 => Self::Forward(INTERVAL),
            5..=7 => Self::Forward(step),
            8 => Self::Back(step / 2),
            9..=17 => Self::Advance(detail),
            18 => Self::ForceEject(chosen),
            19 => Self::ForceReturn(chosen),
            20 | 21 => Self::Lift(chosen),
            22 | 23 => Self::Replace(chosen),
            24 | 25 => Self::Toggle(chosen),
            26 | 27 => Self::Trip(chosen),
            28..=30 => Self::Close(chosen),
            _ => Self::Restart,
        }
    }
}

/// What a member's requests came to in a turn, so far apart that nobody is near a threshold.
fn sample(seed: u8, member: usize) -> OutlierSample {
    let lot = usize::from(seed) * 31 + member * usize::from(seed / 16 * 2 + 1);
    let (good, requests) = match lot % 11 {
        0 => (0, 200),
        1 => (310, 620),
        2 => (20, 60),
        3 => (3, 60),
        4 => (0, 40),
        5 => (985, 1_000),
        _ => (200, 200),
    };
    OutlierSample::new(good, requests)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    In,
    Out { cause: OutlierCause, since: Instant, until: Instant },
    ForcedOut,
    ForcedIn,
}

/// What is known of a member.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "a model keeps each fact by itself")]
struct Member {
    state: State,
    slot: bool,
    repeats: u32,
    epoch: u64,
    tripped: bool,
    present: bool,
    /// Whether it was there at the last turn.
    known: bool,
}

impl Member {
    fn new(present: bool) -> Self {
        Self { state: State::In, slot: false, repeats: 0, epoch: 0, tripped: false, present, known: false }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.epoch += 1;
    }

    fn remaining(&self, now: Instant) -> Option<Instant> {
        match self.state {
            State::Out { until, .. } if now < until => Some(until),
            _ => None,
        }
    }

    fn is_out(&self, now: Instant) -> bool {
        self.state == State::ForcedOut || self.remaining(now).is_some()
    }
}

/// Takes one event after another.
#[derive(Debug)]
struct Model {
    caps: BudgetConfig,
    members: Vec<Member>,
    next_sweep: Option<Instant>,
    next_return: Option<Instant>,
}

impl Model {
    fn present(&self) -> Vec<usize> {
        (0..self.members.len()).filter(|at| self.members[*at].present).collect()
    }

    fn taken(&self, kind: BudgetKind) -> u32 {
        let holds = |member: &&Member| if kind == BudgetKind::Circuit { member.tripped } else { member.slot };
        u32::try_from(self.members.iter().filter(holds).count()).expect("few members")
    }

    /// Both caps, written out.
    fn has_slot(&self, kind: BudgetKind, min_eligible: u32) -> bool {
        let members = u32::try_from(self.present().len()).expect("few members");
        let taken = self.taken(BudgetKind::Circuit) + self.taken(BudgetKind::Outlier);
        self.taken(kind) < self.caps.cap(kind, members) && taken + min_eligible < members
    }

    fn advance(&mut self, now: Instant, seed: u8, numbers: Numbers) -> Vec<EjectorAction> {
        for member in &mut self.members {
            if member.known && !member.present && matches!(member.state, State::Out { .. }) {
                member.enter(State::In);
                member.slot = false;
            }
            member.known = member.present;
        }
        let present = self.present();
        let mut actions = Vec::new();
        for (position, at) in present.iter().enumerate() {
            let member = &mut self.members[*at];
            if let State::Out { cause, until, .. } = member.state
                && now >= until
            {
                member.enter(State::In);
                member.slot = false;
                let epoch = member.epoch;
                actions.push(EjectorAction::Return { member: position, cause, epoch, since: now });
            }
        }
        let is_due = self.next_sweep.is_some_and(|due| now >= due);
        let latest = now + INTERVAL;
        self.next_sweep = Some(self.next_sweep.filter(|_| !is_due).map_or(latest, |due| due.min(latest)));
        if is_due {
            self.sweep(now, seed, &present, numbers, &mut actions);
        }
        self.next_return = present.iter().filter_map(|at| self.members[*at].remaining(now)).min();
        actions
    }

    fn sweep(
        &mut self,
        now: Instant,
        seed: u8,
        present: &[usize],
        numbers: Numbers,
        actions: &mut Vec<EjectorAction>,
    ) {
        let returned: Vec<usize> = actions.iter().map(EjectorAction::member).collect();
        let is_judged = |position: usize| {
            let state = self.members[present[position]].state;
            matches!(state, State::In | State::ForcedIn) && !returned.contains(&position)
        };
        let judged: Vec<bool> = (0..present.len()).map(is_judged).collect();
        let of = |position: usize| {
            if judged[position] { sample(seed, position) } else { OutlierSample::default() }
        };
        let samples: Vec<_> = (0..present.len()).map(of).collect();
        let mut outliers = Vec::new();
        for (position, verdict) in judge(&samples, 1.9, 10.0).into_iter().enumerate() {
            match verdict {
                Verdict::Outlier(cause) => outliers.push((position, cause)),
                Verdict::Fine if judged[position] && self.members[present[position]].state == State::In => {
                    let member = &mut self.members[present[position]];
                    member.repeats = member.repeats.saturating_sub(1);
                }
                Verdict::Fine => {}
                Verdict::Close => panic!("the samples are far from every threshold: {samples:?}"),
            }
        }
        let rate = |position: usize| samples[position].successes() * 1_000_000 / samples[position].requests();
        outliers.sort_by_key(|(position, _)| rate(*position));
        for (position, cause) in outliers {
            if self.members[present[position]].state != State::In {
                continue;
            }
            let has_slot = self.has_slot(BudgetKind::Outlier, numbers.min_eligible);
            let member = &mut self.members[present[position]];
            if !has_slot {
                let epoch = member.epoch;
                actions.push(EjectorAction::Withheld { member: position, cause, epoch, since: now });
                continue;
            }
            member.slot = true;
            // Thirty, sixty, eighty seconds: the third is the longest.
            member.repeats = (member.repeats + 1).min(3);
            let until = now + (FIRST * member.repeats).min(LONGEST);
            member.enter(State::Out { cause, since: now, until });
            actions.push(EjectorAction::Eject {
                member: position,
                cause,
                epoch: member.epoch,
                since: now,
                until: Some(until),
                repeats: member.repeats,
            });
        }
    }

    fn force(&mut self, at: usize, state: State, numbers: Numbers) {
        let has_slot = self.has_slot(BudgetKind::Outlier, numbers.min_eligible);
        let member = &mut self.members[at];
        if member.state != state {
            member.slot = state == State::ForcedOut && (member.slot || has_slot);
            member.enter(state);
        }
    }

    fn lift(&mut self, at: usize) -> bool {
        let member = &mut self.members[at];
        let forced = matches!(member.state, State::ForcedOut | State::ForcedIn);
        if forced {
            member.slot = false;
            member.repeats = 0;
            member.enter(State::In);
        }
        forced
    }
}

/// The numbers of a pool.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    members: usize,
    outliers: f64,
    at_least_one: bool,
    min_eligible: u32,
}

impl Numbers {
    fn decode([a, b]: [u8; 2]) -> Self {
        Self {
            members: 1 + usize::from(a % 12),
            outliers: [0.1, 0.25, 0.5, 1.0][usize::from(b % 4)],
            at_least_one: b & 4 != 0,
            min_eligible: u32::from(b >> 3) % 4,
        }
    }

    fn caps(self) -> BudgetConfig {
        let caps = BudgetConfig::default().with_outliers(self.outliers).expect("a fraction");
        let caps = caps.with_min_eligible(self.min_eligible);
        if self.at_least_one { caps.with_at_least_one() } else { caps }
    }
}

/// A pool and what happens to it.
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

    /// Runs ejector and model side by side, and returns how often a member was ejected.
    ///
    /// # Panics
    ///
    /// When they differ in anything that can be seen, or a cap is exceeded.
    pub(crate) fn check(&self, start: Instant) -> usize {
        let mut run = Run::new(self.numbers, start);
        for event in &self.events {
            run.step(*event);
            run.compare(*event);
        }
        run.ejected
    }
}

struct Run {
    numbers: Numbers,
    model: Model,
    now: Instant,
    budget: Arc<ExclusionBudget>,
    ejector: Ejector,
    members: Vec<(Arc<Ejection>, PassiveHealth)>,
    ejected: usize,
}

impl Run {
    fn new(numbers: Numbers, start: Instant) -> Self {
        let budget = Arc::new(ExclusionBudget::new(numbers.caps()));
        budget.set_members(numbers.members);
        let model = Model {
            caps: numbers.caps(),
            members: (0..numbers.members).map(|_| Member::new(true)).collect(),
            next_sweep: None,
            next_return: None,
        };
        let members = (0..numbers.members).map(|_| build(&budget)).collect();
        Self { numbers, model, now: start, budget, ejector: ejector(), members, ejected: 0 }
    }

    fn step(&mut self, event: Event) {
        let (now, at) = (Now::at(self.now), |chosen: usize| chosen % self.numbers.members);
        match event {
            Event::Forward(step) => self.now += step,
            Event::Back(step) => self.now = self.now.checked_sub(step).unwrap_or(self.now),
            Event::Advance(seed) => self.advance(seed),
            Event::ForceEject(chosen) => {
                self.model.force(at(chosen), State::ForcedOut, self.numbers);
                self.members[at(chosen)].0.force_eject();
            }
            Event::ForceReturn(chosen) => {
                self.model.force(at(chosen), State::ForcedIn, self.numbers);
                self.members[at(chosen)].0.force_return();
            }
            Event::Lift(chosen) => {
                assert_eq!(self.members[at(chosen)].0.lift(), self.model.lift(at(chosen)), "what is lifted");
            }
            Event::Replace(chosen) => {
                let at = at(chosen);
                self.model.members[at] = Member::new(self.model.members[at].present);
                self.members[at] = build(&self.budget);
            }
            Event::Toggle(chosen) => {
                let member = &mut self.model.members[at(chosen)];
                member.present = !member.present;
                self.budget.set_members(self.model.present().len());
            }
            Event::Trip(chosen) => {
                let at = at(chosen);
                if !self.model.members[at].tripped {
                    let trips = self.model.has_slot(BudgetKind::Circuit, self.numbers.min_eligible);
                    self.model.members[at].tripped = trips;
                    let permit = self.members[at].1.try_acquire(&now).expect("a closed circuit admits");
                    let expected = if trips { Completion::Tripped } else { Completion::Withheld };
                    assert_eq!(permit.complete(Outcome::Failure, &now), expected, "whether a circuit trips");
                }
            }
            Event::Close(chosen) => {
                self.model.members[at(chosen)].tripped = false;
                let circuit = &self.members[at(chosen)].1;
                circuit.force_close();
                circuit.lift();
            }
            Event::Restart => {
                for member in &mut self.model.members {
                    if member.known && matches!(member.state, State::Out { .. }) {
                        member.enter(State::In);
                        member.slot = false;
                    }
                    member.known = false;
                }
                (self.model.next_sweep, self.model.next_return) = (None, None);
                self.ejector = ejector();
            }
        }
    }

    fn advance(&mut self, seed: u8) {
        let expected = self.model.advance(self.now, seed, self.numbers);
        let present: Vec<_> =
            self.model.present().into_iter().map(|at| Arc::clone(&self.members[at].0)).collect();
        let actions = self.ejector.advance(&Now::at(self.now), &present, |at| sample(seed, at));
        assert_eq!(actions, expected, "what is done");
        let ejected = |action: &&EjectorAction| matches!(action, EjectorAction::Eject { .. });
        self.ejected += actions.iter().filter(ejected).count();
    }

    fn compare(&self, event: Event) {
        for kind in [BudgetKind::Circuit, BudgetKind::Outlier] {
            assert_eq!(self.budget.taken(kind), self.model.taken(kind), "{kind:?} after {event:?}");
        }
        for (at, (member, (ejection, _))) in self.model.members.iter().zip(&self.members).enumerate() {
            let now = Now::at(self.now);
            let state = match member.state {
                State::In => EjectionState::In,
                State::Out { cause, since, until } => {
                    EjectionState::Ejected { cause, since, until: Some(until) }
                }
                State::ForcedOut => EjectionState::ForcedOut,
                State::ForcedIn => EjectionState::ForcedIn,
            };
            assert_eq!(ejection.state(), state, "the state of {at} after {event:?}");
            assert_eq!(ejection.epoch(), member.epoch, "the epoch of {at} after {event:?}");
            assert_eq!(ejection.repeats(), member.repeats, "the repeats of {at} after {event:?}");
            let is_out = ejection.exclusions(&now).contains(Exclusion::Outlier);
            assert_eq!(is_out, member.is_out(self.now), "whether {at} is out after {event:?}");
            assert_eq!(
                ejection.changes_at(&now),
                member.remaining(self.now),
                "the end of {at} after {event:?}"
            );
            assert!(
                !is_out || member.slot || member.state == State::ForcedOut,
                "{at} is out without a slot after {event:?}"
            );
        }
        assert_eq!(self.ejector.next_sweep(), self.model.next_sweep, "the next sweep after {event:?}");
        let change = self.model.next_sweep.into_iter().chain(self.model.next_return).min();
        assert_eq!(self.ejector.next_change(), change, "the next change after {event:?}");
    }
}

fn build(budget: &Arc<ExclusionBudget>) -> (Arc<Ejection>, PassiveHealth) {
    let circuit = CircuitConfig::new(1, Duration::MAX).expect("in range");
    let circuit = PassiveHealth::new(circuit).with_budget(Arc::clone(budget));
    (Arc::new(Ejection::new(Arc::clone(budget))), circuit)
}

fn ejector() -> Ejector {
    let config =
        EjectorConfig::default().with_interval(INTERVAL).and_then(|c| c.with_ejection(FIRST, LONGEST));
    Ejector::new(config.expect("in range"))
}
