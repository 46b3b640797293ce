//! Probing members that come and go on Tokio's clock.

use std::collections::HashMap;
use std::future::{pending, ready};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use poise::core::Now;
use poise::health::{ActiveHealth, ActiveHealthConfig, ProbeOutcome, ProbeSchedule, ProbeState};
use poise::tokio::{ProbeEnd, ProbeReport, ProbeSet, TimeoutPolicy};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_secs(10);

fn now() -> Now {
    Now::at(Instant::now().into_std())
}

fn schedule() -> ProbeSchedule<usize> {
    ProbeSchedule::new().with_start_jitter(Duration::ZERO)
}

/// Makes a set of this many members, and their healths.
fn set(schedule: ProbeSchedule<usize>, members: usize) -> (ProbeSet<usize>, Vec<Arc<ActiveHealth>>) {
    let set = ProbeSet::new(schedule, TimeoutPolicy::Unhealthy);
    let healths: Vec<_> =
        (0..members).map(|_| Arc::new(ActiveHealth::new(ActiveHealthConfig::default()))).collect();
    for (member, health) in healths.iter().enumerate() {
        assert!(set.insert(member, Arc::clone(health)).is_none());
    }
    (set, healths)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "a listener of any key")]
fn nobody(_: &usize, _: &ProbeReport) {}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "a probe of any key")]
fn well(_: &usize) -> impl Future<Output = ProbeOutcome> + Send + use<> {
    ready(ProbeOutcome::Healthy)
}

#[tokio::test(start_paused = true)]
async fn a_virtual_hour_of_probes_over_twenty_members_is_exact() {
    let counted: Arc<Mutex<HashMap<usize, u32>>> = Arc::default();
    let (set, healths) = set(ProbeSchedule::new().with_seed(5), 20);
    let seen = Arc::clone(&counted);
    let probe = |member: &usize| {
        let member = *member;
        async move {
            match member {
                // A few are slow, one fails, one hangs and one panics.
                0..4 => sleep(Duration::from_millis(700)).await,
                4 => return ProbeOutcome::Unhealthy,
                5 => pending().await,
                6 => panic!("the probe of {member}"),
                _ => {}
            }
            ProbeOutcome::Healthy
        }
    };
    let listener = move |member: &usize, _: &ProbeReport| {
        *seen.lock().unwrap().entry(*member).or_default() += 1;
    };
    assert!(timeout(SECOND * 3_599, set.run(probe, listener)).await.is_err());

    let counted = counted.lock().unwrap();
    assert_eq!((0..20).map(|member| counted[&member]).collect::<Vec<_>>(), [360; 20]);
    let counts = set.counts();
    assert_eq!((counts.answered, counts.timed_out, counts.panicked), (18 * 360, 360, 360));
    for (member, health) in healths.iter().enumerate() {
        let (report, state) = (health.report(&now()), health.state());
        assert_eq!(report.counts.reserved, 360);
        match member {
            4 | 5 => assert_eq!((state, report.counts.unhealthy), (ProbeState::Unhealthy, 360)),
            6 => assert_eq!((state, report.counts.cancelled), (ProbeState::Unknown, 360)),
            _ => assert_eq!((state, report.counts.healthy), (ProbeState::Healthy, 360)),
        }
        assert_eq!((report.counts.lapsed, report.counts.ignored), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_hangs_delays_no_other_verdict_beyond_its_own_timeout() {
    // Two places, and two members that hang, always first in turn.
    let (set, healths) = set(schedule().with_limit(2).unwrap(), 10);
    let turned: Arc<Mutex<HashMap<usize, Duration>>> = Arc::default();
    let (start, seen) = (Instant::now(), Arc::clone(&turned));
    let probe = |member: &usize| {
        let hangs = *member < 2;
        async move { if hangs { pending().await } else { ProbeOutcome::Healthy } }
    };
    let listener = move |member: &usize, report: &ProbeReport| {
        if report.completion.is_applied() && healths[*member].state() != ProbeState::Unknown {
            seen.lock().unwrap().entry(*member).or_insert(start.elapsed());
        }
    };
    assert!(timeout(SECOND * 60, set.run(probe, listener)).await.is_err());
    let turned = turned.lock().unwrap();
    // Those that are well wait for the timeout of five seconds twice, once for each success that they need.
    for member in 2..10 {
        assert!(turned[&member] <= INTERVAL + SECOND * 5, "{member} after {:?}", turned[&member]);
    }
    for member in 0..2 {
        assert_eq!(turned[&member], INTERVAL * 2 + SECOND * 5, "those that hang are found as if alone");
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_probes_run_at_once_than_the_limit() {
    let (set, _) = set(schedule().with_limit(3).unwrap(), 20);
    let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let probe = |_: &usize| async {
        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        sleep(SECOND).await;
        running.fetch_sub(1, Ordering::SeqCst);
        ProbeOutcome::Healthy
    };
    assert!(timeout(SECOND * 9, set.run(probe, nobody)).await.is_err());
    assert_eq!(most.load(Ordering::SeqCst), 3);
    assert_eq!(set.counts().answered, 20, "three a second");
}

#[tokio::test(start_paused = true)]
async fn members_come_and_go_while_it_runs() {
    let (set, healths) = set(schedule(), 1);
    let running = tokio::spawn(set.run(well, nobody));
    sleep(SECOND).await;
    let late = Arc::new(ActiveHealth::new(ActiveHealthConfig::default()));
    set.insert(9, Arc::clone(&late));
    sleep(SECOND / 2).await;
    assert_eq!(late.report(&now()).counts.healthy, 1, "nobody waits for the turn of another to be seen");
    assert!(set.remove(&0).is_some());
    sleep(INTERVAL * 3).await;
    assert_eq!(healths[0].report(&now()).counts.reserved, 1);
    assert_eq!(late.report(&now()).counts.reserved, 4);

    late.force_unhealthy(&now());
    sleep(INTERVAL * 3).await;
    late.lift(&now());
    sleep(SECOND / 2).await;
    assert_eq!(late.report(&now()).counts.reserved, 5, "at once");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn it_ends_with_the_last_handle_and_leaves_nothing_running() {
    let alive = Handle::current().metrics().num_alive_tasks();
    let (set, healths) = set(schedule(), 3);
    let other = set.clone();
    let running = tokio::spawn(set.run(|_: &usize| pending::<ProbeOutcome>(), nobody));
    sleep(SECOND).await;
    drop(set);
    sleep(SECOND).await;
    assert!(!running.is_finished(), "there is another handle");
    assert!(healths.iter().all(|health| health.report(&now()).is_under_way));
    drop(other);
    running.await.expect("it ends");
    assert_eq!(Handle::current().metrics().num_alive_tasks(), alive);
    for health in &healths {
        let report = health.report(&now());
        assert_eq!((report.is_under_way, report.counts.cancelled, report.failures), (false, 1, 0));
        assert_eq!(Arc::strong_count(health), 1, "nobody holds on to a member");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_can_be_taken_up_again() {
    let (set, healths) = set(schedule().with_limit(1).unwrap(), 2);
    assert!(timeout(SECOND, set.run(|_: &usize| pending::<ProbeOutcome>(), nobody)).await.is_err());
    assert_eq!(healths[0].report(&now()).counts.cancelled, 1);
    assert!(timeout(SECOND, set.run(well, nobody)).await.is_err());
    assert_eq!(healths[1].report(&now()).counts.healthy, 1, "the place was given back");
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_is_contained_and_counted() {
    let (set, _) = set(schedule(), 2);
    let mut told = 0;
    let listener = |_: &usize, report: &ProbeReport| {
        assert_eq!(report.end, ProbeEnd::Answered(ProbeOutcome::Healthy));
        told += 1;
        panic!("the listener");
    };
    assert!(timeout(SECOND, set.run(well, listener)).await.is_err());
    assert_eq!((told, set.counts().listeners_panicked), (2, 2));
}
