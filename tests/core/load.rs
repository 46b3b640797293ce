//! Claims on `poise::core::{InFlight, PeakEwma}` and the guard over them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use poise::core::{
    AdditiveLoad, AtCapacity, InFlight, LoadMetric, LoadTracker, Now, Outcome, PeakEwma, PeakEwmaConfig,
    PeakEwmaError, Tracked, ZeroLimit,
};
use quickcheck::{Arbitrary, Gen, quickcheck};

use crate::support::ewma::{Clock, OUTCOMES, assert_close, attempt, estimate};

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
