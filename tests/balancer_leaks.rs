//! Balancers that come and go leave nothing behind.

#![cfg(all(feature = "full", not(loom)))]

#[expect(dead_code, reason = "only what is in use is of interest here")]
#[path = "support/allocations.rs"]
mod allocations;
#[expect(dead_code, reason = "the tests of the balancer use all of it")]
#[path = "support/pool_endpoints.rs"]
mod endpoints;

use std::time::Duration;

use poise::health::{ProbeOutcome, SlowStartConfig};
use poise::observe::Recorder;
use tokio::runtime::Handle;
use tokio::time::sleep;

use self::allocations::ALLOCATOR;
use self::endpoints::{Cast, Manner};

const MILLI: Duration = Duration::from_millis(1);

/// Returns how many pieces of memory are in use.
fn live() -> usize {
    let stats = ALLOCATOR.stats();
    stats.allocations - stats.deallocations
}

/// Builds a balancer, drops it while requests and probes are under way, and gives up the requests.
async fn come_and_go(cast: &mut Cast) {
    let pool = cast
        .builder()
        .probe(|_| async {
            sleep(700 * MILLI).await;
            ProbeOutcome::Healthy
        })
        .slow_start(SlowStartConfig::new(10 * MILLI).unwrap())
        .observe(Recorder::new())
        .spawn()
        .unwrap();
    let requests: Vec<_> = (0..4).map(|request| tokio::spawn(pool.send(request))).collect();
    sleep(1_100 * MILLI).await;
    cast.replace("a");
    let late = tokio::spawn(pool.send(4));
    sleep(MILLI).await;
    drop(pool);
    sleep(MILLI).await;
    for request in requests.into_iter().chain([late]) {
        request.abort();
        let _ended = request.await;
    }
    sleep(MILLI).await;
}

#[test]
fn a_thousand_balancers_that_are_dropped_under_traffic_and_probes_leave_no_task_and_no_memory() {
    // The harness allocates at any time; this thread is all that runs in this process beside it.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut cast = Cast::new(&["a", "b", "c"], Manner::Answers(Duration::ZERO));
        cast.tell("b", Manner::Hangs);
        cast.tell("c", Manner::Fails(MILLI));
        for _ in 0..20 {
            come_and_go(&mut cast).await;
        }
        let (tasks, memory) = (Handle::current().metrics().num_alive_tasks(), live());
        for _ in 0..1_000 {
            come_and_go(&mut cast).await;
        }
        assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
        assert_eq!(tasks, 0);
        let after = live();
        assert!(after <= memory + 8, "{memory} pieces before and {after} after");
    });
}
