//! Time in the system of the supermarket model, and balls in bins, against theory.

use poise::core::policy::{PowerOfTwoChoices, Random};
use poise::core::{Backend, InFlight, Policy};

use crate::scenes::balls;
use crate::scenes::supermarket::{SERVERS, scenario, theory};
use crate::sim::Report;

/// How far from the theory a mean may be.
const TOLERANCE: f64 = 0.03;
/// The standard error of a mean, relative to it: a quarter of the tolerance, so that a right simulator fails by chance for
/// one seed in 16,000.
const PRECISION: f64 = TOLERANCE / 4.0;
/// How far an error that is itself estimated, from `BATCHES` means, may lie above the true one: three sigma.
const SLACK: f64 = 1.5;
const BATCHES: usize = 20;

fn simulate(seed: u64, load: f64, warm_up: f64, units: f64, policy: &impl Policy<Queue, u64>) -> Report {
    scenario(seed, load, warm_up, units).run(policy, |_| InFlight::new())
}

type Queue = Backend<usize, (), InFlight>;

fn assert_mean(report: &Report, load: f64, expected: f64) {
    let (mean, error) = (report.mean(), standard_error(&report.batch_means(BATCHES)));
    println!(
        "load {load}: {mean:.4} of {expected:.4} ({:+.2} %), standard error {:.2} %, {} requests",
        (mean / expected - 1.0) * 100.0,
        error / mean * 100.0,
        report.requests()
    );
    assert_eq!(report.answered(), report.requests());
    assert!(
        error <= PRECISION * SLACK * mean,
        "load {load}: the sample is too small to tell, {error} of {mean}"
    );
    assert!((mean / expected - 1.0).abs() <= TOLERANCE, "load {load}: {mean} instead of {expected}");
}

fn standard_error(batches: &[f64]) -> f64 {
    let count = batches.len() as f64;
    let mean = batches.iter().sum::<f64>() / count;
    let squares: f64 = batches.iter().map(|batch| (batch - mean).powi(2)).sum();
    (squares / (count - 1.0) / count).sqrt()
}

/// M/M/1 remembers for `1 / (1 - sqrt(l))^2`. The mean of its length over a time `t` has the variance
/// `2 l (1 + l) / (1 - l)^4 / t`; so many servers and this time make that `PRECISION` of the mean `l / (1 - l)`.
#[test]
fn one_choice_is_as_good_as_a_queue_for_each_server() {
    for load in [0.5, 0.7, 0.9_f64] {
        let memory = (1.0 - load.sqrt()).powi(-2);
        let variance = 2.0 * (1.0 + load) / (load * (1.0 - load).powi(2));
        let units = variance / SERVERS as f64 / PRECISION.powi(2);
        let report = simulate(11, load, 5.0 * memory, units, &Random::seeded(12));
        assert_mean(&report, load, theory(load, 1));
    }
}

/// Two choices forget sooner than one by far; that this is long enough is what the standard errors show.
#[test]
fn two_choices_are_as_good_as_the_theory_says() {
    for load in [0.5, 0.7, 0.9, 0.95] {
        let report = simulate(21, load, 200.0, 2_000.0, &PowerOfTwoChoices::seeded(22));
        assert_mean(&report, load, theory(load, 2));
    }
    assert!((theory(0.9, 2) - 2.61).abs() < 0.01, "the figure of the paper");
}

#[test]
fn of_a_million_balls_in_as_many_bins_two_choices_put_at_most_five_in_one() {
    for seed in [1, 2, 3] {
        assert!(
            balls::fullest(1_000_000, &PowerOfTwoChoices::seeded(seed), |_| InFlight::new()) <= 5,
            "seed {seed}"
        );
    }
    assert!(
        balls::fullest(1_000_000, &PowerOfTwoChoices::seeded(1).choices(1), |_| InFlight::new()) >= 7,
        "one choice does not"
    );
}
