//! How long a circuit stays open, and which configurations there are.

use std::time::Duration;

use crate::support::clock::Clock;
use poise::core::{Now, Outcome};
use poise::health::{CircuitConfig, CircuitConfigError, CircuitState, PassiveHealth};

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn new(failures: u32, open_for: Duration) -> CircuitConfig {
    CircuitConfig::new(failures, open_for).unwrap()
}

/// Lets a circuit fail each time that it is asked, and returns the cooldowns.
fn cooldowns(circuit: &PassiveHealth, outcome: Outcome, count: usize) -> Vec<Duration> {
    let clock = Clock::new();
    let mut now = clock.instant(Duration::ZERO);
    let next = |_| {
        let at = Now::at(now);
        circuit.try_acquire(&at).expect("the cooldown is over").complete(outcome, &at);
        let CircuitState::Open { until: Some(until) } = circuit.state(&at) else {
            panic!("a failure opens the circuit")
        };
        let cooldown = until - now;
        now = until;
        cooldown
    };
    (0..count).map(next).collect()
}

#[test]
fn growth_doubles_to_its_maximum_and_starts_anew_after_closing() {
    let config = new(1, secs(1)).with_growth(secs(10)).unwrap();
    let circuit = PassiveHealth::new(config);
    let expected = [1, 2, 4, 8, 10, 10].map(secs);
    assert_eq!(cooldowns(&circuit, Outcome::Failure, 6), expected);

    circuit.force_close();
    circuit.lift();
    assert_eq!(cooldowns(&circuit, Outcome::Failure, 2), [1, 2].map(secs));
}

#[test]
fn a_probe_that_succeeds_starts_the_growth_anew() {
    let clock = Clock::new();
    let circuit = PassiveHealth::new(new(1, secs(1)).with_growth(secs(10)).unwrap());
    for (second, outcome) in
        [(0, Outcome::Failure), (1, Outcome::Failure), (3, Outcome::Success), (3, Outcome::Failure)]
    {
        let now = clock.at(secs(second));
        circuit.try_acquire(&now).unwrap().complete(outcome, &now);
    }
    assert_eq!(circuit.state(&clock.at(secs(3))), CircuitState::Open { until: Some(clock.instant(secs(4))) });
}

#[test]
fn jitter_deviates_to_both_sides_and_no_further_than_its_fraction() {
    let config = new(1, secs(10)).with_jitter(0.2).unwrap().with_seed(7);
    let drawn = cooldowns(&PassiveHealth::new(config), Outcome::Failure, 1_000);
    assert!(drawn.iter().all(|cooldown| (secs(8)..=secs(12)).contains(cooldown)));
    let (low, high) = (drawn.iter().min().unwrap(), drawn.iter().max().unwrap());
    assert!(*low < Duration::from_millis(8_050) && *high > Duration::from_millis(11_950));
    let mean = drawn.iter().sum::<Duration>() / 1_000;
    assert!(mean.abs_diff(secs(10)) < Duration::from_millis(150), "mean {mean:?}, standard error 37 ms");
}

#[test]
fn jitter_never_exceeds_the_cap_and_does_not_pile_up_on_it() {
    let cap = secs(10);
    let config =
        new(1, cap).with_growth(cap).and_then(|config| config.with_jitter(0.5)).unwrap().with_seed(7);
    let drawn = cooldowns(&PassiveHealth::new(config), Outcome::Failure, 1_000);
    assert!(drawn.iter().all(|cooldown| (secs(5)..=cap).contains(cooldown)));
    assert!(drawn.iter().filter(|cooldown| **cooldown > Duration::from_millis(9_900)).count() < 60);
}

#[test]
fn full_jitter_leaves_a_cooldown() {
    let config = new(1, Duration::from_nanos(1)).with_jitter(1.0).unwrap().with_seed(1);
    let drawn = cooldowns(&PassiveHealth::new(config), Outcome::Failure, 100);
    assert!(drawn.iter().all(|cooldown| !cooldown.is_zero()));
}

#[test]
fn the_same_seed_draws_the_same_cooldowns_and_another_seed_others() {
    let drawn = |seed| {
        let config = new(1, secs(10)).with_jitter(0.2).unwrap().with_seed(seed);
        cooldowns(&PassiveHealth::new(config), Outcome::Failure, 20)
    };
    assert_eq!(drawn(1), drawn(1));
    assert_ne!(drawn(1), drawn(2));
}

#[test]
fn retry_after_extends_a_cooldown_up_to_the_cap_and_never_shortens_it() {
    let overload = |wait| Outcome::Overload { retry_after: Some(secs(wait)) };
    let cooldown =
        |config: &CircuitConfig, wait| cooldowns(&PassiveHealth::new(config.clone()), overload(wait), 1)[0];
    let growing = new(1, secs(2)).with_growth(secs(10)).unwrap();
    assert_eq!([1, 5, 60].map(|wait| cooldown(&growing, wait)), [2, 5, 10].map(secs));
    let constant = new(1, secs(2));
    assert_eq!(cooldown(&constant, 60), secs(2), "without growth the cooldown is constant");
}

#[test]
fn every_value_out_of_range_is_an_error_of_its_own() {
    use CircuitConfigError as Error;
    assert_eq!(CircuitConfig::new(0, secs(1)), Err(Error::ZeroFailures));
    assert_eq!(CircuitConfig::new(65_536, secs(1)), Err(Error::TooManyFailures));
    assert_eq!(CircuitConfig::new(1, Duration::ZERO), Err(Error::ZeroOpenFor));
    let good = || new(65_535, secs(2));
    assert_eq!(good().with_growth(secs(1)), Err(Error::GrowthBelowOpenFor));
    for fraction in [-0.1, 1.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(good().with_jitter(fraction), Err(Error::InvalidJitter));
    }
    assert_eq!(good().with_successes_to_close(0), Err(Error::ZeroSuccesses));
    assert_eq!(good().with_half_open_permits(0), Err(Error::ZeroPermits));
    assert_eq!(good().with_half_open_permits(65_536), Err(Error::TooManyPermits));
    assert_eq!(good().with_half_open_deadline(Duration::ZERO), Err(Error::ZeroHalfOpenDeadline));
}

#[test]
fn defaults_are_as_documented() {
    let config = new(3, secs(1));
    assert_eq!((config.growth(), config.seed()), (None, None));
    assert!(config.jitter().abs() < f64::EPSILON);
    assert_eq!((config.successes_to_close(), config.half_open_permits()), (1, 1));
    assert_eq!(config.half_open_deadline(), secs(30));
    assert_eq!(new(3, secs(300)).half_open_deadline(), secs(300));
}

#[test]
fn the_largest_threshold_is_counted_exactly() {
    let now = Clock::new().at(Duration::ZERO);
    let circuit = PassiveHealth::new(new(65_535, secs(1)));
    for _ in 1..65_535 {
        circuit.try_acquire(&now).unwrap().complete(Outcome::Failure, &now);
    }
    assert_eq!(circuit.state(&now), CircuitState::Closed { failures: 65_534 });
    circuit.try_acquire(&now).unwrap().complete(Outcome::Failure, &now);
    assert_eq!(circuit.trips(), 1);
}
