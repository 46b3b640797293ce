//! What health costs: an attempt that everything learns from, and picks among members that are watched.

use std::alloc::System;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use poise::core::policy::{LeastLoaded, PowerOfTwoChoices, Random, Rendezvous, RoundRobin};
use poise::core::{
    Candidate, Eligibility, InFlight, LoadTracker, Now, Outcome, PeakEwma, Policy, Selection, View,
};
use poise::health::{
    BudgetConfig, CircuitConfig, Ejection, ExclusionBudget, HealthChecked, HealthSignal, OutcomeWindow,
    PassiveHealth,
};
use stats_alloc::StatsAlloc;

use crate::bars::normalised;
use crate::load::{Weigh, in_flight, peak_ewma};
use crate::measure::{additions, settled};
use crate::pool::{Column, Key, Node, Pool, Rotation};
use crate::sampling::{Job, allocations, interleaved, now};

const MEMBERS: usize = 512;
/// What an attempt may cost, in additions.
const ATTEMPT: f64 = 5.0;
/// What a pick among watched members may cost, in picks among plain ones.
const SELECTION: f64 = 2.0;

/// One row: what is measured, and beside what.
pub(crate) struct Health {
    name: &'static str,
    job: Job,
    beside: Job,
    bar: Bar,
}

/// The most that a row may cost.
#[derive(Clone, Copy)]
enum Bar {
    Additions(f64),
    Times(f64),
}

/// Measures and prints the rows that are wanted, and returns the bars that were missed.
pub(crate) fn misses(wanted: impl Fn(&Health) -> bool, allocator: &StatsAlloc<System>) -> Vec<String> {
    println!("{}", Health::HEADER);
    all().iter().filter(|row| wanted(row)).flat_map(|row| row.measure(allocator)).collect()
}

fn all() -> Vec<Health> {
    let start = now();
    vec![
        attempt("health_attempt", InFlight::new(), start),
        // The bar is set for a count: to learn a latency may take twice as long.
        Health {
            bar: Bar::Additions(2.0 * ATTEMPT),
            ..attempt("health_attempt_ewma", PeakEwma::new(), start)
        },
        selection("health_random", in_flight, Random::new, circuit, start),
        selection("health_round_robin", in_flight, RoundRobin::new, circuit, start),
        selection("health_two_choices", in_flight, PowerOfTwoChoices::new, circuit, start),
        selection("health_two_choices_ewma", peak_ewma, PowerOfTwoChoices::new, circuit, start),
        selection("health_rendezvous", in_flight, Rendezvous::new, circuit, start),
        selection("health_least_loaded", in_flight, LeastLoaded::new, circuit, start),
        selection("health_ejections", peak_ewma, PowerOfTwoChoices::new, circuit_and_ejection, start),
    ]
}

impl Health {
    const HEADER: &str = "health                          ns  beside_ns  ratio allocs";

    pub(crate) fn is_named(&self, word: &str) -> bool {
        self.name.contains(word)
    }

    /// Measures, prints, and returns the bars that were missed. All figures are medians.
    pub(crate) fn measure(&self, allocator: &StatsAlloc<System>) -> Vec<String> {
        let limit = |beside| match self.bar {
            Bar::Additions(times) => times * normalised(beside),
            Bar::Times(times) => times * beside,
        };
        let measure = || interleaved([(&self.job, 1), (&self.beside, 1)]);
        let [nanos, beside] = settled(measure, |[nanos, beside]| nanos <= limit(beside));
        let allocated = allocations(allocator, &self.job);
        println!("{:<24} {nanos:>9.1} {beside:>10.1} {:>6.2} {allocated:>6}", self.name, nanos / beside);
        let limit = limit(beside);
        let slow = (nanos > limit).then(|| format!("{nanos:.1} ns instead of {limit:.1}"));
        let wasteful = (allocated > 0).then(|| format!("{allocated} allocations in 1,000 repetitions"));
        slow.into_iter().chain(wasteful).map(|miss| format!("{}: {miss}", self.name)).collect()
    }
}

/// An attempt under a closed circuit that succeeds, from its admission on: circuit, load and window learn from it.
fn attempt<L>(name: &'static str, load: L, start: Instant) -> Health
where
    L: LoadTracker + Sync + Send + 'static,
{
    let circuit = circuit();
    let window = OutcomeWindow::default();
    let job = Box::new(move |attempts| {
        let started = Now::at(start);
        for nth in 0..attempts {
            // As a dispatcher has it: the time of the end was read once, and is new to all.
            let ended = Now::at(start + Duration::from_nanos(nth as u64));
            let (circuit, window, load) = (black_box(&circuit), black_box(&window), black_box(&load));
            let permit = circuit.admit(&started).expect("the circuit is closed");
            let ticket = load.start(&started).expect("there is no limit");
            load.responded(ticket, Outcome::Success, &ended);
            load.release(ticket, &ended);
            window.record(Outcome::Success, &ended);
            black_box(circuit.settle(permit, Outcome::Success, &ended));
        }
    });
    Health { name, job, beside: additions(), bar: Bar::Additions(ATTEMPT) }
}

/// Picks among members with a signal each, beside picks among the same without.
fn selection<L, P, H>(
    name: &'static str,
    load: fn(usize, Instant) -> L,
    policy: fn() -> P,
    health: fn() -> H,
    start: Instant,
) -> Health
where
    L: Weigh + Send + Sync + 'static,
    P: Policy<Arc<Node<L>>, Key> + Policy<HealthChecked<Arc<Node<L>>, H>, Key> + Send + Sync + 'static,
    H: HealthSignal + Send + Sync + 'static,
{
    let column = Column { members: MEMBERS, excluded: 0, threads: 1 };
    let pool = Arc::new(Pool::new(column, start, |at| load(at, start)));
    let plain = pool.nodes.clone();
    let watched: Vec<_> = plain.iter().map(|node| HealthChecked::new(Arc::clone(node), health())).collect();
    let job = picks(Arc::clone(&pool), watched, policy());
    Health { name, job, beside: picks(pool, plain, policy()), bar: Bar::Times(SELECTION) }
}

fn circuit() -> PassiveHealth {
    PassiveHealth::new(CircuitConfig::new(5, Duration::from_secs(1)).expect("in range"))
}

fn circuit_and_ejection() -> (PassiveHealth, Arc<Ejection>) {
    let budget = Arc::new(ExclusionBudget::new(BudgetConfig::default()));
    (circuit(), Arc::new(Ejection::new(budget)))
}

fn picks<L, C, P>(pool: Arc<Pool<L>>, candidates: Vec<C>, policy: P) -> Job
where
    L: Send + Sync + 'static,
    C: Candidate + Send + Sync + 'static,
    P: Policy<C, Key> + Send + Sync + 'static,
{
    let now = Now::at(pool.start);
    let prepared = policy.prepare(&View::new(&candidates).with_now(&now), None).expect("the members fit");
    let eligibility = Eligibility::of(&candidates, &now);
    let rotation = Rotation::default();
    Box::new(move |picks| {
        let now = Now::at(pool.start + Duration::from_secs(1));
        rotation.each(picks, |key| {
            let candidates = black_box(&*candidates);
            let view = View::new(candidates).with_now(&now).prepared(&prepared).eligibility(&eligibility);
            let chosen = policy.pick_from(&view, black_box(key)).map(Selection::index);
            black_box(chosen.expect("somebody is eligible"));
        });
    })
}
