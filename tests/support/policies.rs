//! One of each policy, and many of their combinations.

use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use poise::core::policy::{
    BoundedLoadRendezvous, Fallback, LeastLoaded, LeastRequests, LocalityWeighted, Maglev, PowerOfTwoChoices,
    Prequal, PriorityFailover, Random, Rendezvous, RingHash, RoundRobin, SmoothWeightedRoundRobin, Sticky,
    StickyKey, UtilizationConfig, UtilizationReport, UtilizationReports, UtilizationWeighted, WeightedRandom,
    WeightedRendezvous, ZoneAware,
};
use poise::core::{
    AdditiveLoad, Candidate, LoadMetric, Locality, Now, PickError, Policy, Prepare, Prepared, ProbeAnswer,
    ProbeConfig, ProbePool, Selection, View,
};

/// Policies with their names.
pub(crate) type Named<C> = Vec<(&'static str, Box<dyn Policy<C, u64>>)>;

pub(crate) fn failover<P>(inner: P, seed: u64) -> PriorityFailover<P> {
    PriorityFailover::new(inner).with_seed(seed)
}

pub(crate) fn locality<P>(inner: P, seed: u64) -> LocalityWeighted<P> {
    LocalityWeighted::new(inner).with_seed(seed)
}

pub(crate) fn zone<P>(inner: P, seed: u64) -> ZoneAware<P> {
    let callers = [("a", 3), ("b", 1)].map(|(zone, callers)| (Locality::new("eu", zone), callers));
    ZoneAware::new(inner, Locality::new("eu", "a")).with_callers(callers).with_seed(seed)
}

/// Chooses by answers of a few members, which are as old as they like.
pub(crate) fn prequal(seed: u64) -> Prequal {
    let config = ProbeConfig::new().with_max_age(Duration::from_secs(3_600)).expect("positive");
    let config = config.with_removals_per_query(0.3).expect("in range").with_seed(seed);
    let pool = ProbePool::with_config(config);
    let now = Now::lazy();
    for step in 0..12_u64 {
        let (id, rif) = ((seed ^ (step * 7)) % 40, u32::try_from(step * 5 % 9).expect("small"));
        pool.insert(&id, ProbeAnswer::new(rif, Duration::from_millis(20 - step)), &now);
    }
    Prequal::over(Arc::new(pool))
}

/// Chooses by what every third member reported when it was prepared for.
#[derive(Debug)]
pub(crate) struct Reported(UtilizationWeighted);

pub(crate) fn reported(seed: u64) -> Reported {
    let config = UtilizationConfig::new().with_blackout(Duration::ZERO);
    let config = config.with_update_period(Duration::from_nanos(1)).expect("positive");
    let reports = Arc::new(UtilizationReports::with_config(config));
    Reported(UtilizationWeighted::starting_at(reports, seed % 1_000))
}

impl<C: Candidate<Id = u64>> Prepare<C> for Reported {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        let prepared = self.0.prepare(view, previous)?;
        for member in view.candidates().iter().step_by(3) {
            let report = UtilizationReport::new(100.0, 0.1 + (member.id() % 7) as f64 / 10.0);
            self.0.reports().record(member.id(), report, view.now());
        }
        Ok(prepared)
    }
}

impl<C: Candidate<Id = u64>, K: ?Sized> Policy<C, K> for Reported {
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        self.0.pick_from(view, key)
    }
}

/// Takes a number for a key whose request was served before, by the member of that number.
#[derive(Debug)]
struct Cookies<P>(Sticky<P>);

impl<C: Candidate<Id: Hash>, P: Prepare<C>> Prepare<C> for Cookies<P> {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        self.0.prepare(view, previous)
    }
}

impl<C: Candidate<Id = u64>, P: Policy<C, u64>> Policy<C, u64> for Cookies<P> {
    fn pick_from(&self, view: &View<'_, C>, key: &u64) -> Result<Selection, PickError> {
        self.0.pick_from(view, &StickyKey::new(key).with_earlier(&(key % 16)))
    }
}

/// Makes those that divide a membership, and those that combine others.
fn composed<C: Candidate<Id = u64>>(seed: u64) -> Named<C> {
    let start = usize::try_from(seed % 1_000).expect("small");
    let maglev = || Maglev::new().with_table_size(211).expect("211 is a prime");
    let random = || Random::seeded(seed);
    vec![
        ("locality over random", Box::new(locality(random(), seed))),
        ("locality over maglev", Box::new(locality(maglev(), seed))),
        ("locality over weighted random", Box::new(locality(WeightedRandom::seeded(seed), seed))),
        ("locality over priority over random", Box::new(locality(failover(random(), seed), seed))),
        ("priority over locality over random", Box::new(failover(locality(random(), seed), seed))),
        ("zone over round robin", Box::new(zone(RoundRobin::starting_at(start), seed))),
        ("zone over maglev", Box::new(zone(maglev(), seed))),
        ("zone over locality over random", Box::new(zone(locality(random(), seed), seed))),
        ("priority over zone over random", Box::new(failover(zone(random(), seed), seed))),
        ("fallback of maglev and random", Box::new(Fallback::new(maglev(), random()))),
        (
            "fallback of priority over random and locality over maglev",
            Box::new(Fallback::new(failover(random(), seed), locality(maglev(), seed))),
        ),
        ("sticky over maglev", Box::new(Cookies(Sticky::new(maglev())))),
        ("sticky over locality over random", Box::new(Cookies(Sticky::new(locality(random(), seed))))),
    ]
}

/// Makes one of each, all reproducible.
pub(crate) fn policies<C>(seed: u64) -> Named<C>
where
    C: Candidate<Id = u64, Load: LoadMetric + AdditiveLoad>,
{
    let start = usize::try_from(seed % 1_000).expect("small");
    let maglev = || Maglev::new().with_table_size(211).expect("211 is a prime");
    let ring = || RingHash::new().with_max_points(2_000).expect("in range");
    let smooth = || SmoothWeightedRoundRobin::starting_at(start);
    let mut policies: Named<C> = vec![
        ("round robin", Box::new(RoundRobin::starting_at(start))),
        ("random", Box::new(Random::seeded(seed))),
        ("two choices", Box::new(PowerOfTwoChoices::seeded(seed))),
        ("least loaded", Box::new(LeastLoaded::seeded(seed))),
        ("weighted random", Box::new(WeightedRandom::seeded(seed))),
        ("five choices", Box::new(PowerOfTwoChoices::seeded(seed).choices(5))),
        ("least requests", Box::new(LeastRequests::seeded(seed))),
        ("least requests of all", Box::new(LeastRequests::seeded(seed).with_full_scan())),
        ("maglev", Box::new(maglev())),
        ("ring", Box::new(ring())),
        ("smooth", Box::new(smooth())),
        (
            "prequal without answers",
            Box::new(Prequal::over(Arc::new(ProbePool::with_config(ProbeConfig::new().with_seed(seed))))),
        ),
        ("prequal", Box::new(prequal(seed))),
        ("utilization", Box::new(reported(seed))),
        ("priority over prequal", Box::new(failover(prequal(seed), seed))),
        ("priority over utilization", Box::new(failover(reported(seed), seed))),
        ("priority over ring", Box::new(failover(ring(), seed))),
        ("priority over smooth", Box::new(failover(smooth(), seed))),
        ("rendezvous", Box::new(Rendezvous::new())),
        ("weighted rendezvous", Box::new(WeightedRendezvous::new())),
        ("bounded load rendezvous", Box::new(BoundedLoadRendezvous::new())),
        ("priority over bounded load rendezvous", Box::new(failover(BoundedLoadRendezvous::new(), seed))),
        ("priority over round robin", Box::new(failover(RoundRobin::starting_at(start), seed))),
        ("priority over random", Box::new(failover(Random::seeded(seed), seed))),
        ("priority over two choices", Box::new(failover(PowerOfTwoChoices::seeded(seed), seed))),
        ("priority over least loaded", Box::new(failover(LeastLoaded::seeded(seed), seed))),
        ("priority over maglev", Box::new(failover(maglev(), seed))),
        ("priority over priority over maglev", Box::new(failover(failover(maglev(), seed), seed))),
        (
            "priority over priority over random",
            Box::new(failover(failover(Random::seeded(seed), seed), seed)),
        ),
    ];
    policies.extend(composed(seed));
    policies
}
