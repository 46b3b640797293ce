//! Every interleaving of those who share an endpoint's health.

use std::time::{Duration, Instant};

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use crate::core::{Exclusion, Now};
use crate::health::HealthSignal;

use super::{ActiveHealth, ActiveHealthConfig, ProbeCompletion, ProbeOutcome, ProbeState};

const INTERVAL: Duration = Duration::from_secs(10);

fn start() -> Instant {
    Now::lazy().instant()
}

fn health() -> Arc<ActiveHealth> {
    let config = ActiveHealthConfig::default().with_unhealthy_threshold(1).unwrap();
    Arc::new(ActiveHealth::new(config.with_interval(INTERVAL).unwrap().with_fast_start()))
}

#[test]
fn loom_a_due_probe_is_reserved_once() {
    let start = start();
    loom::model(move || {
        let health = health();
        let other = health.clone();
        let thread = thread::spawn(move || other.reserve(&Now::at(start)).is_ok());
        let mine = health.reserve(&Now::at(start)).is_ok();
        let theirs = thread.join().unwrap();
        assert_eq!(u8::from(mine) + u8::from(theirs), 1);
    });
}

#[test]
fn loom_a_probe_that_races_with_a_force_comes_before_it_or_is_ignored() {
    let start = start();
    loom::model(move || {
        let health = health();
        let now = Now::at(start);
        let probe = health.reserve(&now).unwrap();
        let other = health.clone();
        let thread = thread::spawn(move || other.settle(probe, ProbeOutcome::Unhealthy, &Now::at(start)));
        health.force_healthy(&now);
        assert_eq!(health.state(), ProbeState::ForcedHealthy, "it holds at once");
        let epoch = match thread.join().unwrap() {
            ProbeCompletion::TurnedUnhealthy => 2,
            ProbeCompletion::Ignored => 1,
            other => panic!("no order of the two explains {other:?}"),
        };
        assert_eq!((health.state(), health.epoch()), (ProbeState::ForcedHealthy, epoch));
        let counts = health.report(&now).counts;
        assert_eq!(counts.reserved, counts.unhealthy + counts.voided);
    });
}

#[test]
fn loom_nothing_is_reserved_under_a_force() {
    let start = start();
    loom::model(move || {
        let health = health();
        let other = health.clone();
        let thread = thread::spawn(move || {
            let now = Now::at(start);
            let ticket = other.reserve(&now).ok()?;
            Some(other.settle(ticket, ProbeOutcome::Healthy, &now))
        });
        let now = Now::at(start);
        health.force_unhealthy(&now);
        assert!(health.reserve(&now).is_err());
        let result = thread.join().unwrap();
        assert!(matches!(result, None | Some(ProbeCompletion::TurnedHealthy | ProbeCompletion::Ignored)));
        assert_eq!(health.state(), ProbeState::ForcedUnhealthy);
        assert!(health.exclusions(&now).contains(Exclusion::Probe));
    });
}

#[test]
fn loom_a_lapsed_probe_and_its_successor_decide_once() {
    let start = start();
    loom::model(move || {
        let health = health();
        let late = Now::at(start + INTERVAL);
        let first = health.reserve(&Now::at(start)).unwrap();
        let other = health.clone();
        let thread =
            thread::spawn(move || other.settle(first, ProbeOutcome::Unhealthy, &Now::at(start + INTERVAL)));
        let second = health.reserve(&late).unwrap();
        assert_eq!(thread.join().unwrap(), ProbeCompletion::Ignored);
        assert_eq!(health.settle(second, ProbeOutcome::Healthy, &late), ProbeCompletion::TurnedHealthy);
    });
}

#[test]
fn loom_a_lift_is_told_after_the_probe_is_due() {
    let start = start();
    loom::model(move || {
        let health = health();
        let now = Now::at(start);
        health.force_unhealthy(&now);
        let told = Arc::new(AtomicU32::new(0));
        let listener = told.clone();
        health.watch_due(crate::core::Changes::new(std::sync::Arc::new(move || {
            listener.fetch_add(1, Ordering::Release);
        })));
        let other = health.clone();
        let thread = thread::spawn(move || assert!(other.lift(&Now::at(start))));
        if told.load(Ordering::Acquire) == 1 {
            assert!(health.reserve(&now).is_ok(), "whoever is told finds a probe to reserve");
        }
        thread.join().unwrap();
        assert_eq!(told.load(Ordering::Acquire), 1);
    });
}
