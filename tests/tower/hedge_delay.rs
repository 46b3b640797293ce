//! After which time a hedge is due.

use std::time::{Duration, Instant};

use poise::core::{Now, Outcome};
use poise::tower::{Hedge, HedgeDelay};

const SECOND: Duration = Duration::from_secs(1);

fn start() -> Instant {
    Now::lazy().instant()
}

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// The median of the attempts of the last half minute, from the first one on.
fn median(now: Instant) -> HedgeDelay {
    HedgeDelay::new(Hedge::after_quantile(0.5).unwrap().with_min_samples(1), now)
}

fn record(hedges: &HedgeDelay, outcome: Outcome, count: u32, elapsed: Duration) {
    (0..count).for_each(|_| hedges.record(outcome, elapsed));
}

/// Asserts a delay that is an eighth too long at most.
#[track_caller]
fn assert_about(delay: Option<Duration>, exact: Duration) {
    let found = delay.expect("enough is known");
    assert!(found >= exact && found <= exact * 9 / 8, "{found:?} for {exact:?}");
}

#[test]
fn a_fixed_delay_needs_no_samples_and_learns_nothing() {
    let now = start();
    let hedges = HedgeDelay::new(Hedge::after(millis(10)), now);
    assert_eq!(hedges.delay(now), Some(millis(10)));
    record(&hedges, Outcome::Success, 1_000, SECOND);
    assert_eq!(hedges.delay(now + SECOND), Some(millis(10)));
}

#[test]
fn a_quantile_waits_for_its_samples() {
    let now = start();
    let hedges = HedgeDelay::new(Hedge::after_quantile(0.95).unwrap().with_min_samples(20), now);
    record(&hedges, Outcome::Success, 18, millis(10));
    record(&hedges, Outcome::Success, 1, millis(70));
    assert_eq!(hedges.delay(now), None, "nineteen are known");
    record(&hedges, Outcome::Success, 1, millis(40));
    assert_about(hedges.delay(now + SECOND), millis(40));
}

#[test]
fn a_delay_is_no_shorter_than_the_least_one() {
    let now = start();
    let hedges = HedgeDelay::new(Hedge::new().with_min_samples(1).with_least_delay(millis(30)), now);
    record(&hedges, Outcome::Success, 10, millis(2));
    assert_eq!(hedges.delay(now), Some(millis(30)));
}

#[test]
fn attempts_that_a_hedge_cancelled_stay_in_the_quantile() {
    let now = start();
    for lost in [Outcome::Cancelled, Outcome::Failure, Outcome::Overload { retry_after: None }] {
        let hedges = median(now);
        record(&hedges, Outcome::Success, 10, millis(10));
        assert_about(hedges.delay(now), millis(10));
        record(&hedges, lost, 11, millis(80));
        assert_about(hedges.delay(now + SECOND), millis(80));
    }
}

#[test]
fn failures_that_are_quick_make_no_hedge_early() {
    let now = start();
    let hedges = median(now);
    record(&hedges, Outcome::Failure, 100, millis(1));
    assert_eq!(hedges.delay(now), None, "nothing is known of how long an answer takes");
    record(&hedges, Outcome::Success, 10, millis(40));
    assert_about(hedges.delay(now + SECOND), millis(40));
    record(&hedges, Outcome::Cancelled, 100, millis(1));
    assert_about(hedges.delay(now + 2 * SECOND), millis(40));
}

#[test]
fn what_is_older_than_half_a_minute_is_forgotten() {
    let now = start();
    let hedges = median(now);
    record(&hedges, Outcome::Success, 1_000, millis(500));
    assert_about(hedges.delay(now), millis(500));
    for second in 1..=10 {
        record(&hedges, Outcome::Success, 1, millis(10));
        assert_about(hedges.delay(now + second * SECOND), millis(500));
    }
    for second in 11..=34 {
        record(&hedges, Outcome::Success, 1, millis(10));
        assert!(hedges.delay(now + second * SECOND).is_some());
    }
    assert_about(hedges.delay(now + 35 * SECOND), millis(10));
    assert_eq!(hedges.delay(now + 120 * SECOND), None, "nothing has ended since");
}

#[test]
fn a_clock_that_goes_back_or_far_ahead_breaks_nothing() {
    let before = start();
    let now = before + 1_000 * SECOND;
    let hedges = median(now);
    record(&hedges, Outcome::Success, 10, millis(10));
    assert_about(hedges.delay(before), millis(10));
    assert_about(hedges.delay(now + millis(99)), millis(10));
    let far = now + Duration::from_secs(100 * 365 * 24 * 3_600);
    assert_eq!(hedges.delay(far), None);
    record(&hedges, Outcome::Success, 10, Duration::MAX);
    assert!(hedges.delay(far + SECOND).is_some(), "the longest there is");
}
