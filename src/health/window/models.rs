//! Every interleaving of callers that record into one window.

use std::time::{Duration, Instant};

use loom::sync::Arc;
use loom::thread;

use crate::core::{Now, Outcome};

use super::{OutcomeCounts, OutcomeWindow, WindowConfig};

fn start() -> Instant {
    Now::lazy().instant()
}

#[test]
fn loom_no_outcome_is_lost_or_counted_twice() {
    let start = start();
    loom::model(move || {
        let window = Arc::new(OutcomeWindow::default());
        let other = Arc::clone(&window);
        let thread = thread::spawn(move || {
            other.record(Outcome::Failure, &Now::at(start));
            other.record(Outcome::Success, &Now::at(start));
        });
        window.record(Outcome::OVERLOAD, &Now::at(start));
        thread.join().unwrap();
        assert_eq!(window.counts(&Now::at(start)), OutcomeCounts::new(1, 1, 1));
    });
}

#[test]
fn loom_a_slice_that_is_used_again_never_mixes_two_times() {
    let start = start();
    loom::model(move || {
        let window = Arc::new(OutcomeWindow::new(WindowConfig::default()));
        let later = start + window.config().age();
        window.record(Outcome::Failure, &Now::at(start));
        let writer = Arc::clone(&window);
        let thread = thread::spawn(move || {
            writer.record(Outcome::Success, &Now::at(later));
        });
        window.record(Outcome::Success, &Now::at(later));
        let seen = window.counts(&Now::at(later));
        assert_eq!(seen.failures(), 0, "what is old does not come back");
        assert!((1..=2).contains(&seen.successes()));
        thread.join().unwrap();
        assert_eq!(window.counts(&Now::at(later + Duration::from_nanos(1))).successes(), 2);
    });
}
