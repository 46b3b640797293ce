//! How many retries a budget grants.

use std::time::{Duration, Instant};

use poise::core::Now;
use poise::tower::{Retry, RetryBudget, RetryError};

fn budget(ratio: f64) -> RetryBudget {
    RetryBudget::new().with_ratio(ratio).unwrap().with_floor(0)
}

fn start() -> Instant {
    Now::lazy().instant()
}

/// Withdraws until nothing is left.
fn granted(budget: &mut RetryBudget, now: Instant) -> u32 {
    let mut granted = 0;
    while budget.try_withdraw(now) {
        granted += 1;
    }
    granted
}

#[test]
fn a_ratio_is_exact_however_it_is_written() {
    let now = start();
    for (ratio, expected) in
        [(0.6, 600), (0.7, 700), (0.15, 150), (0.2, 200), (0.0, 0), (1.0, 1_000), (0.001, 1), (2.5, 2_500)]
    {
        let mut at_once = budget(ratio);
        at_once.deposit(1_000, now);
        assert_eq!(granted(&mut at_once, now), expected, "ratio {ratio}");

        let mut one_by_one = budget(ratio);
        let mut total = 0;
        for _ in 0..1_000 {
            one_by_one.deposit(1, now);
            total += granted(&mut one_by_one, now);
        }
        assert_eq!(total, expected, "ratio {ratio}, withdrawn as early as may be");
    }
}

#[test]
fn parts_of_a_token_never_round_up() {
    let now = start();
    let mut budget = budget(1.0 / 3.0);
    budget.deposit(3, now);
    assert_eq!(granted(&mut budget, now), 0, "0.999999 of a token are none");
    budget.deposit(1, now);
    assert_eq!(granted(&mut budget, now), 1);
}

#[test]
fn deposits_and_withdrawals_are_forgotten_after_the_window() {
    let start = start();
    let at = |millis| start + Duration::from_millis(millis);
    let mut budget = budget(0.5);
    budget.deposit(10, at(0));
    assert_eq!(granted(&mut budget.clone(), at(9_999)), 5, "they still count");
    assert_eq!(granted(&mut budget.clone(), at(10_000)), 0, "they do not");
    assert_eq!(granted(&mut budget.clone(), at(1_000_000)), 0);

    assert_eq!(granted(&mut budget, at(0)), 5);
    budget.deposit(2, at(9_000));
    assert_eq!(granted(&mut budget, at(9_000)), 1);
    budget.deposit(2, at(10_000));
    assert_eq!(granted(&mut budget, at(10_000)), 1, "what is forgotten is owed no more");
}

#[test]
fn the_floor_needs_no_deposit() {
    let start = start();
    let mut budget = RetryBudget::new().with_ratio(0.0).unwrap().with_floor(3);
    for window in 0..3 {
        let now = start + Duration::from_secs(10) * window;
        assert_eq!(granted(&mut budget, now), 30, "three a second, for ten seconds");
    }
    let now = start + Duration::from_secs(20);
    let mut default = RetryBudget::new();
    assert_eq!(granted(&mut default, now), 100, "ten a second");
    default.deposit(1_000, now);
    assert_eq!(granted(&mut default, now), 200, "and a fifth of the requests");
}

#[test]
fn a_clock_that_goes_back_grants_nothing_twice() {
    let start = start();
    let mut budget = budget(1.0);
    budget.deposit(5, start + Duration::from_secs(20));
    assert_eq!(granted(&mut budget, start), 5);
    assert_eq!(granted(&mut budget, start + Duration::from_secs(20)), 0);
}

#[test]
fn extremes_neither_overflow_nor_panic() {
    let start = start();
    let now = start;
    let mut budget = RetryBudget::new().with_ratio(1_000.0).unwrap().with_floor(u32::MAX);
    for _ in 0..3 {
        budget.deposit(u64::MAX, now);
    }
    assert!(budget.try_withdraw(now));
}

#[test]
fn what_makes_no_sense_is_refused() {
    for ratio in [-0.1, 1_000.1, f64::NAN, f64::INFINITY] {
        assert_eq!(RetryBudget::new().with_ratio(ratio).unwrap_err(), RetryError::Ratio);
    }
    assert_eq!(Retry::attempts(0).unwrap_err(), RetryError::NoAttempts);
}
