//! A balance that follows a stream by itself.

use std::task::Poll;

use poise::core::policy::RoundRobin;
use poise::tower::{
    DiscoveryBalance, StreamEndPolicy, StreamingConfig, StreamingDiscoveryBalance, StreamingError,
};

use crate::fleet::{Fleet, add, fleet};
use crate::script::{Readiness, Script};
use crate::standing::{ask, is_ready, poll_ready};
use crate::wakes::Wakes;
use crate::workshop::{Mishap, Workshop};

type Streaming = StreamingDiscoveryBalance<&'static str, Script, Workshop, RoundRobin>;

fn streaming(directory: &Fleet, config: StreamingConfig) -> (Workshop, Streaming) {
    let workshop = Workshop::default();
    let balance = DiscoveryBalance::new(RoundRobin::new(), workshop.clone());
    (workshop, StreamingDiscoveryBalance::new(balance, directory.reader().subscribe(), config))
}

#[test]
fn every_poll_reconciles_visible_state_before_it_polls_readiness() {
    let (mut directory, [a]) = fleet(["a"]);
    let (_, mut balance) = streaming(&directory, StreamingConfig::new());
    assert!(is_ready(&mut balance));
    directory.remove(&"a").unwrap();
    add(&mut directory, "b", &Script::new("b"));
    assert_eq!(ask(&mut balance, 1).unwrap().by, "b");
    assert_eq!(a.calls(), 0);
}

#[test]
fn one_waker_is_registered_with_both_sources() {
    let (mut directory, [a]) = fleet(["a"]);
    a.turn(Readiness::Pending);
    let (_, mut balance) = streaming(&directory, StreamingConfig::new());
    let wakes = Wakes::default();
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    a.turn(Readiness::Pending);
    assert_eq!(wakes.count(), 1, "an endpoint wakes it");
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    let before = wakes.count();
    add(&mut directory, "b", &Script::new("b"));
    assert!(wakes.count() > before, "and so does discovery");
}

#[test]
fn an_exhausted_budget_wakes_the_task_and_yields() {
    let (directory, [_a]) = fleet(["a"]);
    let config = StreamingConfig::new().with_update_budget(1).unwrap();
    let (_, mut balance) = streaming(&directory, config);
    let wakes = Wakes::default();
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    assert_eq!(wakes.count(), 1);
    assert!(poll_ready(&mut balance, &wakes).is_ready());
}

#[test]
fn the_last_known_good_membership_is_the_default_when_the_publisher_ends() {
    let (directory, [_a]) = fleet(["a"]);
    let (_, mut balance) = streaming(&directory, StreamingConfig::new());
    drop(directory);
    assert!((0..3).all(|request| ask(&mut balance, request).unwrap().by == "a"));
}

#[test]
fn fail_closed_rejects_readiness_after_the_final_snapshot() {
    let (directory, [_a]) = fleet(["a"]);
    let config = StreamingConfig::new().with_end_policy(StreamEndPolicy::FailClosed);
    let (_, mut balance) = streaming(&directory, config);
    let last = directory.revision();
    drop(directory);
    let rejected = poll_ready(&mut balance, &Wakes::default());
    assert_eq!(rejected, Poll::Ready(Err(StreamingError::Closed)));
    assert_eq!(balance.balance().revision(), last);
}

#[test]
fn a_reconciliation_failure_is_returned_and_leaves_the_previous_pool_intact() {
    let (mut directory, [_a]) = fleet(["a"]);
    let (workshop, mut balance) = streaming(&directory, StreamingConfig::new());
    assert!(is_ready(&mut balance));
    workshop.tell("b", Some(Mishap::Fails));
    add(&mut directory, "b", &Script::new("b"));
    let failed = poll_ready(&mut balance, &Wakes::default());
    assert!(matches!(failed, Poll::Ready(Err(StreamingError::Reconcile(_)))));
    assert_eq!(ask(&mut balance, 1).unwrap().by, "a", "a later poll serves the last good pool");
    workshop.tell("b", None);
    add(&mut directory, "c", &Script::new("c"));
    assert!(is_ready(&mut balance));
    assert_eq!(balance.balance().balance().len(), 3, "or applies a newer publication");
}
