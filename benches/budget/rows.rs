//! The policies of the table: one line each.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use poise::core::policy::{
    BoundedLoadRendezvous, LeastLoaded, LeastRequests, LocalityWeighted, Maglev, PowerOfTwoChoices,
    PriorityConfig, PriorityFailover, Random, Rendezvous, RingHash, RoundRobin, SmoothWeightedRoundRobin,
    WeightedRandom, WeightedRendezvous, ZoneAware,
};
use poise::core::{Eligibility, Locality, Now, Policy, Selection, View};

use crate::load::{Weigh, in_flight, peak_ewma, weighted};
use crate::minimum;
use crate::pool::{Column, Key, Keyed, Node, Pool, Rotation, ZONES};
use crate::sampling::Job;

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
        Row::new::<_, _, ()>("round_robin", in_flight, RoundRobin::new, minimum::turn),
        Row::new::<_, _, ()>("smooth", weighted, SmoothWeightedRoundRobin::new, minimum::scheduled),
        Row::new::<_, _, ()>("random", in_flight, Random::new, minimum::draw),
        Row::new::<_, _, ()>("weighted_random", weighted, WeightedRandom::new, minimum::alias),
        Row::new::<_, _, ()>("two_choices_in_flight", in_flight, PowerOfTwoChoices::new, minimum::two_draws),
        Row::new::<_, _, ()>("two_choices_peak_ewma", peak_ewma, PowerOfTwoChoices::new, minimum::two_draws),
        Row::new::<_, _, ()>("least_requests", weighted, LeastRequests::new, minimum::two_requests),
        Row::new::<_, _, ()>("least_loaded", in_flight, LeastLoaded::new, minimum::scan),
        Row::new::<_, _, Key>("maglev", in_flight, Maglev::new, minimum::lookup),
        Row::new::<_, _, Key>("ring", in_flight, RingHash::new, minimum::search),
        Row::new::<_, _, Key>("rendezvous", in_flight, Rendezvous::new, minimum::highest),
        Row::new::<_, _, Key>("weighted_rendezvous", weighted, WeightedRendezvous::new, minimum::highest),
        Row::new::<_, _, Key>(
            "bounded_rendezvous",
            in_flight,
            BoundedLoadRendezvous::new,
            minimum::highest_with_room,
        ),
        Row::new::<_, _, String>("maglev_text", in_flight, Maglev::new, minimum::lookup),
        Row::new::<_, _, String>("ring_text", in_flight, RingHash::new, minimum::search),
        Row::new::<_, _, String>("rendezvous_text", in_flight, Rendezvous::new, minimum::highest),
        Row::new::<_, _, String>(
            "weighted_rendezvous_text",
            weighted,
            WeightedRendezvous::new,
            minimum::highest,
        ),
        Row::new::<_, _, String>(
            "bounded_rendezvous_text",
            in_flight,
            BoundedLoadRendezvous::new,
            minimum::highest_with_room,
        ),
        Row::new::<_, _, Key>(
            "priority_over_maglev",
            in_flight,
            || levels(Maglev::new()),
            minimum::level_and_lookup,
        ),
        Row::new::<_, _, ()>(
            "locality_over_random",
            in_flight,
            || LocalityWeighted::new(Random::new()),
            minimum::zone_and_draw,
        ),
        Row::new::<_, _, ()>(
            "zone_over_random",
            in_flight,
            || ZoneAware::new(Random::new(), home()),
            minimum::zone_and_draw,
        ),
    ]
}

impl Row {
    /// Makes a row whose policy picks by keys of a type, by none for `()`.
    fn new<L, P, K>(
        name: &'static str,
        load: fn(usize, Instant) -> L,
        policy: impl Fn() -> P + 'static,
        minimum: impl Fn(&Pool<L>, &K, &Now) -> usize + Copy + Sync + 'static,
    ) -> Self
    where
        L: Weigh + Send + Sync + 'static,
        P: Policy<Arc<Node<L>>, K> + Send + Sync + 'static,
        K: Keyed,
    {
        let build = move |column, start| {
            let pool = Arc::new(Pool::new(column, start, |at| load(at, start)));
            Case { pick: picks(Arc::clone(&pool), policy()), minimum: repeated(pool, minimum) }
        };
        Self::of(name, build)
    }

    pub(crate) fn of(name: &'static str, build: impl Fn(Column, Instant) -> Case + 'static) -> Self {
        Self { name, build: Box::new(build) }
    }

    pub(crate) fn build(&self, column: Column, start: Instant) -> Case {
        (self.build)(column, start)
    }
}

pub(crate) fn picks<L, P, K>(pool: Arc<Pool<L>>, policy: P) -> Job
where
    L: Weigh + Send + Sync + 'static,
    P: Policy<Arc<Node<L>>, K> + Send + Sync + 'static,
    K: Keyed,
{
    let now = Now::at(pool.start);
    let prepared = policy.prepare(&View::new(&pool.nodes).with_now(&now), None).expect("the nodes fit");
    let eligibility = Eligibility::of(&pool.nodes, &now);
    repeated(pool, move |pool, key, now| {
        let view = View::new(&pool.nodes).with_now(now).prepared(&prepared).eligibility(&eligibility);
        policy.pick_from(&view, key).map_or(usize::MAX, Selection::index)
    })
}

pub(crate) fn repeated<L: Send + Sync + 'static, K: Keyed>(
    pool: Arc<Pool<L>>,
    choose: impl Fn(&Pool<L>, &K, &Now) -> usize + Sync + 'static,
) -> Job {
    let rotation = Rotation::default();
    Box::new(move |picks| {
        let now = Now::at(pool.start + Duration::from_secs(1));
        rotation.each(picks, |key| {
            let chosen = choose(black_box(&*pool), black_box(key), &now);
            // A row that chooses nobody would measure the wrong thing.
            assert!(chosen < pool.nodes.len(), "somebody is eligible");
            black_box(chosen);
        });
    })
}

/// Panic would make everybody eligible, and the column would say nothing about exclusion.
fn levels<P>(inner: P) -> PriorityFailover<P> {
    let config = PriorityConfig::default().with_panic_threshold_percent(0).expect("in range");
    PriorityFailover::new(inner).with_config(config)
}

/// Where the caller runs.
pub(crate) fn home() -> Locality {
    Locality::new("eu", ZONES[0])
}
