//! An attempt is told once, whatever becomes of it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::clock::Clock;
use poise::core::{Now, Outcome, Phase};
use poise::observe::{Attempt, AttemptEvent, Fanout, Observer, ReadinessEvent, Recorder};

type Told = (Phase, Outcome, Duration, Option<String>);

#[derive(Default)]
struct Heard(Mutex<Vec<Told>>);

impl Observer for Heard {
    fn attempt(&self, event: &AttemptEvent<'_>) {
        let endpoint = event.endpoint.map(String::from);
        self.0.lock().unwrap().push((event.phase, event.outcome, event.elapsed, endpoint));
    }
}

/// Counts how often it was told, and panics each time.
#[derive(Default)]
struct Panics(AtomicU64);

impl Observer for Panics {
    fn attempt(&self, _: &AttemptEvent<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("an observer panics");
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn completion_is_told_with_the_time_since_the_start() {
    let (clock, heard, seconds) = (Clock::new(), Heard::default(), Cell::new(0));
    let time = || clock.at(SECOND * seconds.get());
    let mut attempt = Attempt::timed_by(&heard, time).at(Arc::from("10.0.0.1:80"));
    assert_eq!(attempt.phase(), Phase::Readiness);
    seconds.set(3);
    attempt.called();
    assert_eq!(attempt.phase(), Phase::Call);
    assert!(heard.0.lock().unwrap().is_empty(), "nothing is told before the end");
    seconds.set(5);
    attempt.complete(Outcome::Failure);
    let told = (Phase::Call, Outcome::Failure, SECOND * 5, Some(String::from("10.0.0.1:80")));
    assert_eq!(*heard.0.lock().unwrap(), [told]);
}

#[test]
fn what_is_dropped_is_cancelled_and_takes_the_time_until_then() {
    let (clock, heard, seconds) = (Clock::new(), Heard::default(), Cell::new(0));
    let attempt = Attempt::timed_by(&heard, || clock.at(SECOND * seconds.get()));
    seconds.set(2);
    drop(attempt);
    assert_eq!(*heard.0.lock().unwrap(), [(Phase::Readiness, Outcome::Cancelled, SECOND * 2, None)]);
}

#[test]
fn a_clock_that_goes_back_counts_as_no_time() {
    let (clock, heard, seconds) = (Clock::new(), Heard::default(), Cell::new(9));
    let attempt = Attempt::timed_by(&heard, || clock.at(SECOND * seconds.get()));
    seconds.set(1);
    attempt.complete(Outcome::Success);
    assert_eq!(heard.0.lock().unwrap()[0].2, Duration::ZERO);
}

#[test]
fn a_panic_of_the_caller_cancels_it_once() {
    let recorder = Recorder::new();
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let mut attempt = Attempt::start(&recorder);
        attempt.called();
        panic!("the caller panics");
    }));
    assert!(unwound.is_err());
    assert_eq!(recorder.snapshot().attempts(Phase::Call, Outcome::Cancelled), 1);
    assert_eq!(recorder.snapshot().total_attempts(), 1);
}

#[test]
fn an_observer_that_panics_is_told_once_and_stops_nobody() {
    let panics = Panics::default();
    Attempt::start(&panics).complete(Outcome::Success);
    assert_eq!(panics.0.load(Ordering::Relaxed), 1, "the drop after the completion tells nothing");
    drop(Attempt::start(&panics));
    assert_eq!(panics.0.load(Ordering::Relaxed), 2);
}

#[test]
fn an_observer_that_panics_while_the_caller_unwinds_aborts_nothing() {
    let (panics, recorder) = (Arc::new(Panics::default()), Recorder::new());
    let both = Fanout::new().with(Arc::clone(&panics)).with(recorder.clone());
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _one = Attempt::start(&*panics);
        let _other = Attempt::start(&both);
        panic!("the caller panics");
    }));
    let message = *unwound.unwrap_err().downcast::<&str>().unwrap();
    assert_eq!(message, "the caller panics", "the panic of the caller goes on as it was");
    assert_eq!(panics.0.load(Ordering::Relaxed), 2);
    assert_eq!(recorder.snapshot().attempts(Phase::Readiness, Outcome::Cancelled), 1);
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("what was thrown panics as well");
    }
}

struct Throws;

impl Observer for Throws {
    fn attempt(&self, _: &AttemptEvent<'_>) {
        panic_any(Bomb);
    }
}

#[test]
fn what_an_observer_throws_may_panic_in_turn() {
    let recorder = Recorder::new();
    Attempt::start(Fanout::new().with(Throws).with(recorder.clone())).complete(Outcome::Success);
    assert_eq!(recorder.snapshot().total_attempts(), 1);
}

#[test]
fn a_clock_that_panics_at_the_end_does_not_hide_it() {
    let recorder = Recorder::new();
    let first = Cell::new(true);
    let attempt = Attempt::timed_by(&recorder, || {
        assert!(first.replace(false), "the clock broke");
        Now::lazy()
    });
    attempt.complete(Outcome::Success);
    assert_eq!(recorder.snapshot().total_attempts(), 1);
}

#[derive(Default)]
struct Unready(AtomicU64);

impl Observer for Unready {
    fn readiness_failed(&self, _: &ReadinessEvent<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn only_failures_before_the_call_are_failures_of_readiness() {
    for (called, outcome, expected) in [
        (false, Outcome::Failure, 1),
        (false, Outcome::OVERLOAD, 1),
        (false, Outcome::Cancelled, 0),
        (false, Outcome::Success, 0),
        (true, Outcome::Failure, 0),
    ] {
        let unready = Unready::default();
        let mut attempt = Attempt::start(&unready);
        if called {
            attempt.called();
        }
        attempt.complete(outcome);
        assert_eq!(unready.0.load(Ordering::Relaxed), expected, "called: {called}, {outcome}");
    }
}
