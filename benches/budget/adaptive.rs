//! The policies that choose by what members say of themselves.

use std::hint::select_unpredictable;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use poise::core::policy::{
    Prequal, UtilizationConfig, UtilizationReport, UtilizationReports, UtilizationWeighted,
};
use poise::core::{Candidate, InFlight, Now, ProbeAnswer, ProbeConfig, ProbePool};

use crate::load::in_flight;
use crate::minimum;
use crate::pool::{Key, Pool, scattered};
use crate::rows::{Case, Row, picks, repeated};

/// How many answers a pool of probes keeps.
const ANSWERS: usize = 16;

pub(crate) fn all() -> [Row; 2] {
    [
        Row::of("prequal", |column, start| {
            let pool = Arc::new(Pool::new(column, start, |at| in_flight(at, start)));
            let minimum = Answers::of(&pool);
            Case {
                pick: picks::<_, _, Key>(Arc::clone(&pool), prequal(&pool)),
                minimum: repeated::<_, Key>(pool, move |pool, _, _| minimum.best(pool)),
            }
        }),
        Row::of("utilization", |column, start| {
            let pool = Arc::new(Pool::new(column, start, |at| in_flight(at, start)));
            Case {
                pick: picks::<_, _, Key>(Arc::clone(&pool), utilization(&pool)),
                minimum: repeated::<_, Key>(pool, minimum::scheduled),
            }
        }),
    ]
}

fn answer(at: u32) -> (u32, Duration) {
    let lot = scattered(at as usize);
    (u32::try_from(lot % 8).unwrap_or(0), Duration::from_micros(lot as u64 % 50_000))
}

/// Fills a pool of probes, whose answers stay: a driver that keeps it filled is not what a pick costs.
fn prequal(pool: &Pool<InFlight>) -> Prequal {
    let config =
        ProbeConfig::new().with_probes_per_query(0.0).and_then(|config| config.with_removals_per_query(0.0));
    let config = config.and_then(|config| config.with_max_age(Duration::from_secs(3_600))).expect("in range");
    let probes = ProbePool::with_config(config);
    for at in pool.live.iter().take(ANSWERS) {
        let (rif, latency) = answer(*at);
        probes.insert(pool.nodes[*at as usize].id(), ProbeAnswer::new(rif, latency), &Now::at(pool.start));
    }
    Prequal::over(Arc::new(probes))
}

/// Reports of utilisations between a tenth and one.
fn utilization(pool: &Pool<InFlight>) -> UtilizationWeighted {
    let reports =
        Arc::new(UtilizationReports::with_config(UtilizationConfig::new().with_blackout(Duration::ZERO)));
    for (at, node) in pool.nodes.iter().enumerate() {
        let report = UtilizationReport::new(100.0, (scattered(at) % 10 + 1) as f64 / 10.0);
        reports.record(node.id(), report, &Now::at(pool.start));
    }
    UtilizationWeighted::over(reports)
}

/// The answers as a hand would keep them: members by position, no age and no limit of uses.
struct Answers {
    /// Requests in flight, the latency in microseconds, and the position of the member.
    kept: Vec<(AtomicU64, u64, u32)>,
    queries: AtomicU64,
}

impl Answers {
    fn of(pool: &Pool<InFlight>) -> Self {
        let keep = |at: &u32| {
            let (rif, latency) = answer(*at);
            let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
            (AtomicU64::new(rif.into()), micros, *at)
        };
        Self { kept: pool.live.iter().take(ANSWERS).map(keep).collect(), queries: AtomicU64::new(0) }
    }

    /// Sixteen answers, of which the best one is counted up, one state, and a query that is counted.
    fn best(&self, pool: &Pool<InFlight>) -> usize {
        const HOT_FROM: u64 = 1 << 40;
        let mut least = (u64::MAX, 0);
        for (place, (rif, latency, _)) in self.kept.iter().enumerate() {
            let rif = rif.load(Ordering::Relaxed);
            let rank = select_unpredictable(rif >= HOT_FROM, 1 << 63 | rif, *latency);
            least = select_unpredictable(rank < least.0, (rank, place), least);
        }
        let (rif, _, at) = &self.kept[least.1];
        rif.fetch_add(1, Ordering::Relaxed);
        self.queries.fetch_add(1, Ordering::Relaxed);
        if pool.nodes[*at as usize].is_excluded() { usize::MAX } else { *at as usize }
    }
}
