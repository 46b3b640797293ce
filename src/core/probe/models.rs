//! Every interleaving of queries and the driver of their pool.

use std::iter;
use std::sync::Arc;

use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread::{self, JoinHandle};

use super::{ProbeConfig, ProbePool};
use crate::core::{Changes, Now};

/// Makes a pool to which a query is worth this number of probes and costs no answer.
fn pool(probes: f64) -> Arc<ProbePool> {
    let config = ProbeConfig::new().with_seed(1).with_probes_per_query(probes).unwrap();
    Arc::new(ProbePool::with_config(config.with_removals_per_query(0.0).unwrap()))
}

/// Counts how often the driver is told.
fn watch(pool: &ProbePool) -> Arc<AtomicU32> {
    let told = Arc::new(AtomicU32::new(0));
    let listener = Arc::clone(&told);
    pool.watch_due(Changes::new(Arc::new(move || {
        listener.fetch_add(1, Ordering::Release);
    })));
    told
}

fn query(pool: &Arc<ProbePool>) -> JoinHandle<()> {
    let (pool, mut samples) = (Arc::clone(pool), pool.samples(&Now::lazy()));
    thread::spawn(move || pool.end_query(&mut samples, pool.order()))
}

#[test]
fn loom_a_driver_sees_the_query_that_makes_a_probe_due_or_is_told_of_it() {
    loom::model(|| {
        let pool = pool(1.0);
        let told = watch(&pool);
        let query = query(&pool);
        let seen = pool.take_due();
        query.join().unwrap();
        let told = told.load(Ordering::Acquire);
        assert!(seen == 1 || told == 1, "the driver sleeps through the query");
        assert_eq!(seen + pool.take_due(), 1, "whoever is told finds the probe, and it is handed out once");
    });
}

#[test]
fn loom_of_queries_that_make_a_probe_due_together_one_tells_the_driver() {
    loom::model(|| {
        let pool = pool(0.5);
        let told = watch(&pool);
        assert_eq!(pool.take_due(), 0, "the driver waits");
        let queries = [query(&pool), query(&pool)];
        for query in queries {
            query.join().unwrap();
        }
        assert_eq!(told.load(Ordering::Acquire), 1, "each makes half a probe due");
        assert_eq!(pool.take_due(), 1);
    });
}

#[test]
fn loom_a_driver_that_takes_the_place_of_another_hears_what_it_would_have_heard() {
    loom::model(|| {
        let pool = pool(1.0);
        let first = watch(&pool);
        assert_eq!(pool.take_due(), 0, "the first one waits");
        let queries = [query(&pool), query(&pool)];
        let second = watch(&pool);
        let seen: usize = iter::repeat_with(|| pool.take_due()).take_while(|due| *due > 0).sum();
        for query in queries {
            query.join().unwrap();
        }
        let [first, second] = [first, second].map(|told| told.load(Ordering::Acquire));
        let left = pool.take_due();
        assert_eq!(seen + left, 2);
        assert!(left == 0 || second > 0, "the second one sleeps, and the first one was told {first} times");
    });
}
