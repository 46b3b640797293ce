//! The policies of the table: one line each.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use poise::core::policy::{
    LeastLoaded, Maglev, PowerOfTwoChoices, PriorityConfig, PriorityFailover, Random, RoundRobin,
};
use poise::core::{Eligibility, InFlight, LoadTracker, Now, Outcome, PeakEwma, Policy, Selection, View};

use crate::minimum;
use crate::pool::{Column, KEYS, Key, Node, Pool, scattered};

/// Does something so many times.
pub(crate) type Job = Box<dyn Fn(usize) + Sync>;

/// One policy.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    build: Box<dyn Fn(Column, Instant) -> Case>,
}

/// One policy in one column.
pub(crate) struct Case {
    pub(crate) pick: Job,
    pub(crate) minimum: Job,
}

pub(crate) fn all() -> Vec<Row> {
    vec![
        Row::new("round_robin", in_flight, RoundRobin::new, minimum::turn),
        Row::new("random", in_flight, Random::new, minimum::draw),
        Row::new("two_choices_in_flight", in_flight, PowerOfTwoChoices::new, minimum::two_draws),
        Row::new("two_choices_peak_ewma", peak_ewma, PowerOfTwoChoices::new, minimum::two_draws),
        Row::new("least_loaded", in_flight, LeastLoaded::new, minimum::scan),
        Row::new("maglev", in_flight, Maglev::new, minimum::lookup),
        Row::new("priority_over_maglev", in_flight, || levels(Maglev::new()), minimum::level_and_lookup),
    ]
}

impl Row {
    fn new<L, P>(
        name: &'static str,
        load: fn(usize, Instant) -> L,
        policy: impl Fn() -> P + 'static,
        minimum: impl Fn(&Pool<L>, &Key, &Now) -> usize + Copy + Sync + 'static,
    ) -> Self
    where
        L: Send + Sync + 'static,
        P: Policy<Arc<Node<L>>, Key> + Send + Sync + 'static,
    {
        let build = move |column, start| {
            let pool = Arc::new(Pool::new(column, start, |at| load(at, start)));
            Case { pick: picks(Arc::clone(&pool), policy()), minimum: repeated(pool, minimum) }
        };
        Self { name, build: Box::new(build) }
    }

    pub(crate) fn build(&self, column: Column, start: Instant) -> Case {
        (self.build)(column, start)
    }
}

fn picks<L, P>(pool: Arc<Pool<L>>, policy: P) -> Job
where
    L: Send + Sync + 'static,
    P: Policy<Arc<Node<L>>, Key> + Send + Sync + 'static,
{
    let now = Now::at(pool.start);
    let prepared = policy.prepare(&View::new(&pool.nodes).with_now(&now), None).expect("the nodes fit");
    let eligibility = Eligibility::of(&pool.nodes, &now);
    repeated(pool, move |pool, key, now| {
        let view = View::new(&pool.nodes).with_now(now).prepared(&prepared).eligibility(&eligibility);
        policy.pick_from(&view, key).map_or(usize::MAX, Selection::index)
    })
}

fn repeated<L: Send + Sync + 'static>(
    pool: Arc<Pool<L>>,
    choose: impl Fn(&Pool<L>, &Key, &Now) -> usize + Sync + 'static,
) -> Job {
    Box::new(move |picks| {
        let now = Now::at(pool.start + Duration::from_secs(1));
        for at in 0..picks {
            let chosen = choose(black_box(&*pool), black_box(&pool.keys[at % KEYS]), &now);
            // A row that chooses nobody would measure the wrong thing.
            assert!(chosen < pool.nodes.len(), "somebody is eligible");
            black_box(chosen);
        }
    })
}

/// Panic would make everybody eligible, and the column would say nothing about exclusion.
fn levels<P>(inner: P) -> PriorityFailover<P> {
    let config = PriorityConfig::default().with_panic_threshold_percent(0).expect("in range");
    PriorityFailover::new(inner).with_config(config)
}

fn in_flight(at: usize, start: Instant) -> InFlight {
    let load = InFlight::new();
    (0..scattered(at) % 16).for_each(|_| load.start(&Now::at(start)).expect("there is no limit"));
    load
}

fn peak_ewma(at: usize, start: Instant) -> PeakEwma {
    let load = PeakEwma::new_at(&Now::at(start));
    let end = Now::at(start + Duration::from_millis(scattered(at) as u64 % 90 + 10));
    for _ in 0..scattered(at) % 16 {
        load.start(&Now::at(start)).expect("there is no limit");
    }
    let ended = load.start(&Now::at(start)).expect("there is no limit");
    load.responded(ended, Outcome::Success, &end);
    load.release(ended, &end);
    load
}
