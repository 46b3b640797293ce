//! Balances against a list that does the same the plain way.

use std::collections::VecDeque;

use poise::core::{Backend, Candidate, InFlight, PickError, Policy, Prepare, Selection, Status, View};
use poise::tower::{Balance, BalanceError};
use quickcheck::{Arbitrary, Gen, QuickCheck};
use tower_service::Service;

use crate::support::script::{Readiness, Script};
use crate::support::standing::{Standing, member, poll_ready};
use crate::support::wakes::Wakes;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// Takes the first that is eligible, so that the model knows whom.
struct First;

impl<C> Prepare<C> for First {}

impl<C: Candidate, K: ?Sized> Policy<C, K> for First {
    fn pick_from(&self, view: &View<'_, C>, _: &K) -> Result<Selection, PickError> {
        view.first_from(0)
    }
}

#[derive(Clone, Debug)]
enum Step {
    Turn(usize, Readiness),
    Poll,
    Call,
    /// Drops the oldest response that is under way.
    Drop,
    Reset(usize),
    Drain(usize, bool),
    /// Removes the first endpoint, changes what its service says, and adds it at the end.
    Rotate(Readiness),
}

/// So many endpoints, each with so many places, and what happens to them.
#[derive(Clone, Debug)]
struct Case {
    endpoints: usize,
    limit: u32,
    steps: Vec<Step>,
}

impl Arbitrary for Case {
    fn arbitrary(g: &mut Gen) -> Self {
        let endpoints = 1 + usize::arbitrary(g) % NAMES.len();
        Self { endpoints, limit: 1 + u32::arbitrary(g) % 2, steps: Arbitrary::arbitrary(g) }
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        let case = self.clone();
        Box::new(self.steps.shrink().map(move |steps| Self { steps, ..case.clone() }))
    }
}

impl Step {
    /// Returns the step unless it is about somebody who is not there.
    fn within(self, endpoints: usize) -> Option<Self> {
        let there = match &self {
            Self::Turn(who, _) | Self::Reset(who) | Self::Drain(who, _) => *who < endpoints,
            _ => true,
        };
        there.then_some(self)
    }
}

impl Arbitrary for Step {
    fn arbitrary(g: &mut Gen) -> Self {
        let who = usize::arbitrary(g) % NAMES.len();
        let readiness = [Readiness::Ready, Readiness::Ready, Readiness::Pending, Readiness::Failing];
        match usize::arbitrary(g) % 16 {
            0..4 => Self::Turn(who, *g.choose(&readiness).expect("not empty")),
            4..8 => Self::Poll,
            8..11 => Self::Call,
            11 | 12 => Self::Drop,
            13 => Self::Reset(who),
            14 => Self::Drain(who, bool::arbitrary(g)),
            _ => Self::Rotate(*g.choose(&readiness).expect("not empty")),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Idle,
    Pending { woken: bool },
    Reserved,
    Quarantined,
}

/// One endpoint of the model.
#[derive(Clone, Copy, Debug)]
struct Plain {
    name: usize,
    service: Readiness,
    known: Known,
    draining: bool,
    in_flight: u32,
    limit: u32,
}

impl Plain {
    fn is_open(&self) -> bool {
        !self.draining && self.in_flight < self.limit
    }

    fn is_callable(&self) -> bool {
        self.is_open() && self.known == Known::Reserved
    }

    fn ask(&mut self) {
        self.known = match self.service {
            Readiness::Ready => Known::Reserved,
            Readiness::Pending => Known::Pending { woken: false },
            Readiness::Failing => Known::Quarantined,
        };
    }

    fn poll(&mut self) {
        match self.known {
            Known::Idle | Known::Pending { woken: true } if self.is_open() => self.ask(),
            Known::Pending { woken: true } => self.known = Known::Idle,
            _ => {}
        }
    }
}

fn named(model: &mut [Plain], name: usize) -> &mut Plain {
    model.iter_mut().find(|plain| plain.name == name).expect("nobody leaves for good")
}

/// Whom a call goes to. Those whose reservation is gone are passed over.
fn call(model: &mut [Plain]) -> Option<usize> {
    for endpoint in model.iter_mut().filter(|endpoint| endpoint.is_callable()) {
        match endpoint.service {
            Readiness::Ready => {
                endpoint.known = Known::Idle;
                endpoint.in_flight += 1;
                return Some(endpoint.name);
            }
            Readiness::Pending => endpoint.known = Known::Idle,
            Readiness::Failing => endpoint.known = Known::Quarantined,
        }
    }
    None
}

fn agrees(balance: &Standing<First>, model: &[Plain]) -> bool {
    balance.endpoints().iter().zip(model).all(|(endpoint, plain)| {
        *endpoint.candidate().id() == NAMES[plain.name]
            && endpoint.is_reserved() == (plain.known == Known::Reserved)
            && endpoint.is_quarantined() == (plain.known == Known::Quarantined)
            && endpoint.tracker().current() == u64::from(plain.in_flight)
    })
}

fn follows(Case { endpoints, limit, steps }: Case) -> bool {
    let scripts = NAMES.map(Script::new);
    for script in &scripts {
        script.hang();
    }
    let limited = |script| member(script).with_tracker(InFlight::with_limit(limit).unwrap());
    let mut balance = Balance::new(First, scripts[..endpoints].iter().map(limited));
    let start = |name| Plain {
        name,
        service: Readiness::Ready,
        known: Known::Idle,
        draining: false,
        in_flight: 0,
        limit,
    };
    let mut model: Vec<Plain> = (0..endpoints).map(start).collect();
    let (wakes, mut responses, mut asleep_since) = (Wakes::default(), VecDeque::new(), None);
    for step in steps.into_iter().filter_map(|step| step.within(endpoints)) {
        match step {
            Step::Turn(name, readiness) => {
                let plain = named(&mut model, name);
                plain.service = readiness;
                if matches!(plain.known, Known::Pending { .. }) {
                    plain.known = Known::Pending { woken: true };
                }
                scripts[name].turn(readiness);
            }
            Step::Poll => {
                model.iter_mut().for_each(Plain::poll);
                let expected = model.iter().any(Plain::is_callable);
                let is_ready = poll_ready(&mut balance, &wakes).is_ready();
                assert_eq!(is_ready, expected, "readiness");
                let slept = asleep_since.is_some_and(|count| count == wakes.count());
                assert!(!(slept && is_ready), "the task would have slept through it");
                asleep_since = (!is_ready).then(|| wakes.count());
            }
            Step::Call => {
                let short = {
                    let mut after = model.clone();
                    let called = call(&mut after);
                    called.is_none() && is_short_of_places(&after)
                };
                let expected = call(&mut model);
                let response = balance.call(0);
                let refused = format!("{response:?}").contains("refused");
                assert_eq!(refused, expected.is_none(), "whether anybody is called");
                if let Some(name) = expected {
                    assert_eq!(scripts[name].under_way(), 1 + under_way(&responses, name));
                    responses.push_back((name, response));
                } else {
                    let error = futures_util::FutureExt::now_or_never(response).unwrap().unwrap_err();
                    assert_eq!(matches!(error, BalanceError::AtCapacity(_)), short, "{error}");
                }
            }
            Step::Drop => {
                if let Some((name, response)) = responses.pop_front() {
                    named(&mut model, name).in_flight -= 1;
                    drop(response);
                }
            }
            Step::Reset(name) => {
                let plain = named(&mut model, name);
                let was = plain.known == Known::Quarantined;
                if was {
                    plain.known = Known::Idle;
                }
                assert_eq!(balance.reset(&NAMES[name]), was);
            }
            Step::Drain(name, draining) => {
                named(&mut model, name).draining = draining;
                let status = if draining { Status::Draining } else { Status::Ready };
                balance.amend(&NAMES[name], |one: &mut Backend<_>| *one = one.clone().with_status(status));
            }
            Step::Rotate(readiness) => {
                let mut first = model.remove(0);
                if matches!(first.known, Known::Pending { .. }) {
                    first.known = Known::Idle;
                }
                first.service = readiness;
                model.push(first);
                let endpoint = balance.remove(&NAMES[first.name]).unwrap();
                scripts[first.name].turn(readiness);
                balance.push(endpoint);
            }
        }
        assert!(agrees(&balance, &model), "{:?} is not {model:?}", balance.endpoints());
    }
    true
}

/// Tells whether places are all that is missing.
fn is_short_of_places(model: &[Plain]) -> bool {
    model.iter().any(|plain| !plain.draining && plain.in_flight == plain.limit)
        && model.iter().all(|plain| !plain.is_open() || plain.known == Known::Reserved)
}

fn under_way<F>(responses: &VecDeque<(usize, F)>, name: usize) -> usize {
    responses.iter().filter(|(of, _)| *of == name).count()
}

#[test]
fn every_sequence_of_events_does_what_a_plain_list_does() {
    let cases = 4_000;
    QuickCheck::new()
        .rng(Gen::from_size_and_seed(120, 1))
        .tests(cases)
        .quickcheck(follows as fn(Case) -> bool);
}
