//! Members that fail at once do not become a sink for the requests of a `Balancer`, with all of its defaults.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use poise::core::{Backend, Rng};
use poise::discovery::Directory;
use poise::tower::Balancer;
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tower::Service;

const SERVERS: u64 = 20;
/// Each server works on so many requests at once.
const WORKERS: usize = 4;
/// So long on each, on average.
const MILLIS: u64 = 20;

/// A server with a queue, whose times of work are exponential.
#[derive(Clone)]
struct Server {
    workers: Arc<Semaphore>,
    is_broken: Arc<AtomicBool>,
    rng: Rng,
}

impl Service<()> for Server {
    type Response = ();
    type Error = &'static str;
    type Future = Pin<Box<dyn Future<Output = Result<(), &'static str>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), &'static str>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        if self.is_broken.load(Ordering::Relaxed) {
            return Box::pin(async { Err("broken") });
        }
        // From a millisecond on, which is what the timer can tell.
        let work = 1.0 - (1.0 - self.rng.unit()).ln() * (MILLIS - 1) as f64;
        let (workers, work) = (Arc::clone(&self.workers), Duration::from_secs_f64(work / 1_000.0));
        Box::pin(async move {
            let _worker = workers.acquire_owned().await.map_err(|_| "closed")?;
            sleep(work).await;
            Ok(())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn two_of_twenty_that_fail_at_once_cost_less_than_a_hundredth_after_the_first_second() {
    let is_broken = Arc::new(AtomicBool::new(false));
    let mut directory = Directory::new();
    for name in 0..SERVERS {
        directory.upsert(name, Backend::new(name)).unwrap();
    }
    let breaks = Arc::clone(&is_broken);
    let pool = Balancer::builder()
        .discover(directory.reader(), move |name, _| Server {
            workers: Arc::new(Semaphore::new(WORKERS)),
            is_broken: if *name < 2 { Arc::clone(&breaks) } else { Arc::default() },
            rng: Rng::seeded(*name),
        })
        .spawn()
        .unwrap();
    // Nine tenths of what all twenty can do.
    let per_second = SERVERS * WORKERS as u64 * 1_000 / MILLIS * 9 / 10;
    let mut ticks = interval(Duration::from_secs(1) / u32::try_from(per_second).unwrap());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let failed: Arc<[AtomicU64; 15]> = Arc::default();
    for second in 0..15 {
        // Time passes only when all that was sent before has arrived.
        sleep(Duration::from_millis(1)).await;
        is_broken.store(second >= 5, Ordering::Relaxed);
        for _ in 0..per_second {
            ticks.tick().await;
            let (failed, request) = (Arc::clone(&failed), pool.send(()));
            tokio::spawn(async move {
                if request.await.is_err() {
                    failed[second].fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    }
    sleep(Duration::from_secs(5)).await;
    let failed: Vec<u64> = failed.iter().map(|failed| failed.load(Ordering::Relaxed)).collect();
    println!("{failed:?} of {per_second} failed in each second\n{}", pool.report());
    assert!(failed[..5].iter().all(|failed| *failed == 0), "{failed:?}");
    assert!(failed[5] > 0, "they were tried");
    let after: u64 = failed[6..].iter().sum();
    assert!(after * 100 < per_second * 9, "{failed:?} of {per_second}");
}
