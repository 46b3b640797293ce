//! How a balance follows a stream of snapshots.

use std::error::Error;
use std::task::Poll;
use std::time::Duration;

use poise::core::policy::RoundRobin;
use poise::tokio::TokioTimer;
use poise::tower::{
    Backoff, BalanceError, DiscoveryBalance, ReconcileError, StreamEndPolicy, StreamingConfig,
    StreamingDiscoveryBalance, StreamingError, ZeroUpdateBudget,
};
use tokio::time::{Instant, sleep, timeout};
use tower::ServiceExt;
use tower::buffer::Buffer;
use tower_service::Service;

use crate::support::fleet::{Fleet, add, fleet, remove};
use crate::support::script::{Readiness, Refused, Script};
use crate::support::standing::{ask, call, is_ready, poll_ready};
use crate::support::wakes::Wakes;
use crate::support::workshop::{CannotBuild, Mishap, Workshop};

const SECOND: Duration = Duration::from_secs(1);

type Streaming = StreamingDiscoveryBalance<&'static str, Script, Workshop, RoundRobin>;

fn streaming(directory: &Fleet, workshop: &Workshop, config: StreamingConfig) -> Streaming {
    let balance = DiscoveryBalance::new(RoundRobin::new(), workshop.clone());
    StreamingDiscoveryBalance::new(balance, directory.reader().subscribe(), config)
}

fn reporting() -> StreamingConfig {
    let backoff = Backoff::new(SECOND, 8 * SECOND).unwrap().with_jitter(0.0).unwrap();
    StreamingConfig::new().report_failures(backoff, TokioTimer)
}

#[test]
fn membership_comes_first_and_both_wake_the_task() {
    let (mut directory, []) = fleet([]);
    let mut balance = streaming(&directory, &Workshop::default(), StreamingConfig::new());
    let (wakes, a) = (Wakes::default(), Script::new("a"));
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    a.turn(Readiness::Pending);
    add(&mut directory, "a", &a);
    assert_eq!(wakes.count(), 1, "a membership wakes the task");
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    let before = wakes.count();
    a.turn(Readiness::Ready);
    assert_eq!(wakes.count(), before + 1, "and so does an endpoint");
    assert!(poll_ready(&mut balance, &wakes).is_ready());

    let b = Script::new("b");
    add(&mut directory, "b", &b);
    remove(&mut directory, "a");
    assert_eq!(ask(&mut balance, 1).unwrap().by, "b");
}

#[test]
fn a_busy_control_plane_costs_every_other_poll_at_most() {
    for budget in [1, 3] {
        let (mut directory, [a]) = fleet(["a"]);
        let config = StreamingConfig::new().with_update_budget(budget).unwrap();
        let mut balance = streaming(&directory, &Workshop::default(), config);
        let (wakes, mut in_a_row) = (Wakes::default(), 0);
        for request in 0..100 {
            add(&mut directory, "a", &a);
            let before = wakes.count();
            if poll_ready(&mut balance, &wakes).is_pending() {
                assert!(wakes.count() > before, "whoever spends the budget wakes itself");
                in_a_row += 1;
                assert!(in_a_row < 2, "two polls in a row were spent on updates");
            } else {
                in_a_row = 0;
                assert_eq!(call(&mut balance, request).unwrap().by, "a");
            }
            assert_eq!(balance.balance().revision(), directory.revision(), "each poll applied one");
        }
        let pending = 100 - a.calls();
        assert_eq!(pending, if budget == 1 { 50 } else { 0 });
    }
}

#[test]
fn updates_wait_for_nobody_when_the_budget_is_spent_and_no_endpoint_is_ready() {
    let (mut directory, [a]) = fleet(["a"]);
    a.turn(Readiness::Pending);
    let config = StreamingConfig::new().with_update_budget(1).unwrap();
    let mut balance = streaming(&directory, &Workshop::default(), config);
    let wakes = Wakes::default();
    for _ in 0..10 {
        add(&mut directory, "a", &a);
        let before = wakes.count();
        assert!(poll_ready(&mut balance, &wakes).is_pending());
        assert!(wakes.count() > before, "there may be more");
    }
    while {
        let before = wakes.count();
        assert!(poll_ready(&mut balance, &wakes).is_pending());
        wakes.count() > before
    } {}
    let before = wakes.count();
    add(&mut directory, "a", &Script::new("a"));
    assert!(wakes.count() > before, "whoever sleeps is woken by the next update");
}

#[test]
fn a_budget_of_nothing_is_refused() {
    assert_eq!(StreamingConfig::new().with_update_budget(0).unwrap_err(), ZeroUpdateBudget);
}

#[test]
fn the_last_membership_is_served_when_the_publisher_is_gone() {
    let (mut directory, [_a]) = fleet(["a"]);
    let mut balance = streaming(&directory, &Workshop::default(), StreamingConfig::new());
    assert!(is_ready(&mut balance));
    add(&mut directory, "b", &Script::new("b"));
    remove(&mut directory, "a");
    drop(directory);
    for request in 0..3 {
        assert_eq!(ask(&mut balance, request).unwrap().by, "b", "the final state is in effect");
    }
    assert!(balance.has_ended());
}

#[test]
fn fail_closed_rejects_after_the_final_snapshot() {
    let (mut directory, [_a]) = fleet(["a"]);
    let config = StreamingConfig::new().with_end_policy(StreamEndPolicy::FailClosed);
    let mut balance = streaming(&directory, &Workshop::default(), config);
    assert_eq!(ask(&mut balance, 1).unwrap().by, "a");
    add(&mut directory, "b", &Script::new("b"));
    let last = directory.revision();
    drop(directory);
    for _ in 0..2 {
        let Poll::Ready(Err(error)) = poll_ready(&mut balance, &Wakes::default()) else {
            panic!("it is ready although discovery has ended")
        };
        assert_eq!(error, StreamingError::Closed);
        assert!(!error.is_retryable());
    }
    assert_eq!(balance.balance().revision(), last, "the final snapshot was applied before");
}

#[test]
fn a_failed_snapshot_is_one_error_and_the_pool_before_it_goes_on() {
    let (mut directory, [_a]) = fleet(["a"]);
    let workshop = Workshop::default();
    let mut balance = streaming(&directory, &workshop, StreamingConfig::new());
    assert!(is_ready(&mut balance));
    workshop.tell("b", Some(Mishap::Fails));
    add(&mut directory, "b", &Script::new("b"));
    let Poll::Ready(Err(error)) = poll_ready(&mut balance, &Wakes::default()) else {
        panic!("the failure is not reported")
    };
    let failed = ReconcileError::Factory { member: 1, source: CannotBuild("b") };
    assert_eq!(error, StreamingError::Reconcile(failed));
    assert_eq!(
        error.to_string(),
        "a snapshot did not take effect: the endpoint of the member at position 1 cannot be made"
    );
    assert_eq!(error.source().unwrap().source().unwrap().to_string(), "cannot build b");
    for request in 0..3 {
        assert_eq!(ask(&mut balance, request).unwrap().by, "a", "the last good pool");
    }
    assert_eq!((balance.failures(), balance.balance().balance().len()), (1, 1));

    workshop.tell("b", None);
    add(&mut directory, "c", &Script::new("c"));
    assert!(is_ready(&mut balance));
    assert_eq!(balance.balance().balance().len(), 3, "a newer publication is applied in full");
}

#[tokio::test(start_paused = true)]
async fn a_reported_failure_is_tried_again_and_kills_nobody() {
    let (mut directory, [_a]) = fleet(["a"]);
    let workshop = Workshop::default();
    let mut balance = streaming(&directory, &workshop, reporting());
    assert!(is_ready(&mut balance));
    workshop.tell("b", Some(Mishap::Panics));
    add(&mut directory, "b", &Script::new("b"));
    assert_eq!(ask(&mut balance, 1).unwrap().by, "a");
    assert_eq!(balance.failure(), Some(&ReconcileError::Panicked { member: Some(1) }));
    for _ in 0..31 {
        sleep(SECOND).await;
        assert_eq!(ask(&mut balance, 1).unwrap().by, "a");
    }
    assert_eq!(balance.failures(), 7, "at 0, 1, 3, 7, 15, 23 and 31 seconds");

    workshop.tell("b", None);
    sleep(8 * SECOND).await;
    assert!(is_ready(&mut balance));
    assert_eq!((balance.failure(), balance.balance().balance().len()), (None, 2));
}

#[tokio::test(start_paused = true)]
async fn a_failed_snapshot_is_tried_again_for_whoever_waits_and_a_newer_one_at_once() {
    let (mut directory, [a]) = fleet(["a"]);
    let workshop = Workshop::default();
    workshop.tell("a", Some(Mishap::Fails));
    let mut buffer = Buffer::new(streaming(&directory, &workshop, reporting()), 8);
    let start = Instant::now();
    let waiting = tokio::spawn(buffer.ready().await.unwrap().call(1));
    sleep(SECOND / 2).await;
    workshop.tell("a", None);
    let answer = timeout(60 * SECOND, waiting).await.expect("nothing woke the task").unwrap();
    assert_eq!(answer.unwrap().by, "a");
    assert!(start.elapsed() <= SECOND + Duration::from_millis(2), "{:?}", start.elapsed());

    workshop.tell("b", Some(Mishap::Fails));
    add(&mut directory, "b", &Script::new("b"));
    assert_eq!(buffer.ready().await.unwrap().call(2).await.unwrap().by, "a");
    workshop.tell("b", None);
    a.turn(Readiness::Failing);
    let start = Instant::now();
    add(&mut directory, "c", &Script::new("c"));
    let answer = buffer.ready().await.unwrap().call(3).await.unwrap();
    assert_ne!(answer.by, "a");
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[test]
fn errors_of_services_come_through() {
    let (directory, [a]) = fleet(["a"]);
    let mut balance = streaming(&directory, &Workshop::default(), StreamingConfig::new());
    a.refuse(true);
    let error = ask(&mut balance, 1).unwrap_err();
    assert_eq!(error, StreamingError::Balance(BalanceError::Endpoint(Refused)));
    assert_eq!(error.source().unwrap().downcast_ref(), Some(&Refused));
}

#[test]
fn one_that_was_synced_by_hand_goes_on_from_there() {
    let (mut directory, [_a]) = fleet(["a"]);
    let workshop = Workshop::default();
    let mut balance = streaming(&directory, &workshop, reporting());
    balance.balance_mut().sync(&directory.reader()).unwrap();
    assert!(is_ready(&mut balance));
    assert_eq!(workshop.built(), ["a"], "the same revision changes nothing");
    add(&mut directory, "b", &Script::new("b"));
    assert!(is_ready(&mut balance));
    assert_eq!(workshop.built(), ["b"]);
}
