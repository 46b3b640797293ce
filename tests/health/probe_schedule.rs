//! Who is probed when, over members that come and go.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use crate::support::clock::Clock;
use crate::support::probing::{INTERVAL, health, secs};
use poise::core::Changes;
use poise::health::{
    ActiveHealth, ActiveHealthConfig, ProbeCompletion, ProbeOutcome, ProbeSchedule, ProbeState, StartedProbe,
};

/// Makes a schedule of this many members, all of whom are due at once.
fn schedule(members: u32, limit: usize) -> ProbeSchedule<u32> {
    let mut schedule = ProbeSchedule::new().with_start_jitter(Duration::ZERO).with_limit(limit).unwrap();
    let now = clock().at(Duration::ZERO);
    for member in 0..members {
        schedule.insert(member, Arc::new(health()), &now);
    }
    schedule
}

/// The clock of all tests here; each has times of its own.
fn clock() -> Clock {
    static CLOCK: LazyLock<Clock> = LazyLock::new(Clock::new);
    *CLOCK
}

fn start_all(schedule: &mut ProbeSchedule<u32>, at: Duration) -> Vec<StartedProbe<u32>> {
    std::iter::from_fn(|| schedule.start(&clock().at(at))).collect()
}

fn keys(probes: &[StartedProbe<u32>]) -> Vec<u32> {
    probes.iter().map(|probe| *probe.key()).collect()
}

#[test]
fn no_more_probes_are_under_way_than_the_limit_and_whoever_waits_longest_is_next() {
    let mut schedule = schedule(5, 2);
    let mut first = start_all(&mut schedule, secs(1));
    assert_eq!((keys(&first), schedule.under_way()), (vec![0, 1], 2));
    assert_eq!(schedule.next_due(), None, "time alone brings nothing while the limit is reached");
    first.remove(0).complete(ProbeOutcome::Healthy, &clock().at(secs(2)));
    assert_eq!(schedule.next_due(), Some(clock().instant(Duration::ZERO)), "the next one is overdue");
    assert_eq!(keys(&start_all(&mut schedule, secs(2))), [2], "and was dropped at once");
    assert_eq!(schedule.under_way(), 1, "a dropped probe gives its place back");
    assert_eq!(keys(&start_all(&mut schedule, secs(3))), [3]);
    drop(first);
    assert_eq!(keys(&start_all(&mut schedule, secs(4))), [4]);
    assert_eq!(schedule.next_due(), Some(clock().instant(secs(11))), "an interval after the first start");
}

#[test]
fn each_member_is_probed_once_per_interval() {
    let mut schedule = schedule(20, 20);
    let mut started = [0; 20];
    for second in 0..3_600 {
        for probe in start_all(&mut schedule, secs(second)) {
            started[usize::try_from(*probe.key()).unwrap()] += 1;
            probe.complete(ProbeOutcome::Healthy, &clock().at(secs(second)));
        }
    }
    assert_eq!(started, [360; 20]);
}

#[test]
fn first_probes_are_spread_over_the_jitter_and_stay_so() {
    let now = clock().at(Duration::ZERO);
    let mut schedule = ProbeSchedule::new().with_seed(7).with_limit(1_000).unwrap();
    for member in 0..1_000 {
        schedule.insert(member, Arc::new(health()), &now);
    }
    for round in 0..3 {
        let mut counts = [0; 10];
        for (tenth, count) in counts.iter_mut().enumerate() {
            let within = Duration::from_millis(100) * u32::try_from(tenth + 1).unwrap();
            let mut now = clock().instant(INTERVAL * round);
            let end = now + within;
            while let Some(due) = schedule.next_due().filter(|due| *due <= end) {
                now = now.max(due);
                let probe = schedule.start(&now.into()).expect("it is due");
                probe.complete(ProbeOutcome::Healthy, &now.into());
                *count += 1;
            }
        }
        assert_eq!(counts.iter().sum::<u32>(), 1_000, "all within a second");
        // Binomial, of 1000 at a tenth: 100 with a deviation of 9.5.
        assert!(counts.iter().all(|count| (60..140).contains(count)), "{counts:?}");
    }
}

#[test]
fn the_jitter_is_never_longer_than_the_interval() {
    let now = clock().at(Duration::ZERO);
    let config = ActiveHealthConfig::default().with_interval(Duration::from_millis(10)).unwrap();
    let mut schedule = ProbeSchedule::new().with_start_jitter(Duration::MAX).with_seed(1);
    for member in 0..100 {
        schedule.insert(member, Arc::new(ActiveHealth::new(config)), &now);
    }
    let started = start_all(&mut schedule, Duration::from_millis(10));
    assert_eq!(started.len(), 16, "everybody is due, and the limit is the default one");
}

#[test]
fn a_member_that_leaves_is_probed_no_more_and_one_that_comes_anew_starts_anew() {
    let mut schedule = schedule(2, 8);
    let probes = start_all(&mut schedule, Duration::ZERO);
    let gone = schedule.remove(&0).expect("it was there");
    assert!(schedule.remove(&0).is_none());
    for probe in probes {
        assert_eq!(probe.complete(ProbeOutcome::Healthy, &clock().at(secs(1))), ProbeCompletion::Counted);
    }
    assert_eq!(keys(&start_all(&mut schedule, INTERVAL)), [1]);

    let fresh = Arc::new(health());
    schedule.insert(0, Arc::clone(&fresh), &clock().at(INTERVAL));
    assert_eq!(keys(&start_all(&mut schedule, INTERVAL)), [0], "nothing is known of it");
    schedule.insert(0, Arc::clone(&fresh), &clock().at(INTERVAL));
    assert!(start_all(&mut schedule, INTERVAL).is_empty(), "the same one keeps its turn");
    schedule.insert(0, gone, &clock().at(INTERVAL));
    assert_eq!(schedule.len(), 2);
    assert_eq!(keys(&start_all(&mut schedule, INTERVAL)), [0], "it has been due since");
}

#[test]
fn a_forced_member_is_not_probed_and_a_lifted_one_is_at_once() {
    let mut schedule = schedule(1, 8);
    let told = Arc::new(AtomicU32::new(0));
    let listener = Arc::clone(&told);
    schedule.watch(Changes::new(Arc::new(move || {
        listener.fetch_add(1, Ordering::Relaxed);
    })));
    let health = Arc::clone(schedule.health(&0).unwrap());
    drop(start_all(&mut schedule, Duration::ZERO));
    health.force_unhealthy(&clock().at(secs(1)));
    assert!(start_all(&mut schedule, INTERVAL * 5).is_empty());
    assert_eq!((schedule.next_due(), told.load(Ordering::Relaxed)), (None, 0));
    health.lift(&clock().at(secs(53)));
    assert_eq!(told.load(Ordering::Relaxed), 1, "the driver is woken");
    assert_eq!(keys(&start_all(&mut schedule, secs(53))), [0]);

    // Forced and lifted between two looks: its turn was not for long.
    health.force_healthy(&clock().at(secs(54)));
    health.lift(&clock().at(secs(55)));
    assert_eq!(keys(&start_all(&mut schedule, secs(55))), [0]);
}

#[test]
fn a_probe_that_hangs_delays_no_other_verdict_beyond_its_own_timeout() {
    // Two places and two members that hang until their timeout: everybody else waits for that and no longer.
    let timeout = secs(5);
    let mut schedule = schedule(12, 2);
    let mut hanging: Vec<(Duration, StartedProbe<u32>)> = Vec::new();
    let mut now = Duration::ZERO;
    while now < INTERVAL * 30 {
        let over = |(started, _): &(Duration, _)| *started + timeout <= now;
        while let Some(place) = hanging.iter().position(over) {
            let (_, probe) = hanging.swap_remove(place);
            probe.complete(ProbeOutcome::Unhealthy, &clock().at(now));
        }
        while let Some(probe) = schedule.start(&clock().at(now)) {
            if *probe.key() < 2 {
                hanging.push((now, probe));
            } else {
                probe.complete(ProbeOutcome::Healthy, &clock().at(now));
            }
        }
        for member in 2..12 {
            let due = schedule.health(&member).unwrap().next_due(&clock().at(now)).unwrap();
            assert!(due + timeout > clock().instant(now), "member {member} has waited too long");
        }
        now += secs(1);
    }
    let state = |member| schedule.health(&member).unwrap().state();
    assert!((0..2).all(|member| state(member) == ProbeState::Unhealthy));
    assert!((2..12).all(|member| state(member) == ProbeState::Healthy));
}

#[test]
fn a_limit_of_zero_is_a_typed_error() {
    assert!(ProbeSchedule::<u32>::new().with_limit(0).is_err());
}
