//! Driving a pool of probes on Tokio's clock.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use poise::core::policy::Prequal;
use poise::core::{Backend, Now, Policy, ProbeAnswer, ProbeConfig, ProbePool};
use poise::tokio::ProbeDriver;
use tokio::time::{Instant, sleep, timeout};

const MILLI: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);
const MEMBERS: usize = 10;

fn answer() -> ProbeAnswer {
    ProbeAnswer::new(1, 5 * MILLI)
}

fn now() -> Now {
    Now::at(Instant::now().into_std())
}

fn pool(rate: f64) -> Arc<ProbePool> {
    Arc::new(ProbePool::with_config(ProbeConfig::new().with_probes_per_query(rate).unwrap()))
}

/// Draws members in turn.
fn in_turn() -> impl FnMut(usize) -> Vec<usize> {
    let next = Cell::new(0);
    move |probes| (0..probes.min(MEMBERS)).map(|_| next.replace(next.get() + 1) % MEMBERS).collect()
}

/// Makes so many queries, a millisecond apart.
async fn query(pool: &Arc<ProbePool>, queries: usize) {
    let policy = Prequal::over(Arc::clone(pool));
    let members: Vec<_> = (0..MEMBERS).map(Backend::new).collect();
    for _ in 0..queries {
        assert!(policy.pick(&members, &()).is_ok());
        sleep(MILLI).await;
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "a probe of any key")]
fn well(_: &usize) -> impl Future<Output = Result<ProbeAnswer, Infallible>> + use<> {
    ready(Ok(answer()))
}

#[tokio::test(start_paused = true)]
async fn each_query_is_worth_its_probes_also_fractions() {
    for (rate, expected) in [(3.0, 3_000), (1.0, 1_000), (0.3, 300), (0.0, 0)] {
        let pool = pool(rate);
        let driver = ProbeDriver::new(&pool);
        let running = tokio::spawn(driver.run(|probes| (0..probes).collect::<Vec<_>>(), well));
        query(&pool, 1_000).await;
        assert_eq!(driver.counts().answered, expected, "{rate} probes for each of 1,000 queries");
        running.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_probed_without_a_query() {
    let pool = pool(3.0);
    let driver = ProbeDriver::new(&pool);
    assert!(timeout(3_600 * SECOND, driver.run(in_turn(), well)).await.is_err());
    assert_eq!(driver.counts().answered, 0);
}

#[tokio::test(start_paused = true)]
async fn answers_are_in_the_pool_and_go_when_a_later_probe_fails() {
    let pool = pool(1.0);
    let driver = ProbeDriver::new(&pool);
    let is_well = Arc::new(AtomicUsize::new(1));
    let well = Arc::clone(&is_well);
    let probe =
        move |_: &usize| ready(if well.load(Ordering::Relaxed) == 1 { Ok(answer()) } else { Err(()) });
    let running = tokio::spawn(driver.run(|_| [7], probe));
    query(&pool, 1).await;
    assert_eq!(pool.len(&now()), 1);
    is_well.store(0, Ordering::Relaxed);
    query(&pool, 1).await;
    assert!(pool.is_empty(&now()), "what fails is not known any more");
    assert_eq!((driver.counts().answered, driver.counts().failed), (1, 1));
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_member_that_hangs_keeps_two_places_and_times_out() {
    let pool = pool(2.0);
    let driver = ProbeDriver::new(&pool).with_timeout(100 * MILLI).with_limit(8).unwrap();
    let probe = |member: &usize| {
        let hangs = *member == 3;
        async move { if hangs { pending().await } else { Ok::<_, Infallible>(answer()) } }
    };
    let running = tokio::spawn(driver.run(in_turn(), probe));
    query(&pool, 1_000).await;
    let counts = driver.counts();
    assert_eq!(counts.answered, 1_800, "nine of ten, and none of them for lack of a place");
    assert!((16..=20).contains(&counts.timed_out), "two in each tenth of a second: {counts:?}");
    assert!(counts.skipped >= 180 - 2, "{counts:?}");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn no_more_probes_are_under_way_than_the_limit() {
    let pool = pool(4.0);
    let driver = ProbeDriver::new(&pool).with_limit(3).unwrap();
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let probe = |_: &usize| async {
        most.fetch_max(running.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        sleep(10 * MILLI).await;
        running.fetch_sub(1, Ordering::Relaxed);
        Ok::<_, Infallible>(answer())
    };
    tokio::select! {
        () = driver.run(in_turn(), probe) => {}
        () = query(&pool, 200) => {}
    }
    assert_eq!(most.load(Ordering::Relaxed), 3);
    assert!(driver.counts().skipped > 0);
    assert!(ProbeDriver::new(&pool).with_limit(0).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_contained_and_counted() {
    let pool = pool(1.0);
    let driver = ProbeDriver::new(&pool);
    let mut draws = 0;
    let targets = move |_| {
        draws += 1;
        assert_ne!(draws, 1, "the first draw panics");
        [draws]
    };
    let probe = |draw: &u32| {
        let draw = *draw;
        assert_ne!(draw, 2, "the probe of the second one panics before it is a future");
        async move {
            assert_ne!(draw, 3, "that of the third one panics under way");
            Ok::<_, Infallible>(answer())
        }
    };
    let running = tokio::spawn(driver.run(targets, probe));
    query(&pool, 5).await;
    let counts = driver.counts();
    assert_eq!((counts.panicked, counts.answered), (3, 2), "{counts:?}");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn it_ends_with_the_pool_and_leaves_probes_under_way_alone() {
    let pool = pool(1.0);
    let driver = ProbeDriver::new(&pool);
    let under_way = Arc::new(());
    let guard = Arc::clone(&under_way);
    let probe = move |_: &usize| {
        let guard = Arc::clone(&guard);
        async move {
            pending::<()>().await;
            drop(guard);
            Ok::<_, Infallible>(answer())
        }
    };
    let running = tokio::spawn(driver.run(in_turn(), probe));
    query(&pool, 1).await;
    assert!(Arc::strong_count(&under_way) > 2, "a probe is under way");
    drop(pool);
    timeout(MILLI, running).await.expect("it ends at once").unwrap();
    assert_eq!(Arc::strong_count(&under_way), 1, "and drops the probe");
}

#[tokio::test(start_paused = true)]
async fn a_second_driver_takes_the_place_of_the_first() {
    let pool = pool(1.0);
    let first = ProbeDriver::new(&pool);
    let running = tokio::spawn(first.run(in_turn(), well));
    query(&pool, 10).await;
    let second = ProbeDriver::new(&pool);
    timeout(MILLI, running).await.expect("the first ends").unwrap();
    let running = tokio::spawn(second.run(in_turn(), well));
    query(&pool, 10).await;
    assert_eq!((first.counts().answered, second.counts().answered), (10, 10));
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn it_can_be_run_again() {
    let pool = pool(1.0);
    let driver = ProbeDriver::new(&pool);
    for round in 1..=3 {
        let running = tokio::spawn(driver.run(in_turn(), well));
        query(&pool, 10).await;
        running.abort();
        assert!(running.await.is_err());
        assert_eq!(driver.counts().answered, 10 * round);
    }
}

#[test]
fn queries_on_other_threads_wake_it() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let pool = pool(1.0);
    let driver = ProbeDriver::new(&pool);
    let running = driver.run(in_turn(), well);
    std::thread::scope(|scope| {
        let driver = &driver;
        scope.spawn(move || {
            let policy = Prequal::over(pool);
            let members: Vec<_> = (0..MEMBERS).map(Backend::new).collect();
            let start = Instant::now();
            while driver.counts().answered == 0 {
                assert!(start.elapsed() < Duration::from_secs(20), "it sleeps through all queries");
                assert!(policy.pick(&members, &()).is_ok());
            }
        });
        // It ends with the pool, which the thread drops.
        runtime.block_on(running);
    });
    assert!(driver.counts().answered > 0);
}
