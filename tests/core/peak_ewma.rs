//! Claims on the formula of `poise::core::PeakEwma`.

use std::time::Duration;

use poise::core::{LoadMetric, LoadTracker, Outcome, PeakEwma, Tracked};
use quickcheck::{Arbitrary, Gen, quickcheck};

use crate::support::ewma::{Clock, OUTCOMES, assert_close, attempt, decayed, estimate};

#[test]
fn a_fresh_tracker_starts_at_the_initial_estimate() {
    let clock = Clock::new();
    let default = PeakEwma::new_at(&clock.secs(0));
    assert_close(default.measure(&clock.secs(0)), 30.0e6, "the default of 30 ms");
    let config = PeakEwma::builder().with_initial_estimate(Duration::from_millis(2)).unwrap();
    assert_close(config.build_at(&clock.secs(0)).measure(&clock.secs(0)), 2.0e6, "the configured one");
    assert_close(default.measure(&clock.secs(10)), decayed(30.0e6, 1.0), "it decays like any other");
}

#[test]
fn a_peak_is_believed_at_once_and_a_lower_latency_blends_in() {
    let clock = Clock::new();
    let load = PeakEwma::new_at(&clock.secs(0));
    attempt(&load, Outcome::Success, &clock.millis(0), &clock.millis(500));
    assert_close(estimate(&load, &clock.millis(500)), 5.0e8, "the peak");
    attempt(&load, Outcome::Success, &clock.millis(5_400), &clock.millis(5_500));
    let kept = (-0.5_f64).exp();
    assert_close(
        estimate(&load, &clock.millis(5_500)),
        5.0e8 * kept + 1.0e8 * (1.0 - kept),
        "half a decay later",
    );
}

#[test]
fn load_is_latency_times_attempts_pending_and_one() {
    let clock = Clock::new();
    let load = PeakEwma::new_at(&clock.secs(0));
    let idle = load.measure(&clock.secs(0));
    let guards: Vec<_> = (0..3).map(|_| Tracked::start(&load, &clock.secs(0)).unwrap()).collect();
    assert_close(load.measure(&clock.secs(0)), 4.0 * idle, "three pending");
    for guard in guards {
        guard.complete(Outcome::Cancelled, &clock.secs(0));
    }
    assert_close(load.measure(&clock.secs(0)), idle, "none pending");
}

#[test]
fn idle_is_who_has_nothing_in_flight_and_has_not_just_failed() {
    let clock = Clock::new();
    let load = PeakEwma::new_at(&clock.secs(0));
    assert!(load.is_idle(&clock.secs(0)));
    let guard = Tracked::start(&load, &clock.secs(0)).unwrap();
    assert!(!load.is_idle(&clock.secs(0)));
    guard.complete(Outcome::Success, &clock.secs(1));
    assert!(load.is_idle(&clock.secs(1)));
    attempt(&load, Outcome::Failure, &clock.secs(1), &clock.secs(1));
    assert!(!load.is_idle(&clock.secs(1)));
    assert!(load.is_idle(&clock.secs(12)), "its penalty is over");
}

#[test]
fn measuring_never_writes() {
    let clock = Clock::new();
    let load = PeakEwma::new_at(&clock.secs(0));
    attempt(&load, Outcome::Failure, &clock.secs(0), &clock.secs(1));
    let before: Vec<_> = (0..60).map(|second| load.measure(&clock.secs(second))).collect();
    let after: Vec<_> = (0..60).rev().map(|second| load.measure(&clock.secs(second))).collect();
    assert!(
        before.iter().eq(after.iter().rev()),
        "a reading depends on its time and not on earlier readings"
    );
    assert!(before[59] < before[1]);
}

#[test]
fn a_clock_that_goes_back_decays_nothing_and_breaks_nothing() {
    let clock = Clock::new();
    let load = PeakEwma::new_at(&clock.secs(1000));
    attempt(&load, Outcome::Success, &clock.secs(1000), &clock.secs(1001));
    let back = clock.before(Duration::from_secs(1 << 19));
    assert_close(estimate(&load, &back), 1.0e9, "read before it was learned");
    attempt(&load, Outcome::Success, &clock.secs(1001), &back);
    assert_close(estimate(&load, &clock.secs(1001)), 1.0e9, "an answer before its question took no time");
    attempt(&load, Outcome::Failure, &clock.secs(1001), &back);
    assert_eq!(load.consecutive_failures(&clock.before(Duration::from_secs((1 << 19) + 100))), 1);
    assert_close(
        estimate(&load, &clock.secs(1001)),
        1.0e9,
        "nothing is learned at an earlier time than before",
    );
    let hung = Tracked::start(&load, &clock.secs(1001)).unwrap();
    assert_close(estimate(&load, &back), 1.0e9, "a witness from the future has no age");
    hung.complete(Outcome::Cancelled, &back);
    assert_eq!(load.pending(), 0);
}

#[test]
fn the_load_of_a_member_that_hangs_grows_with_its_age() {
    let clock = Clock::new();
    let load = PeakEwma::new_at(&clock.secs(0));
    let hung = Tracked::start(&load, &clock.secs(0)).unwrap();
    for second in [1, 5, 90] {
        assert_close(load.measure(&clock.secs(second)), 2.0e9 * second as f64, "age times two");
    }
    hung.complete(Outcome::Success, &clock.secs(100));
    assert_close(estimate(&load, &clock.secs(100)), 1.0e11, "what was an age is now a latency");
    assert!(load.estimate(&clock.secs(400)) < Duration::from_millis(1), "and decays like one");
}

#[test]
fn the_first_attempt_after_a_witness_is_the_next_one() {
    let clock = Clock::new();
    let load = PeakEwma::new_at(&clock.secs(0));
    let first = load.start(&clock.secs(0)).unwrap();
    let second = load.start(&clock.secs(0)).unwrap();
    load.responded(first, Outcome::Success, &clock.secs(1));
    assert_close(estimate(&load, &clock.secs(41)), decayed(1.0e9, 4.0), "the second is no witness");
    let third = load.start(&clock.secs(41)).unwrap();
    assert_close(estimate(&load, &clock.secs(141)), 1.0e11, "the third is");
    load.release(first, &clock.secs(141));
    load.release(second, &clock.secs(141));
    assert_close(estimate(&load, &clock.secs(241)), 2.0e11, "and no earlier ticket dismisses it");
    load.release(third, &clock.secs(241));
    assert!(load.estimate(&clock.secs(500)) < Duration::from_millis(1), "a release alone ends a witness");
    assert_eq!(load.pending(), 0);
}

#[test]
fn an_old_witness_does_not_dismiss_one_of_the_same_instant() {
    let clock = Clock::new();
    let load = PeakEwma::new_at(&clock.secs(0));
    let streaming = load.start(&clock.secs(0)).unwrap();
    load.responded(streaming, Outcome::Success, &clock.secs(0));
    let hung = load.start(&clock.secs(0)).unwrap();
    load.release(streaming, &clock.secs(0));
    assert_close(estimate(&load, &clock.secs(60)), 6.0e10, "the hung one still counts");
    load.release(hung, &clock.secs(60));
}

#[test]
fn failures_double_the_load_and_fade_one_per_decay() {
    let clock = Clock::new();
    let load = PeakEwma::new_at(&clock.secs(0));
    for failures in 1..=13 {
        attempt(&load, Outcome::Failure, &clock.secs(0), &clock.secs(0));
        let counted = failures.min(10);
        assert_eq!(load.consecutive_failures(&clock.secs(0)), counted);
        assert_close(
            load.measure(&clock.secs(0)),
            30.0e6 * 2.0_f64.powi(counted.cast_signed()),
            "doubled per failure",
        );
    }
    assert_eq!(load.consecutive_failures(&clock.millis(9_999)), 10);
    assert_eq!(load.consecutive_failures(&clock.secs(10)), 9);
    assert_close(
        load.measure(&clock.secs(35)),
        1.0,
        "it has been left alone for long and is worth one attempt",
    );
    let ticket = load.start(&clock.secs(35)).unwrap();
    assert_close(load.measure(&clock.secs(35)), 2.0 * 128.0 * decayed(30.0e6, 3.5), "three decays later");
    load.release(ticket, &clock.secs(35));
    assert_eq!(load.consecutive_failures(&clock.secs(1000)), 0);
    attempt(&load, Outcome::OVERLOAD, &clock.secs(35), &clock.secs(35));
    assert_eq!(load.consecutive_failures(&clock.secs(35)), 8, "a further one counts from what was left");
    attempt(&load, Outcome::Cancelled, &clock.secs(35), &clock.secs(35));
    assert_eq!(load.consecutive_failures(&clock.secs(35)), 8, "a cancellation is no failure and no success");
    attempt(&load, Outcome::Success, &clock.secs(35), &clock.secs(35));
    assert_eq!(load.consecutive_failures(&clock.secs(35)), 0, "a success ends the row");
}

#[test]
fn a_member_that_failed_is_worth_one_attempt_after_a_pause_that_doubles() {
    let clock = Clock::new();
    let (load, idle_peer) = (PeakEwma::new_at(&clock.secs(0)), PeakEwma::new_at(&clock.secs(0)));
    let mut at = 0;
    for pause in [1_000, 2_000, 4_000, 8_000, 10_000, 10_000] {
        attempt(&load, Outcome::Failure, &clock.millis(at), &clock.millis(at));
        let early = clock.millis(at + pause - 1);
        assert!(
            load.measure(&early) > idle_peer.measure(&early),
            "before the pause is over the penalty counts"
        );
        at += pause;
        let due = clock.millis(at);
        assert!(load.measure(&due) < idle_peer.measure(&due), "after {pause} ms it is worth an attempt");
        let ticket = load.start(&due).unwrap();
        assert!(load.measure(&due) > idle_peer.measure(&due), "one attempt, not two");
        load.release(ticket, &due);
    }
    let ticket = load.start(&clock.millis(at)).unwrap();
    load.responded(ticket, Outcome::Success, &clock.millis(at + 5));
    load.release(ticket, &clock.millis(at + 5));
    assert_close(
        load.measure(&clock.millis(at + 5)),
        5.0e6,
        "a success after the pause tells how fast it is now",
    );
}

#[test]
fn a_failure_never_lowers_the_latency_however_long_it_goes_on() {
    let clock = Clock::new();
    let (failing, healthy) = (PeakEwma::new_at(&clock.secs(0)), PeakEwma::new_at(&clock.secs(0)));
    for millis in (0..600_000).step_by(100) {
        attempt(&failing, Outcome::Failure, &clock.millis(millis), &clock.millis(millis));
        attempt(&healthy, Outcome::Success, &clock.millis(millis), &clock.millis(millis + 20));
    }
    let now = clock.secs(600);
    assert_close(estimate(&failing, &clock.millis(599_900)), 30.0e6, "no success has taught anything lower");
    assert!(
        failing.measure(&now) > 1000.0 * healthy.measure(&now),
        "ten minutes of instant failures attract nobody"
    );
}

#[test]
fn a_slow_failure_is_a_peak() {
    let clock = Clock::new();
    let load = PeakEwma::new_at(&clock.secs(0));
    attempt(&load, Outcome::Failure, &clock.secs(0), &clock.secs(4));
    assert_close(estimate(&load, &clock.secs(4)), 4.0e9, "four seconds until it failed");
}

#[test]
fn a_cancelled_attempt_bounds_the_latency_from_below_and_never_lowers_it() {
    let clock = Clock::new();
    let load = PeakEwma::new_at(&clock.secs(0));
    attempt(&load, Outcome::Cancelled, &clock.millis(0), &clock.millis(100));
    assert_close(estimate(&load, &clock.millis(100)), 1.0e8, "raised to the time that had passed");
    attempt(&load, Outcome::Cancelled, &clock.millis(5_090), &clock.millis(5_100));
    assert_close(estimate(&load, &clock.millis(5_100)), decayed(1.0e8, 0.5), "a quick one teaches nothing");
    attempt(&load, Outcome::Cancelled, &clock.millis(5_010), &clock.millis(5_100));
    assert_close(estimate(&load, &clock.millis(5_100)), 9.0e7, "it is the decayed estimate that is compared");
}

#[test]
fn a_seeded_tracker_starts_from_the_median_of_its_peers() {
    let clock = Clock::new();
    let now = clock.secs(0);
    let peer = |millis| {
        PeakEwma::builder().with_initial_estimate(Duration::from_millis(millis)).unwrap().build_at(&now)
    };
    let peers: Vec<_> = [1, 90, 2, 4, 80, 3, 5, 6, 1000, 1000, 1000].map(peer).into_iter().collect();
    let load = PeakEwma::new_at(&now);
    let seeded_by = |count| {
        load.seed(&mut peers.iter().take(count), &now);
        estimate(&load, &now)
    };
    assert_close(seeded_by(3), 2.0e6, "of three the middle one");
    assert_close(seeded_by(4), 3.0e6, "of four the mean of the middle two");
    assert_close(seeded_by(11), 4.5e6, "of many the first eight are looked at");
    assert_close(seeded_by(0), 30.0e6, "of none the initial estimate");

    load.seed(&mut peers.iter().take(1), &clock.secs(10));
    assert_close(estimate(&load, &clock.secs(10)), decayed(1.0e6, 1.0), "peers count as they have decayed");
    load.seed(&mut [&load, &peers[1], &load].into_iter(), &now);
    assert_close(estimate(&load, &now), 90.0e6, "nobody is a peer of itself");
}

#[test]
fn a_returning_member_forgets_its_failures_and_keeps_its_count() {
    let clock = Clock::new();
    let load = PeakEwma::new_at(&clock.secs(0));
    attempt(&load, Outcome::Failure, &clock.secs(0), &clock.secs(5));
    let hung = load.start(&clock.secs(5)).unwrap();
    load.seed(&mut std::iter::empty(), &clock.secs(9));
    assert_eq!((load.consecutive_failures(&clock.secs(9)), load.pending()), (0, 1));
    assert_close(estimate(&load, &clock.secs(9)), 30.0e6, "the age of what hung before does not count");
    let next = load.start(&clock.secs(60)).unwrap();
    load.release(hung, &clock.secs(61));
    assert_close(estimate(&load, &clock.secs(70)), 1.0e10, "what hangs now does");
    load.release(next, &clock.secs(70));
    assert_eq!(load.pending(), 0);
}

/// Does one thing to a tracker: an attempt that starts after a pause, takes a while and ends somehow.
#[derive(Clone, Copy, Debug)]
struct Step {
    pause: Duration,
    taken: Duration,
    outcome: Outcome,
}

impl Arbitrary for Step {
    fn arbitrary(g: &mut Gen) -> Self {
        let length = |g: &mut Gen, scales: &[u64]| {
            let scale = *g.choose(scales).unwrap();
            Duration::from_nanos(u64::arbitrary(g) % scale)
        };
        Self {
            pause: length(g, &[1_000_000, 1_000_000_000, 60_000_000_000]),
            taken: length(g, &[50_000_000, 50_000_000, 3_000_000_000]),
            outcome: *g.choose(&[OUTCOMES.as_slice(), &[Outcome::Success; 4]].concat()).unwrap(),
        }
    }
}

/// The formula in plain floating point, with exact times.
struct Naive {
    latency: f64,
    learned: f64,
    failures: f64,
    failed: f64,
}

const TAU: f64 = 10.0e9;

impl Naive {
    fn projected(&self, now: f64) -> f64 {
        self.latency * (-(now - self.learned) / TAU).exp()
    }

    fn fails(&self, now: f64) -> f64 {
        (self.failures - ((now - self.failed) / TAU).floor()).max(0.0)
    }

    fn is_due(&self, now: f64) -> bool {
        self.failures > 0.0 && now - self.failed >= TAU.min(1.0e9 * (self.failures - 1.0).exp2())
    }

    fn measured(&self, now: f64) -> f64 {
        if self.is_due(now) { 1.0 } else { self.projected(now).max(1.0) * self.fails(now).exp2() }
    }

    fn learn(&mut self, taken: f64, outcome: Outcome, now: f64) {
        let latency = match outcome {
            Outcome::Success if self.is_due(now) => {
                self.failures = 0.0;
                taken
            }
            Outcome::Success => {
                self.failures = 0.0;
                let kept = (-(now - self.learned) / TAU).exp();
                if taken > self.latency { taken } else { self.latency * kept + taken * (1.0 - kept) }
            }
            Outcome::Cancelled if taken <= self.projected(now) => return,
            Outcome::Cancelled => taken,
            Outcome::Failure | Outcome::Overload { .. } => {
                self.failures = (self.fails(now) + 1.0).min(10.0);
                self.failed = now;
                taken.max(self.latency)
            }
        };
        (self.latency, self.learned) = (latency.max(1.0), now);
    }
}

quickcheck! {
    fn peak_ewma_follows_the_formula(steps: Vec<Step>) -> bool {
        let clock = Clock::new();
        let load = PeakEwma::new_at(&clock.secs(0));
        let mut naive = Naive { latency: 30.0e6, learned: 0.0, failures: 0.0, failed: 0.0 };
        let mut time = Duration::ZERO;
        steps.iter().all(|step| {
            time += step.pause;
            let from = clock.after(time);
            time += step.taken;
            let to = clock.after(time);
            attempt(&load, step.outcome, &from, &to);
            let now = time.as_nanos() as f64;
            naive.learn(step.taken.as_nanos() as f64, step.outcome, now);

            let later = Duration::from_secs(3);
            let then = now + later.as_nanos() as f64;
            let expected = naive.measured(then);
            let actual = load.measure(&clock.after(time + later));
            (actual - expected).abs() <= 1.0e-3 * expected + 1.0
        })
    }
}
