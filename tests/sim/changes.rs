//! Servers that join, and servers that are restarted.

use std::time::Duration;

use crate::scenes::{SECOND, newcomer, restart};
use crate::sim::Stack;

const SEEDS: [u64; 3] = [1, 2, 3];

#[test]
fn a_newcomer_is_neither_starved_nor_flooded() {
    let fair = 1.0 / newcomer::SERVERS as f64;
    for (stack, seed) in Stack::all().into_iter().flat_map(|stack| SEEDS.map(|seed| (stack, seed))) {
        let report = stack.run(&newcomer::scenario(seed, Duration::ZERO), &newcomer::setup(seed));
        let first =
            report.first[newcomer::NEWCOMER].expect("it gets a request").saturating_sub(newcomer::JOINS);
        let share = report.share_between(newcomer::NEWCOMER, newcomer::JOINS, newcomer::JOINS + SECOND);
        println!("{}, seed {seed}: first after {first:?}, share {share:.3}", stack.name());
        assert!(first <= SECOND, "{}, seed {seed}: {first:?}", stack.name());
        assert!(share <= 2.0 * fair, "{}, seed {seed}: {share}", stack.name());
    }
}

#[test]
fn a_newcomer_that_is_slow_at_first_harms_nobody_that_looks_at_latency() {
    for seed in SEEDS {
        let tail = |cold| {
            let scenario = newcomer::scenario(seed, cold);
            Stack::Default.run(&scenario, &newcomer::setup(seed)).quantile(0.999).as_secs_f64()
        };
        let (warm, cold) = (tail(Duration::ZERO), tail(5 * SECOND));
        println!("seed {seed}: p99.9 {warm:.3} s, {cold:.3} s beside a cold one");
        assert!(cold <= 1.5 * warm, "seed {seed}: {cold} against {warm}");
    }
}

#[test]
fn slow_start_keeps_requests_from_a_newcomer_that_is_slow_at_first() {
    for seed in SEEDS {
        let share = |stack: Stack| {
            let report = stack.run(&newcomer::scenario(seed, 5 * SECOND), &newcomer::setup(seed));
            report.share_between(newcomer::NEWCOMER, newcomer::JOINS, newcomer::JOINS + 5 * SECOND)
        };
        let (with, without) = (share(Stack::SlowStart), share(Stack::Default));
        println!("seed {seed}: {with:.4} of the requests, {without:.4} without it");
        assert!(with > 0.0 && with <= 0.75 * without, "seed {seed}: {with} against {without}");
    }
}

#[test]
fn a_rolling_restart_costs_no_request_and_few_retries() {
    for (seed, announced) in SEEDS.into_iter().flat_map(|seed| [(seed, true), (seed, false)]) {
        let report = Stack::Default.run(&restart::scenario(seed, announced), &restart::setup(seed));
        println!("seed {seed}, announced {announced}: {:.4} attempts per request", report.amplification());
        assert_eq!(report.errors(), 0, "seed {seed}, announced {announced}");
        let most = if announced { 1.0 } else { 1.01 };
        assert!(report.amplification() <= most, "seed {seed}: {}", report.amplification());
    }
}
