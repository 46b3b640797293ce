//! Probing one endpoint on Tokio's clock.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use poise::core::Now;
use poise::health::{
    ActiveHealth, ActiveHealthConfig, ProbeCompletion, ProbeOutcome, ProbeState, UnknownPolicy,
};
use poise::tokio::{ActiveHealthRunner, ProbeEnd, TimeoutPolicy, TokioProbe};
use tokio::time::{Instant, advance, sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(5);

fn now() -> Now {
    Now::at(Instant::now().into_std())
}

fn health() -> Arc<ActiveHealth> {
    Arc::new(ActiveHealth::new(ActiveHealthConfig::default()))
}

fn runner<P>(probe: P, policy: TimeoutPolicy) -> ActiveHealthRunner<P> {
    ActiveHealthRunner::new(health(), probe, policy)
}

async fn healthy() -> ProbeOutcome {
    ProbeOutcome::Healthy
}

/// Says when it is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn probes_start_an_interval_apart_whatever_they_take() {
    let start = Instant::now();
    let takes = AtomicU64::new(0);
    let probe = || {
        let takes = SECOND * u32::try_from(takes.fetch_add(1, Ordering::SeqCst)).unwrap();
        async move {
            sleep(takes).await;
            ProbeOutcome::Healthy
        }
    };
    let mut runner = runner(probe, TimeoutPolicy::Unhealthy);
    for i in 0..4 {
        let report = runner.next().await;
        assert_eq!(report.elapsed, SECOND * i);
        assert_eq!(start.elapsed(), INTERVAL * i + SECOND * i);
    }
    assert_eq!(runner.health().state(), ProbeState::Healthy);
}

#[tokio::test(start_paused = true)]
async fn what_a_timeout_means_is_the_policys_to_say() {
    for (policy, completions, state) in [
        (
            TimeoutPolicy::Unhealthy,
            [ProbeCompletion::Counted, ProbeCompletion::Counted, ProbeCompletion::TurnedUnhealthy],
            ProbeState::Unhealthy,
        ),
        (TimeoutPolicy::Cancel, [ProbeCompletion::Cancelled; 3], ProbeState::Unknown),
    ] {
        let mut runner = runner(pending::<ProbeOutcome>, policy);
        for completion in completions {
            let report = runner.next().await;
            assert_eq!((report.end, report.elapsed), (ProbeEnd::TimedOut, TIMEOUT));
            assert_eq!(report.completion, completion);
        }
        assert_eq!((runner.health().state(), runner.counts().timed_out), (state, 3));
    }
}

#[tokio::test(start_paused = true)]
async fn one_deadline_covers_everything_that_a_probe_does() {
    let steps = Arc::new(AtomicU64::new(0));
    let taken = Arc::clone(&steps);
    let probe = move || {
        let taken = Arc::clone(&taken);
        async move {
            // Each step is quick: to connect, to send, to read.
            loop {
                sleep(SECOND * 2).await;
                taken.fetch_add(1, Ordering::SeqCst);
            }
        }
    };
    let report = runner(probe, TimeoutPolicy::Unhealthy).next().await;
    assert_eq!((report.end, report.elapsed), (ProbeEnd::TimedOut, TIMEOUT));
    assert_eq!(steps.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_just_below_the_interval_still_counts() {
    // The timer works in whole milliseconds, and comes when the reservation has lapsed.
    let config = ActiveHealthConfig::default().with_timeout(Duration::from_nanos(9_999_999_999)).unwrap();
    let health = Arc::new(ActiveHealth::new(config));
    let mut runner = ActiveHealthRunner::new(health, pending::<ProbeOutcome>, TimeoutPolicy::Unhealthy);
    assert_eq!(runner.next().await.completion, ProbeCompletion::Counted);
}

#[tokio::test(start_paused = true)]
async fn without_a_timeout_a_probe_that_hangs_lapses_and_the_next_one_is_sent() {
    let config = ActiveHealthConfig::default().without_timeout();
    let health = Arc::new(ActiveHealth::new(config));
    let mut runner = ActiveHealthRunner::new(health, pending::<ProbeOutcome>, TimeoutPolicy::Unhealthy);
    for _ in 0..5 {
        let report = runner.next().await;
        assert_eq!((report.end, report.completion), (ProbeEnd::TimedOut, ProbeCompletion::Ignored));
        assert_eq!(report.elapsed, INTERVAL);
    }
    assert_eq!(runner.health().state(), ProbeState::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_runner_leaves_no_reservation_and_no_probe_behind() {
    let dropped = Arc::new(AtomicBool::new(false));
    let guard = Arc::clone(&dropped);
    let probe = move || {
        let guard = Dropped(Arc::clone(&guard));
        async move {
            let _guard = guard;
            pending().await
        }
    };
    let mut runner = runner(probe, TimeoutPolicy::Unhealthy);
    assert!(timeout(SECOND, runner.next()).await.is_err(), "it is under way");
    assert!(dropped.load(Ordering::SeqCst));
    let report = runner.health().report(&now());
    assert_eq!((report.is_under_way, report.counts.cancelled, report.failures), (false, 1, 0));
    assert_eq!(report.next_due, Some(now().instant() + SECOND * 9), "another one follows");
    let report = timeout(INTERVAL + TIMEOUT, runner.next()).await.expect("the runner goes on");
    assert_eq!(report.end, ProbeEnd::TimedOut);
}

/// Panics where it is told to: when the future is made, polled or dropped.
struct Panics(&'static str);

impl Drop for Panics {
    fn drop(&mut self) {
        assert!(self.0 != "dropped");
    }
}

impl TokioProbe for &Panics {
    fn probe(&self) -> impl Future<Output = ProbeOutcome> + Send {
        let place = self.0;
        assert!(place != "made");
        let on_drop = Panics(place);
        async move {
            let _on_drop = on_drop;
            assert!(place != "polled");
            pending().await
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_panics_is_contained_counted_and_reported_and_says_nothing_of_the_endpoint() {
    for place in ["made", "polled", "dropped"] {
        let probe = Panics(place);
        let mut runner = runner(&probe, TimeoutPolicy::Unhealthy);
        for i in 1..=5 {
            let report = runner.next().await;
            assert_eq!((report.end, report.completion), (ProbeEnd::Panicked, ProbeCompletion::Cancelled));
            assert_eq!(runner.counts().panicked, i);
        }
        assert_eq!(runner.health().report(&now()).state, ProbeState::Unknown, "{place}");
        assert!(place != "dropped" || catch_unwind(AssertUnwindSafe(|| drop(probe))).is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_is_contained_and_told_of_the_next_one() {
    let mut told = 0;
    let mut runner = runner(healthy, TimeoutPolicy::Unhealthy);
    let listener = |_: &_| {
        told += 1;
        assert!(told != 2, "the second time");
    };
    assert!(timeout(INTERVAL * 3 + SECOND, runner.run(listener)).await.is_err(), "it never ends");
    assert_eq!((runner.counts().answered, runner.counts().listeners_panicked, told), (4, 1, 4));
}

#[tokio::test(start_paused = true)]
async fn a_result_that_a_force_has_made_void_is_reported_as_ignored() {
    let mut runner = runner(
        || async {
            sleep(SECOND).await;
            ProbeOutcome::Unhealthy
        },
        TimeoutPolicy::Unhealthy,
    );
    let health = Arc::clone(runner.health());
    let operator = async {
        sleep(SECOND / 2).await;
        health.force_healthy(&now());
    };
    let (report, ()) = tokio::join!(runner.next(), operator);
    assert_eq!((report.completion, report.epoch), (ProbeCompletion::Ignored, 0));
    assert_eq!((health.state(), health.epoch()), (ProbeState::ForcedHealthy, 1));
}

#[tokio::test(start_paused = true)]
async fn a_lifted_endpoint_is_probed_at_once() {
    let config = ActiveHealthConfig::default().with_unknown_policy(UnknownPolicy::Deny).with_fast_start();
    let health = Arc::new(ActiveHealth::new(config));
    health.force_unhealthy(&now());
    let mut runner = ActiveHealthRunner::new(Arc::clone(&health), healthy, TimeoutPolicy::Unhealthy);
    let start = Instant::now();
    let operator = async {
        sleep(SECOND * 1_234).await;
        health.lift(&now());
    };
    let (report, ()) = tokio::join!(runner.next(), operator);
    assert_eq!((report.completion, start.elapsed()), (ProbeCompletion::TurnedHealthy, SECOND * 1_234));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_ahead_brings_one_probe_and_not_all_that_were_missed() {
    let mut runner = runner(healthy, TimeoutPolicy::Unhealthy);
    runner.next().await;
    advance(INTERVAL * 100).await;
    assert!(timeout(SECOND, runner.next()).await.is_ok());
    assert!(timeout(SECOND * 8, runner.next()).await.is_err());
}
