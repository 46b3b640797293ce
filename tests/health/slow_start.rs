//! Members that have just started, or come back, get their share little by little.

use std::time::Duration;

use crate::support::clock::Clock;
use crate::support::member::Member;
use crate::support::policies::policies;
use crate::support::tally::tally;
use poise::core::policy::{LeastLoaded, LeastRequests, PowerOfTwoChoices, WeightedRandom};
use poise::core::{Backend, Candidate, Exclusion, Now, Policy, Prepare, Prepared, Status, View};
use poise::health::{
    CircuitConfig, HealthChecked, PassiveHealth, SlowStart, SlowStartConfig, SlowStartConfigError,
};

const WINDOW: Duration = Duration::from_secs(10);

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn config() -> SlowStartConfig {
    SlowStartConfig::new(WINDOW).unwrap()
}

fn close(part: f32, expected: f32) {
    assert!((part - expected).abs() < 1e-4, "{part} is not {expected}");
}

/// Makes members without a load of their own, of which the last is new at the start of the clock.
fn with_a_newcomer(count: u64, clock: Clock) -> Vec<SlowStart<Member>> {
    let slow: Vec<_> =
        Member::many(count).into_iter().map(|member| SlowStart::new(member, config())).collect();
    for member in &slow {
        member.candidate().load.set(1.0);
    }
    if let Some(newcomer) = slow.last() {
        newcomer.observe(&clock.at(Duration::ZERO));
    }
    slow
}

// --- the formula ---

#[test]
fn the_share_grows_as_published() {
    close(config().part_after(secs(5)), 0.5);
    let fast = SlowStartConfig::new(secs(60)).unwrap().with_aggression(2.0).unwrap();
    close(fast.part_after(secs(26)), 0.6583);
}

#[test]
fn the_share_is_never_below_the_minimum_nor_above_the_whole() {
    assert_eq!(config().part_after(Duration::ZERO).to_bits(), 0.1_f32.to_bits());
    assert_eq!(config().part_after(secs(10)).to_bits(), 1.0_f32.to_bits());
    assert_eq!(config().part_after(Duration::MAX).to_bits(), 1.0_f32.to_bits());
    let whole = config().with_minimum(1.0).unwrap();
    assert_eq!(whole.part_after(Duration::ZERO).to_bits(), 1.0_f32.to_bits());
}

#[test]
fn time_counts_from_a_millisecond() {
    let config = config().with_minimum(1e-9).unwrap();
    close(config.part_after(Duration::ZERO) * 1e4, 1.0);
    close(config.part_after(Duration::from_micros(999)) * 1e4, 1.0);
    close(config.part_after(Duration::from_millis(2)) * 1e4, 2.0);
}

#[test]
fn extreme_numbers_give_a_part() {
    for aggression in [f64::MIN_POSITIVE, 1e-300, 1e300, f64::MAX] {
        for minimum in [f64::MIN_POSITIVE, 1.0] {
            for window in [Duration::from_nanos(1), Duration::MAX] {
                let config = SlowStartConfig::new(window).unwrap().with_aggression(aggression).unwrap();
                let config = config.with_minimum(minimum).unwrap();
                for elapsed in [Duration::ZERO, Duration::from_nanos(1), secs(1), Duration::MAX] {
                    let part = config.part_after(elapsed);
                    assert!(part > 0.0 && part <= 1.0, "{part} with {config:?}");
                }
            }
        }
    }
}

#[test]
fn what_makes_no_sense_is_a_typed_error() {
    assert_eq!(SlowStartConfig::new(Duration::ZERO), Err(SlowStartConfigError::ZeroWindow));
    for aggression in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = config().with_aggression(aggression).unwrap_err();
        assert_eq!(error, SlowStartConfigError::InvalidAggression);
    }
    for minimum in [0.0, -0.1, 1.1, f64::NAN] {
        assert_eq!(config().with_minimum(minimum).unwrap_err(), SlowStartConfigError::InvalidMinimum);
    }
}

// --- when it starts ---

#[test]
fn a_member_ramps_from_its_first_readiness_and_not_before() {
    let clock = Clock::new();
    let circuit = PassiveHealth::new(CircuitConfig::new(1, WINDOW).unwrap());
    circuit.force_open();
    let slow = SlowStart::new(HealthChecked::new(Backend::new("a"), circuit), config());
    slow.observe(&clock.at(Duration::ZERO));
    close(slow.ramp(&clock.at(secs(1))), 1.0);
    slow.candidate().health().lift();
    slow.observe(&clock.at(secs(5)));
    close(slow.ramp(&clock.at(secs(5))), 0.1);
    close(slow.ramp(&clock.at(secs(8))), 0.3);
    slow.observe(&clock.at(secs(9)));
    close(slow.ramp(&clock.at(secs(10))), 0.5);
    close(slow.ramp(&clock.at(secs(15))), 1.0);
}

#[test]
fn a_member_that_returns_ramps_again() {
    let clock = Clock::new();
    let slow = SlowStart::new(Member::new(0), config());
    for (time, excluded, later, part) in [
        (secs(0), false, secs(30), 1.0),
        (secs(30), true, secs(31), 1.0),
        (secs(40), false, secs(42), 0.2),
        (secs(42), true, secs(43), 0.3),
        (secs(44), false, secs(46), 0.2),
    ] {
        if excluded {
            slow.candidate().exclude(Exclusion::Probe);
        } else {
            slow.candidate().restore();
        }
        slow.observe(&clock.at(time));
        close(slow.ramp(&clock.at(later)), part);
    }
    slow.restart(&clock.at(secs(100)));
    close(slow.ramp(&clock.at(secs(104))), 0.4);
}

#[test]
fn a_clock_that_jumps_gives_a_part_of_the_weight() {
    let clock = Clock::new();
    let slow = SlowStart::new(Backend::new("a"), config());
    slow.observe(&clock.at(secs(3_600)));
    close(slow.ramp(&clock.at(Duration::ZERO)), 0.1);
    close(slow.ramp(&clock.at(secs(3_601))), 0.1);
    close(slow.ramp(&clock.at(secs(3_605))), 0.5);
    close(slow.ramp(&clock.at(secs(1_000_000))), 1.0);
}

// --- composition ---

#[test]
fn the_wrapper_is_its_candidate_in_everything_else() {
    let now = Clock::new().at(Duration::ZERO);
    let mut inner = Member::new(7);
    inner.ramp = 0.5;
    inner.priority = 3;
    inner.exclude(Exclusion::Draining);
    let slow = SlowStart::new(inner, config());
    slow.restart(&now);
    close(slow.ramp(&now), 0.05);
    assert_eq!((*slow.id(), slow.priority(), slow.status()), (7, 3, Status::Draining));
    assert!(!slow.is_eligible(&now) && slow.exclusions(&now).contains(Exclusion::Draining));
    assert_eq!(slow.attributes(), slow.candidate().attributes());
}

type Weighing = Box<dyn Policy<SlowStart<Member>>>;

/// Picks many times with what was prepared once, and returns how often the newcomer of ten was chosen.
fn newcomer_picks(
    policy: &dyn Policy<SlowStart<Member>>,
    members: &[SlowStart<Member>],
    prepared: &Prepared,
    at: &Now,
) -> u32 {
    const PICKS: u32 = 20_000;
    let picks = (0..PICKS).map(|_| {
        let view = View::new(members).at(at.instant()).prepared(prepared);
        policy.pick_from(&view, &()).expect("all are eligible").index()
    });
    tally(members.len(), picks)[members.len() - 1]
}

#[test]
fn policies_that_weigh_follow_the_ramp_over_one_table() {
    let clock = Clock::new();
    let members = with_a_newcomer(10, clock);
    let weighted = WeightedRandom::seeded(1);
    let prepared = weighted.prepare(&View::new(&members), None).unwrap();
    for (seconds, ramp) in [(0, 0.1), (5, 0.5), (10, 1.0)] {
        let count = f64::from(newcomer_picks(&weighted, &members, &prepared, &clock.at(secs(seconds))));
        let expected = 20_000.0 * ramp / (9.0 + ramp);
        // Within five standard deviations.
        assert!((count - expected).abs() < 5.0 * expected.sqrt(), "{count} picks at {ramp}, not {expected}");
    }
    let by_load: [(&str, Weighing); 3] = [
        ("two choices", Box::new(PowerOfTwoChoices::seeded(1))),
        ("least requests", Box::new(LeastRequests::seeded(1))),
        ("least loaded", Box::new(LeastLoaded::seeded(1))),
    ];
    for (name, policy) in by_load {
        let prepared = policy.prepare(&View::new(&members), None).unwrap();
        let count = newcomer_picks(&policy, &members, &prepared, &clock.at(secs(5)));
        assert_eq!(count, 0, "{name}: at the same load, a member at half its weight is the busier one");
        let count = newcomer_picks(&policy, &members, &prepared, &clock.at(secs(10)));
        assert!((1_700..2_300).contains(&count), "{name}: {count} of 20,000 once the ramp is over");
    }
}

#[test]
fn every_policy_follows_the_ramp_over_one_table() {
    const KEYS: u64 = 4_000;
    let clock = Clock::new();
    let members = with_a_newcomer(4, clock);
    for member in &members {
        member.candidate().load.set(0.0);
    }
    for (name, policy) in policies::<SlowStart<Member>>(3) {
        if name.contains("choices") || name.contains("least") {
            continue;
        }
        let prepared = policy.prepare(&View::new(&members), None).unwrap();
        let owners_at = |at| {
            let picks = (0..KEYS).map(|key| {
                let view = View::new(&members).at(clock.instant(at)).prepared(&prepared);
                // The number of the key is no earlier choice of those that keep to one.
                let pick = policy.pick_from(&view, &(key * 16 + 15));
                pick.unwrap_or_else(|error| panic!("{name}: {error}")).index()
            });
            picks.collect::<Vec<_>>()
        };
        let [early, later, done] = [1, 5, 10].map(|at| owners_at(secs(at)));
        let counts = [&early, &later, &done].map(|owners| tally(4, owners.iter().copied())[3]);
        let apart = counts[0] + 200 < counts[1] && counts[1] + 200 < counts[2];
        assert!(apart, "{name}: {counts:?} of {KEYS} picks at 0.1, 0.5 and 1");
        let by_key = ["maglev", "ring", "rendezvous"].iter().any(|of| name.contains(of));
        let is_keyed = by_key && !name.contains("random");
        for ((early, later), done) in early.iter().zip(&later).zip(&done).filter(|_| is_keyed) {
            let stays = (*early == 3) <= (*later == 3) && (*later == 3) <= (*done == 3);
            assert!(stays, "{name}: a key that has come to the newcomer stays");
            assert!(early == later || *later == 3, "{name}: no other key moves");
            assert!(later == done || *done == 3, "{name}: no other key moves");
        }
    }
}
