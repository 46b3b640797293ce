//! What the guide computes is what the machines do.

use std::time::Duration;

use crate::support::clock::Clock;
use poise::core::Outcome;
use poise::health::guide::{self, Traffic, TrafficError};
use poise::health::{
    ActiveHealth, ActiveHealthConfig, CircuitConfig, CircuitTicket, Completion, PassiveHealth, ProbeOutcome,
    ProbeReservation, ProbeState,
};

const SECOND: Duration = Duration::from_secs(1);
const MILLI: Duration = Duration::from_millis(1);

fn circuit(failures: u32, open_for: Duration) -> CircuitConfig {
    CircuitConfig::new(failures, open_for).unwrap()
}

fn traffic(rate: f64, failures: f64) -> Traffic {
    Traffic::new(rate, failures).unwrap()
}

// --- circuits ---

/// Sends requests at even distances until the circuit opens, and returns when the last of them was answered.
fn trip(config: &CircuitConfig, traffic: &Traffic, random: &mut fastrand::Rng) -> Duration {
    let clock = Clock::new();
    let circuit = PassiveHealth::new(config.clone());
    let gap = Duration::from_secs_f64(traffic.rate().recip());
    for request in 1.. {
        let sent = gap * request;
        let ticket = circuit.admit(&clock.at(sent)).expect("it is closed");
        let failed = random.f64() < traffic.failures();
        let outcome = if failed { Outcome::Failure } else { Outcome::Success };
        let answered = sent + traffic.answer_time();
        if circuit.settle(ticket, outcome, &clock.at(answered)) == Completion::Tripped {
            return answered;
        }
    }
    unreachable!("requests never end")
}

#[test]
fn a_circuit_opens_after_the_time_that_the_guide_computes_on_average() {
    let mut random = fastrand::Rng::with_seed(11);
    for (failures, rate, share) in [(1, 1.0, 0.1), (3, 50.0, 0.5), (5, 100.0, 0.7), (2, 0.2, 0.3)] {
        let config = circuit(failures, SECOND);
        let traffic = traffic(rate, share).with_answer_time(MILLI * 40);
        let runs = 4_000;
        let times: Vec<f64> = (0..runs).map(|_| trip(&config, &traffic, &mut random).as_secs_f64()).collect();
        let mean = times.iter().sum::<f64>() / f64::from(runs);
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / f64::from(runs);
        let expected = guide::circuit(&config, &traffic).detection.unwrap().as_secs_f64();
        let error = (variance / f64::from(runs)).sqrt();
        assert!((mean - expected).abs() < 4.0 * error, "{failures} at {share}: {mean}, not {expected}");
    }
}

#[test]
fn a_circuit_opens_exactly_then_where_everything_fails() {
    let (config, traffic) = (circuit(5, SECOND), traffic(100.0, 1.0).with_answer_time(MILLI * 50));
    let measured = trip(&config, &traffic, &mut fastrand::Rng::with_seed(1));
    assert_eq!(Some(measured), guide::circuit(&config, &traffic).detection);
    assert_eq!(measured, MILLI * 100);
}

/// Sends requests at even distances to an endpoint that was down and is well after `down`, and returns how long after
/// that the circuit closes.
fn close(config: &CircuitConfig, gap: Duration, answer_time: Duration, down: Duration) -> Duration {
    let clock = Clock::new();
    let circuit = PassiveHealth::new(config.clone());
    let mut under_way: Vec<(Duration, CircuitTicket, Outcome)> = Vec::new();
    let mut trips = 0;
    for request in 1_u32.. {
        let sent = gap * request;
        while let Some((answered, ..)) = under_way.first().filter(|(answered, ..)| *answered <= sent) {
            let answered = *answered;
            let (_, ticket, outcome) = under_way.remove(0);
            match circuit.settle(ticket, outcome, &clock.at(answered)) {
                Completion::Closed => return answered.saturating_sub(down),
                Completion::Tripped => trips += 1,
                _ => {}
            }
        }
        if let Ok(ticket) = circuit.admit(&clock.at(sent)) {
            let outcome = if sent < down { Outcome::Failure } else { Outcome::Success };
            under_way.push((sent + answer_time, ticket, outcome));
        }
        assert!(request < 1_000_000, "after {trips} trips it closes");
    }
    unreachable!("requests never end")
}

#[test]
fn a_circuit_closes_within_the_time_that_the_guide_computes_and_not_much_sooner_at_worst() {
    let gap = MILLI * 20;
    let deadline = SECOND * 100;
    let constant = circuit(2, SECOND * 2).with_half_open_deadline(deadline).unwrap();
    let grown = constant.clone().with_growth(SECOND * 6).unwrap();
    let several = constant.clone().with_successes_to_close(4).unwrap().with_half_open_permits(2).unwrap();
    let one_by_one = constant.clone().with_successes_to_close(3).unwrap();
    for config in [constant, grown, several, one_by_one] {
        let answer_time = MILLI * 30;
        let traffic = traffic(50.0, 1.0).with_answer_time(answer_time);
        let bound = guide::circuit(&config, &traffic).recovery.unwrap();
        let measured = (0..800).map(|i| close(&config, gap, answer_time, SECOND * 20 + MILLI * 10 * i));
        let worst = measured.max().unwrap();
        assert!(worst <= bound, "{worst:?} is above {bound:?} for {config:?}");
        let slack = gap * 2 + answer_time * (config.successes_to_close() - 1);
        assert!(worst + slack >= bound, "{bound:?} says little of {worst:?} for {config:?}");
    }
}

#[test]
fn what_never_happens_takes_no_time_at_all() {
    let config = circuit(3, SECOND);
    assert_eq!(guide::circuit(&config, &traffic(100.0, 0.0)).detection, None, "nothing fails");
    let silent = guide::circuit(&config, &traffic(0.0, 1.0));
    assert_eq!((silent.detection, silent.recovery), (None, None), "nothing is asked");
    let rare = guide::circuit(&circuit(65_535, SECOND), &traffic(1e6, 0.01));
    assert_eq!(rare.detection, None, "the time is beyond all numbers");
    let for_ever = guide::circuit(&circuit(1, Duration::MAX), &traffic(1.0, 1.0));
    assert_eq!((for_ever.detection, for_ever.recovery), (Some(SECOND), None));
}

#[test]
fn jitter_lengthens_the_longest_cooldown_unless_growth_caps_it() {
    let jittered = circuit(1, SECOND * 10).with_jitter(0.2).unwrap();
    let traffic = traffic(1.0, 1.0);
    assert_eq!(guide::circuit(&jittered, &traffic).recovery, Some(SECOND * 13));
    let capped = jittered.with_growth(SECOND * 60).unwrap();
    assert_eq!(guide::circuit(&capped, &traffic).recovery, Some(SECOND * 61));
}

#[test]
fn traffic_that_makes_no_sense_is_a_typed_error() {
    for rate in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Traffic::new(rate, 0.5), Err(TrafficError::InvalidRate));
    }
    for failures in [-0.1, 1.1, f64::NAN] {
        assert_eq!(Traffic::new(1.0, failures), Err(TrafficError::InvalidFailures));
    }
}

// --- probes ---

/// Probes an endpoint that turns from well to not, or back, at some time after the start, and returns how long after that
/// it is classified. An unhealthy one is found so at the timeout, as when it hangs, and a healthy one as late as it may be.
fn classify(config: &ActiveHealthConfig, from: ProbeOutcome, turn: Duration) -> Duration {
    let clock = Clock::new();
    let health = ActiveHealth::new(*config);
    let timeout = config.timeout().unwrap();
    let (to, target) = match from {
        ProbeOutcome::Healthy => (ProbeOutcome::Unhealthy, ProbeState::Unhealthy),
        _ => (ProbeOutcome::Healthy, ProbeState::Healthy),
    };
    let mut now = Duration::ZERO;
    let mut under_way: Option<(Duration, ProbeReservation<&ActiveHealth>, ProbeOutcome)> = None;
    loop {
        let ended = under_way.take_if(|(started, ..)| *started + timeout <= now);
        if let Some((_, probe, outcome)) = ended {
            probe.complete(outcome, &clock.at(now));
            if now >= turn && health.state() == target {
                return now.saturating_sub(turn);
            }
        }
        if let Ok(probe) = health.try_reserve(&clock.at(now)) {
            // The answer is that of the moment in which the endpoint takes the probe.
            under_way = Some((now, probe, if now < turn { from } else { to }));
        }
        now += MILLI * 100;
        assert!(now < turn + SECOND * 10_000, "it is found");
    }
}

#[test]
fn probes_find_a_fault_and_its_end_within_the_time_that_the_guide_computes() {
    let config = ActiveHealthConfig::default();
    let faster = config.with_interval(SECOND * 3).unwrap().with_timeout(SECOND).unwrap();
    let patient = config.with_unhealthy_threshold(7).unwrap().with_healthy_threshold(1).unwrap();
    for config in [config, faster, patient] {
        let timing = guide::active(&config);
        for (from, bound) in
            [(ProbeOutcome::Healthy, timing.detection), (ProbeOutcome::Unhealthy, timing.recovery)]
        {
            let times: Vec<Duration> = (0..300)
                .map(|i| classify(&config, from, SECOND * 200 + MILLI * 100 * i + MILLI * 50))
                .collect();
            let (worst, bound) = (times.iter().max().unwrap(), bound.unwrap());
            assert!(*worst <= bound, "{worst:?} is above {bound:?}");
            assert!(*worst + MILLI * 100 >= bound, "{bound:?} says little of {worst:?}");
            let mean = times.iter().sum::<Duration>() / 300;
            assert!((mean + config.interval() / 2).abs_diff(bound) < MILLI * 200, "{mean:?} on average");
        }
    }
}

#[test]
fn an_endless_interval_finds_nothing() {
    let config = ActiveHealthConfig::default().with_interval(Duration::MAX).unwrap();
    let timing = guide::active(&config);
    assert_eq!((timing.detection, timing.recovery), (None, None));
}
