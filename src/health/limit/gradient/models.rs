//! Every interleaving of callers under one limit.

use std::time::{Duration, Instant};

use loom::sync::Arc;
use loom::thread;

use crate::core::{LoadTracker, Now, Outcome};
use crate::health::Limit;

use super::{GradientConfig, GradientLimit};

fn start() -> Instant {
    Now::lazy().instant()
}

#[test]
fn loom_a_limit_that_falls_meanwhile_loses_no_place() {
    let start = start();
    loom::model(move || {
        let config = GradientConfig::default().with_bounds(1, 2).unwrap();
        let limit = Arc::new(GradientLimit::new(config, &Now::at(start)));
        let first = limit.start(&Now::at(start)).unwrap();
        let other = Arc::clone(&limit);
        let thread = thread::spawn(move || {
            let overload = Outcome::Overload { retry_after: Some(Duration::from_secs(1)) };
            other.responded(first, overload, &Now::at(start));
            other.release(first, &Now::at(start));
        });
        if let Ok(second) = limit.start(&Now::at(start)) {
            assert!(limit.in_flight() <= 2, "the limit was two at most");
            limit.responded(second, Outcome::Success, &Now::at(start));
            limit.release(second, &Now::at(start));
        }
        thread.join().unwrap();
        assert_eq!((limit.in_flight(), limit.limit()), (0, 1));
        assert!(limit.start(&Now::at(start)).is_ok(), "one is always admitted");
    });
}

#[test]
fn loom_a_hold_that_is_over_is_lifted_by_whoever_comes_first() {
    let start = start();
    loom::model(move || {
        let config = GradientConfig::default().with_bounds(1, 20).unwrap();
        let limit = Arc::new(GradientLimit::new(config, &Now::at(start)));
        let first = limit.start(&Now::at(start)).unwrap();
        let overload = Outcome::Overload { retry_after: Some(Duration::from_secs(1)) };
        limit.responded(first, overload, &Now::at(start));
        let later = start + Duration::from_secs(1);
        let other = Arc::clone(&limit);
        let thread = thread::spawn(move || other.start(&Now::at(later)).is_ok());
        assert!(limit.start(&Now::at(later)).is_ok());
        assert!(thread.join().unwrap());
        assert_eq!((limit.in_flight(), limit.limit()), (3, 18));
    });
}
