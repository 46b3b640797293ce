//! Claims on `poise::core::{InFlight, PeakEwma}` and the guard over them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use poise::core::{
    AdditiveLoad, AtCapacity, InFlight, LoadMetric, LoadTracker, Now, Outcome, PeakEwma, PeakEwmaConfig,
    PeakEwmaError, Tracked, ZeroLimit,
};
use quickcheck::{Arbitrary, Gen, quickcheck};

const OUTCOMES: [Outcome; 4] = [Outcome::Success, Outcome::Failure, Outcome::OVERLOAD, Outcome::Cancelled];

/// A clock that only tests move. It starts late enough to be turned back.
#[derive(Clone, Copy)]
struct Clock(Instant);

impl Clock {
    fn new() -> Self {
        Self(Now::lazy().instant() + Duration::from_secs(1 << 20))
    }

    fn after(self, duration: Duration) -> Now {
        Now::at(self.0 + duration)
    }

    fn before(self, duration: Duration) -> Now {
        Now::at(self.0.checked_sub(duration).unwrap())
    }

    fn millis(self, millis: u64) -> Now {
        self.after(Duration::from_millis(millis))
    }

    fn secs(self, secs: u64) -> Now {
        self.after(Duration::from_secs(secs))
    }
}

fn attempt(load: &PeakEwma, outcome: Outcome, from: &Now, to: &Now) {
    Tracked::start(load, from).unwrap().complete(outcome, to);
}

fn assert_close(actual: f64, expected: f64, what: &str) {
    assert!((actual - expected).abs() <= 2.0e-5 * expected, "{what}: {actual} instead of {expected}");
}

fn estimate(load: &PeakEwma, now: &Now) -> f64 {
    load.estimate(now).as_nanos() as f64
}

fn decayed(nanos: f64, taus: f64) -> f64 {
    nanos * (-taus).exp()
}

/// What may happen to one attempt.
#[derive(Clone, Copy, Debug)]
enum End {
    Complete(Outcome),
    Drop,
    Panic,
    Keep,
}

impl Arbitrary for End {
    fn arbitrary(g: &mut Gen) -> Self {
        let mut ends = OUTCOMES.map(Self::Complete).to_vec();
        ends.extend([Self::Drop, Self::Panic, Self::Keep]);
        *g.choose(&ends).unwrap()
    }
}

fn counts_only_what_is_kept<L: LoadTracker>(load: &L, ends: &[End], count: impl Fn() -> u64) -> bool {
    let mut kept = Vec::new();
    for &end in ends {
        let guard = Tracked::start(load, &Now::lazy()).unwrap();
        match end {
            End::Complete(outcome) => guard.complete(outcome, &Now::lazy()),
            End::Drop => drop(guard),
            End::Panic => {
                let unwound = catch_unwind(AssertUnwindSafe(|| {
                    let _guard = guard;
                    std::panic::resume_unwind(Box::new(()));
                }));
                assert!(unwound.is_err());
            }
            End::Keep => kept.push(guard),
        }
        if count() != kept.len() as u64 {
            return false;
        }
    }
    drop(kept);
    count() == 0
}

quickcheck! {
    fn in_flight_is_zero_after_any_mix_of_ends(ends: Vec<End>) -> bool {
        let load = InFlight::new();
        counts_only_what_is_kept(&load, &ends, || load.current())
    }

    fn peak_ewma_is_zero_after_any_mix_of_ends(ends: Vec<End>) -> bool {
        let load = PeakEwma::new();
        counts_only_what_is_kept(&load, &ends, || load.pending())
    }

    fn with_a_limit_every_place_comes_back(ends: Vec<End>) -> bool {
        let limit = u32::try_from(ends.len()).unwrap().max(1);
        let load = InFlight::with_limit(limit).unwrap();
        counts_only_what_is_kept(&load, &ends, || load.current()) && !load.is_full()
    }
}

#[test]
fn trackers_fill_one_cache_line_each() {
    assert_eq!((size_of::<InFlight>(), align_of::<InFlight>()), (64, 64));
    assert_eq!((size_of::<PeakEwma>(), align_of::<PeakEwma>()), (64, 64));
}

#[test]
fn in_flight_measures_the_attempts_that_are_not_over() {
    let (load, now) = (InFlight::default(), Now::lazy());
    load.start(&now).unwrap();
    load.start(&now).unwrap();
    load.responded((), Outcome::Success, &now);
    assert_eq!(
        (load.current(), load.count(), load.limit()),
        (2, 2, None),
        "a response alone gives nothing back"
    );
    assert!((load.measure(&now) - 2.0).abs() < f64::EPSILON);
    load.release((), &now);
    assert_eq!(load.current(), 1);
}

#[test]
fn a_release_too_many_does_not_wrap() {
    let (load, now) = (InFlight::new(), Now::lazy());
    load.release((), &now);
    assert_eq!(load.current(), 0);
    load.start(&now).unwrap();
    assert_eq!(load.current(), 1);
}

#[test]
fn a_limit_of_zero_is_an_error() {
    assert_eq!(InFlight::with_limit(0).unwrap_err(), ZeroLimit);
    assert_eq!(PeakEwma::builder().with_limit(0), Err(PeakEwmaError::ZeroLimit));
}

fn holds_its_limit_under_threads<L: LoadTracker + Sync>(
    load: &L,
    limit: u64,
    count: impl Fn() -> u64 + Sync,
) {
    let (running, most) = (AtomicU64::new(0), AtomicU64::new(0));
    let barrier = Barrier::new(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                barrier.wait();
                for turn in 0..20_000_usize {
                    let Ok(guard) = Tracked::start(load, &Now::lazy()) else { continue };
                    most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    assert!(count() <= limit, "the count itself stays within the limit");
                    running.fetch_sub(1, Ordering::SeqCst);
                    guard.complete(OUTCOMES[turn % 4], &Now::lazy());
                }
            });
        }
    });
    let most = most.into_inner();
    assert!((1..=limit).contains(&most), "{most} attempts ran at once under a limit of {limit}");
    assert_eq!(count(), 0);
}

#[test]
fn threads_never_exceed_a_limit() {
    let load = InFlight::with_limit(2).unwrap();
    holds_its_limit_under_threads(&load, 2, || load.current());
    let load = PeakEwma::builder().with_limit(2).unwrap().build();
    holds_its_limit_under_threads(&load, 2, || load.pending());
}

#[test]
fn threads_without_a_limit_lose_no_count() {
    let load = PeakEwma::new();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for turn in 0..20_000 {
                    Tracked::start(&load, &Now::lazy()).unwrap().complete(OUTCOMES[turn % 4], &Now::lazy());
                }
            });
        }
    });
    assert_eq!(load.pending(), 0);
    let much_later = Now::at(Now::lazy().instant() + Duration::from_secs(3600));
    assert!(load.estimate(&much_later) < Duration::from_millis(1), "no witness is left to grow old");
}

#[test]
fn at_its_limit_peak_ewma_refuses_and_counts_nothing() {
    let load = PeakEwma::builder().with_limit(1).unwrap().build();
    let now = Now::lazy();
    let guard = Tracked::start(&load, &now).unwrap();
    assert!(load.is_full() && LoadTracker::is_full(&load));
    assert_eq!(load.start(&now).unwrap_err(), AtCapacity);
    assert_eq!((load.pending(), load.limit()), (1, Some(1)));
    drop(guard);
    assert!(!load.is_full());
}

#[test]
fn a_guard_of_an_old_generation_does_not_touch_the_new_one() {
    let old = Arc::new(InFlight::new());
    let guard = Tracked::start(&*old, &Now::lazy()).unwrap();
    let new = Arc::new(InFlight::new());
    let same = Arc::clone(&old);
    assert_eq!((new.current(), same.current()), (0, 1), "the count belongs to the allocation");
    drop(guard);
    assert_eq!((new.current(), same.current()), (0, 0));
}

#[test]
fn pointers_to_a_tracker_are_that_tracker() {
    fn through<L: LoadTracker>(load: &L, peer: &L, clock: Clock) {
        let ticket = load.start(&clock.millis(0)).unwrap();
        assert!(load.is_full() && load.start(&clock.millis(0)).is_err());
        load.responded(ticket, Outcome::Failure, &clock.millis(900));
        load.release(ticket, &clock.millis(900));
        peer.seed(&mut [load].into_iter(), &clock.millis(900));
    }
    let clock = Clock::new();
    let config = PeakEwma::builder().with_limit(1).unwrap();
    let make = || config.build_at(&clock.millis(0));
    let (plain, peer) = (make(), make());
    through(&&plain, &&peer, clock);
    assert_close(estimate(&peer, &clock.millis(900)), 9.0e8, "seeded through a reference");
    let (arc, peer) = (Arc::new(make()), Arc::new(make()));
    through(&arc, &peer, clock);
    assert_close(estimate(&peer, &clock.millis(900)), 9.0e8, "seeded through an Arc");
    let (boxed, peer) = (Box::new(make()), Box::new(make()));
    through(&boxed, &peer, clock);
    assert_close(estimate(&peer, &clock.millis(900)), 9.0e8, "seeded through a Box");
    assert_eq!((plain.consecutive_failures(&clock.millis(900)), arc.pending()), (1, 0));
}

#[test]
fn settings_out_of_range_are_typed_errors() {
    let config = PeakEwma::builder();
    assert_eq!(config, PeakEwmaConfig::default());
    assert_eq!(config.with_decay(Duration::ZERO), Err(PeakEwmaError::DecayTooShort));
    assert_eq!(config.with_decay(Duration::from_micros(999)), Err(PeakEwmaError::DecayTooShort));
    assert!(config.with_decay(PeakEwmaConfig::MIN_DECAY).is_ok());
    assert_eq!(config.with_initial_estimate(Duration::ZERO), Err(PeakEwmaError::ZeroInitialEstimate));
}

#[test]
fn extreme_settings_and_times_give_finite_loads() {
    let now = Clock::new();
    let config =
        PeakEwma::builder().with_decay(Duration::MAX).unwrap().with_initial_estimate(Duration::MAX).unwrap();
    let load = config.build_at(&now.secs(0));
    for _ in 0..20 {
        attempt(&load, Outcome::Failure, &now.secs(0), &now.secs(1 << 31));
    }
    let measured = load.measure(&now.secs(0));
    assert!(measured.is_finite() && measured > 0.0);
}

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
