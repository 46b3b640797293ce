//! What a window of outcomes counts, and for how long.

use std::sync::Arc;
use std::time::Duration;

use crate::support::clock::Clock;
use poise::core::{InFlight, LoadMetric, LoadTracker, Now, Outcome, PeakEwma, Tracked};
use poise::health::{
    OutcomeCounts, OutcomeWindow, PenaltyConfig, PenaltyConfigError, PenaltyScore, WindowConfig,
    WindowConfigError,
};

const SLICES: i64 = 16;
/// A sixteenth of the default age. Times that differ by so much lie in slices that follow each other, wherever slices begin.
const SLICE: Duration = Duration::from_millis(625);

fn window(count: u32) -> OutcomeWindow {
    OutcomeWindow::new(WindowConfig::default().with_count(count).unwrap())
}

fn record(window: &OutcomeWindow, outcome: Outcome, times: u32, now: &Now) {
    for _ in 0..times {
        window.record(outcome, now);
    }
}

/// Keeps every outcome with the slice in which it happened.
#[derive(Default)]
struct Model(Vec<(i64, Outcome)>);

impl Model {
    fn record(&mut self, outcome: Outcome, slice: i64) {
        if outcome != Outcome::Cancelled {
            // A time that comes again takes the place of what was recorded as sixteen slices from it.
            self.0.retain(|(other, _)| *other == slice || (other - slice).rem_euclid(SLICES) != 0);
            self.0.push((slice, outcome));
        }
    }

    fn counts(&self, slice: i64, cap: f64) -> OutcomeCounts {
        let within = |age: i64| self.0.iter().filter(move |(other, _)| *other == slice - age);
        (0..SLICES).map(|age| capped(within(age).map(|(_, outcome)| *outcome).collect(), cap)).sum_up()
    }
}

trait SumUp {
    fn sum_up(self) -> OutcomeCounts;
}

impl<I: Iterator<Item = OutcomeCounts>> SumUp for I {
    fn sum_up(self) -> OutcomeCounts {
        self.fold(OutcomeCounts::default(), |sum, counts| sum + counts)
    }
}

fn capped(counts: OutcomeCounts, cap: f64) -> OutcomeCounts {
    let total = counts.total() as f64;
    if total <= cap {
        return counts;
    }
    let errors = (counts.errors() as f64 * cap / total + 0.5).floor();
    let overloads = if errors == 0.0 {
        0.0
    } else {
        (counts.overloads() as f64 * errors / counts.errors() as f64 + 0.5).floor()
    };
    let whole = |number: f64| format!("{number:.0}").parse::<u64>().unwrap();
    OutcomeCounts::new(whole(cap - errors), whole(errors - overloads), whole(overloads))
}

#[test]
fn the_window_agrees_with_its_model() {
    fn property(count: u8, events: Vec<(u8, u8)>) -> bool {
        let count = 16 + u32::from(count) / 2;
        let (clock, window, mut model) = (Clock::new(), window(count), Model::default());
        let (mut slice, cap) = (0_i64, f64::from(count / 16));
        for (kind, detail) in events {
            let outcome = [Outcome::Success, Outcome::Failure, Outcome::OVERLOAD, Outcome::Cancelled];
            match kind % 8 {
                0 => slice += i64::from(detail % 4),
                1 => slice += i64::from(detail) / 4,
                2 => slice -= i64::from(detail % 24),
                _ => {
                    for _ in 0..=detail % 16 {
                        let outcome = outcome[usize::from(kind / 8 % 4)];
                        window.record(outcome, &at(clock, slice));
                        model.record(outcome, slice);
                    }
                }
            }
            assert_eq!(window.counts(&at(clock, slice)), model.counts(slice, cap));
        }
        true
    }
    quickcheck::QuickCheck::new().tests(1_000).quickcheck(property as fn(u8, Vec<(u8, u8)>) -> bool);
}

fn at(clock: Clock, slice: i64) -> Now {
    let distance = SLICE * u32::try_from(slice.unsigned_abs()).unwrap();
    let start = clock.instant(Duration::ZERO);
    Now::at(if slice < 0 { start.checked_sub(distance).unwrap() } else { start + distance })
}

#[test]
fn an_outcome_counts_until_its_age_is_over() {
    let clock = Clock::new();
    let window = OutcomeWindow::default();
    window.record(Outcome::Failure, &clock.at(Duration::ZERO));
    let nearly = SLICE * 15;
    assert_eq!(window.counts(&clock.at(nearly)).failures(), 1);
    assert_eq!(window.counts(&clock.at(Duration::from_secs(10))).failures(), 0);
}

#[test]
fn cancellation_is_never_backend_failure() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    let score = PenaltyScore::new(Arc::default(), PenaltyConfig::default().with_min_samples(0));
    let load = score.over(InFlight::new());
    for _ in 0..1_000 {
        Tracked::start(&load, &now).unwrap().complete(Outcome::Cancelled, &now);
        drop(Tracked::start(&load, &now).unwrap());
    }
    assert_eq!(load.score().window().counts(&now), OutcomeCounts::default());
    assert!(load.score().score(&now).abs() < f64::EPSILON);
}

#[test]
fn the_same_course_of_errors_gives_the_same_picture_at_any_rate() {
    // Twenty seconds without errors, three with every other request failing, two without.
    let errs = |millis: u64| (20_000..23_000).contains(&millis);
    let shares: Vec<f64> = [10, 100, 1_000, 6_000].map(|rate: u64| share_of_errors(rate, errs)).into();
    for share in &shares {
        assert!((share - 0.15).abs() < 0.02, "{shares:?}: three of ten seconds, and half of the requests");
    }
}

fn share_of_errors(rate: u64, errs: impl Fn(u64) -> bool) -> f64 {
    let clock = Clock::new();
    let window = OutcomeWindow::default();
    for nth in 0..25 * rate {
        let millis = nth * 1_000 / rate;
        let outcome = if errs(millis) && nth % 2 == 0 { Outcome::Failure } else { Outcome::Success };
        window.record(outcome, &clock.at(Duration::from_millis(millis)));
    }
    let counts = window.counts(&clock.at(Duration::from_secs(25)));
    counts.errors() as f64 / counts.total() as f64
}

#[test]
fn a_burst_in_one_slice_does_not_outvote_the_others() {
    let clock = Clock::new();
    let window = window(160);
    for slice in 0..15 {
        record(&window, Outcome::Success, 10, &at(clock, slice));
    }
    record(&window, Outcome::Failure, 100_000, &at(clock, 15));
    let counts = window.counts(&at(clock, 15));
    assert_eq!(counts, OutcomeCounts::new(150, 10, 0), "a sixteenth of the time is a sixteenth of the count");
}

#[test]
fn the_mixture_survives_any_number_of_outcomes() {
    let now = Clock::new().at(Duration::ZERO);
    let window = OutcomeWindow::default();
    for _ in 0..20_000 {
        record(&window, Outcome::Success, 7, &now);
        record(&window, Outcome::Failure, 2, &now);
        record(&window, Outcome::OVERLOAD, 1, &now);
    }
    let counts = window.counts(&now);
    assert_eq!(counts.total(), 1_000);
    assert!(counts.failures().abs_diff(200) <= 2 && counts.overloads().abs_diff(100) <= 2, "{counts:?}");
}

#[test]
fn extreme_ages_and_times_count_as_well_as_others() {
    let clock = Clock::new();
    let window = OutcomeWindow::new(WindowConfig::default().with_age(Duration::MAX).unwrap());
    window.record(Outcome::Success, &clock.at(Duration::ZERO));
    window.record(Outcome::Failure, &clock.at(Duration::from_secs(1 << 32)));
    assert_eq!(window.counts(&clock.at(Duration::from_secs(1 << 32))).total(), 2);
    window.clear();
    assert_eq!(window.counts(&clock.at(Duration::ZERO)), OutcomeCounts::default());

    let shortest = OutcomeWindow::new(WindowConfig::default().with_age(WindowConfig::MIN_AGE).unwrap());
    shortest.record(Outcome::Success, &clock.at(Duration::ZERO));
    assert_eq!(shortest.counts(&clock.at(Duration::from_millis(15))).total(), 1);
    assert_eq!(shortest.counts(&clock.at(Duration::from_millis(16))).total(), 0);
}

#[test]
fn bounds_out_of_range_are_typed_errors() {
    let config = WindowConfig::default();
    for age in [Duration::ZERO, Duration::from_micros(15_999)] {
        assert_eq!(config.with_age(age), Err(WindowConfigError::AgeTooShort));
    }
    assert_eq!(config.with_count(15), Err(WindowConfigError::CountTooSmall));
    assert_eq!(config.with_count(WindowConfig::MAX_COUNT + 1), Err(WindowConfigError::CountTooLarge));
    assert!(config.with_count(16).is_ok() && config.with_count(WindowConfig::MAX_COUNT).is_ok());
    for charge in [-0.1, f64::NAN, f64::INFINITY] {
        let config = PenaltyConfig::default();
        assert_eq!(config.with_failure(charge), Err(PenaltyConfigError::InvalidCharge));
        assert_eq!(config.with_overload(charge), Err(PenaltyConfigError::InvalidCharge));
    }
}

// --- penalties ---

#[test]
fn overload_can_weigh_more_than_failure() {
    let now = Clock::new().at(Duration::ZERO);
    let config = PenaltyConfig::default().with_failure(1.0).unwrap().with_overload(3.0).unwrap();
    let [failing, overloaded] = [Outcome::Failure, Outcome::OVERLOAD].map(|outcome| {
        let score = PenaltyScore::new(Arc::default(), config);
        record(score.window(), outcome, 30, &now);
        record(score.window(), Outcome::Success, 90, &now);
        score.measure(&now)
    });
    assert!((failing - 0.25).abs() < 1e-9 && (overloaded - 0.75).abs() < 1e-9, "{failing}, {overloaded}");
}

#[test]
fn nothing_is_charged_below_the_fewest_samples() {
    let now = Clock::new().at(Duration::ZERO);
    let score = PenaltyScore::new(Arc::default(), PenaltyConfig::default().with_min_samples(20));
    record(score.window(), Outcome::Failure, 19, &now);
    assert!(score.score(&now).abs() < f64::EPSILON);
    score.responded((), Outcome::Failure, &now);
    assert!((score.score(&now) - 5.0).abs() < 1e-9);
}

#[test]
fn a_penalty_multiplies_a_latency_and_ends_with_the_window() {
    let clock = Clock::new();
    let now = clock.at(Duration::ZERO);
    let make = || PenaltyScore::new(Arc::default(), PenaltyConfig::default()).over(PeakEwma::new_at(&now));
    let (good, bad) = (make(), make());
    for _ in 0..100 {
        good.score().window().record(Outcome::Success, &now);
        bad.score().window().record(Outcome::Failure, &now);
    }
    let ratio = |now: &Now| bad.measure(now) / good.measure(now);
    assert!((ratio(&now) - 6.0).abs() < 1e-9);
    assert!((ratio(&clock.at(Duration::from_secs(11))) - 1.0).abs() < 1e-9);
}

#[test]
fn a_penalised_limit_is_still_a_limit() {
    let now = Clock::new().at(Duration::ZERO);
    let load =
        PenaltyScore::new(Arc::default(), PenaltyConfig::default()).over(InFlight::with_limit(1).unwrap());
    assert!(load.has_limit() && !load.is_full());
    let held = Tracked::start(&load, &now).unwrap();
    assert!(load.is_full() && Tracked::start(&load, &now).is_err());
    drop(held);
    assert!(!load.is_full());
}
