//! Servers that fail at once or hang do not attract traffic, by the load alone, without circuits.

use std::time::Duration;

use poise::core::PeakEwma;
use poise::core::policy::PowerOfTwoChoices;

use crate::scenes::{SECOND, hung, sinkhole};
use crate::sim::{Clients, Fault, Probing, Report, Scenario, Server, Setup, Stack, Work};

const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];
const FAULTY: usize = 2;

/// Five servers that take `latency` for whatever they get, at this rate for a time.
fn five(seed: u64, latency: Duration, per_second: f64, duration: Duration) -> Scenario {
    Scenario::new(seed, Clients::Poisson { per_second }, duration)
        .servers(5, Server::delay(Work::Constant(latency)))
}

fn run(scenario: &Scenario, seed: u64) -> Report {
    scenario.run(&PowerOfTwoChoices::seeded(seed), PeakEwma::new_at)
}

#[test]
fn a_server_that_fails_at_once_gets_no_more_than_its_share() {
    for seed in SEEDS {
        let scenario = five(seed, Duration::from_millis(20), 500.0, Duration::from_secs(10))
            .fault(Fault::fails(FAULTY, 1.0, Duration::from_millis(1)));
        let report = run(&scenario, seed);
        let share = report.share_of(FAULTY);
        println!("seed {seed}: {:.2} % of {} requests", share * 100.0, report.requests());
        assert!(report.failed > 0, "seed {seed}: it was tried");
        assert!(share <= 0.2, "seed {seed}: {share}");
    }
}

#[test]
fn a_server_that_seldom_fails_keeps_its_share() {
    for seed in SEEDS {
        let scenario = five(seed, Duration::from_millis(20), 500.0, Duration::from_secs(60))
            .fault(Fault::fails(FAULTY, 0.01, Duration::from_millis(20)));
        let share = run(&scenario, seed).share_of(FAULTY);
        println!("seed {seed}: {:.2} %", share * 100.0);
        assert!((0.15..=0.21).contains(&share), "seed {seed}: {share} of a fair share of 0.2");
    }
}

/// Those that look at how long answers take, or ask.
fn attentive() -> [Stack; 3] {
    [Stack::TwoByLatency, Stack::Default, Stack::Prequal(Probing::new())]
}

#[test]
fn a_server_that_hangs_keeps_few_callers_that_wait_for_ever() {
    for (stack, seed) in attentive().into_iter().flat_map(|stack| SEEDS.map(|seed| (stack, seed))) {
        let report = stack.run(&hung::without_timeouts(seed), &Setup::new(seed));
        println!("{}, seed {seed}: {} of {} stuck", stack.name(), report.stuck, report.requests());
        assert!(report.stuck > 0, "seed {seed}: it had something to do when it stopped");
        assert!(report.stuck <= 20, "{}, seed {seed}: {} callers wait", stack.name(), report.stuck);
    }
}

#[test]
fn a_server_that_hangs_loses_few_callers_that_give_up() {
    for (stack, seed) in attentive().into_iter().flat_map(|stack| SEEDS.map(|seed| (stack, seed))) {
        let report = stack.run(&hung::with_timeouts(seed), &Setup::new(seed));
        println!("{}, seed {seed}: {} of {} lost", stack.name(), report.given_up, report.requests());
        assert!(report.given_up > 0, "seed {seed}: it had something to do when it stopped");
        // In 90 seconds: about one a second, as the estimate fades and the server is tried again.
        assert!(
            report.given_up <= 120,
            "{}, seed {seed}: {} requests were lost",
            stack.name(),
            report.given_up
        );
    }
}

#[test]
fn a_server_that_fails_at_once_gets_next_to_nothing_after_a_second() {
    for (stack, seed) in attentive().into_iter().flat_map(|stack| SEEDS.map(|seed| (stack, seed))) {
        let report = stack.run(&sinkhole::scenario(seed), &sinkhole::setup(seed));
        let share = report.share_between(sinkhole::BROKEN, sinkhole::FROM + SECOND, 20 * SECOND);
        println!("{}, seed {seed}: {:.3} % after a second", stack.name(), share * 100.0);
        assert!(share < 0.01, "{}, seed {seed}: {share}", stack.name());
    }
    for seed in SEEDS {
        let report = Stack::Ejector.run(&sinkhole::scenario(seed), &sinkhole::setup(seed));
        // It sweeps every two seconds, and a sweep must have seen enough failures.
        let share = report.share_between(sinkhole::BROKEN, sinkhole::FROM + 4 * SECOND, 20 * SECOND);
        assert!(share < 0.01, "an ejector, seed {seed}: {share}");
    }
    let greedy = Stack::LeastLoaded.run(&sinkhole::scenario(1), &sinkhole::setup(1));
    assert!(greedy.share_of(sinkhole::BROKEN) > 0.15, "whoever counts requests alone is drawn to it");
}
