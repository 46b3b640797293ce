//! The recorder counts what it hears, in constant memory.

#![cfg(all(feature = "observe", not(loom)))]

use std::alloc::System;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use poise::core::{Exclusion, ExclusionCounts, Exclusions, Outcome, Phase, PickError, Selection};
use poise::observe::{
    AttemptEvent, BuildEvent, CircuitChange, CircuitEvent, CircuitReason, ClosedEvent, FailFastEvent, Fanout,
    HedgeEvent, HedgeVerdict, MemberChange, MemberEvent, MembershipEvent, Metrics, Noop, Observer,
    OutlierChange, OutlierEvent, OutlierReason, PanicEvent, PanicModeEvent, PickEvent, PickVerdict,
    ProbeEvent, ReadinessEvent, Recorder, RetryEvent,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn counts(exclusions: &[Exclusions]) -> ExclusionCounts {
    let mut counts = ExclusionCounts::default();
    for exclusions in exclusions {
        counts.add(*exclusions);
    }
    counts
}

fn ended(phase: Phase, outcome: Outcome) -> AttemptEvent<'static> {
    AttemptEvent::new(phase, outcome, Duration::from_millis(1))
}

/// Tells one event of every kind.
fn tell_each(observer: &(impl Observer + ?Sized)) {
    observer.pick(&PickEvent::of(&Ok(Selection::new(0))));
    observer.attempt(&ended(Phase::Call, Outcome::Success));
    observer.readiness_failed(&ReadinessEvent::at("a"));
    observer.retry(&RetryEvent::granted());
    observer.retry(&RetryEvent::denied());
    observer.hedge(&HedgeEvent::new(HedgeVerdict::Sent).at("b"));
    observer.hedge(&HedgeEvent::new(HedgeVerdict::Denied));
    observer.hedge(&HedgeEvent::new(HedgeVerdict::Won));
    for (epoch, change) in (1..).zip(CircuitChange::ALL) {
        observer.circuit(&CircuitEvent::new("a", change, CircuitReason::Failures, epoch));
    }
    for change in MemberChange::ALL {
        observer.member(&MemberEvent::new("a", change));
    }
    observer.build_failed(&BuildEvent::failed("a", 1));
    for change in OutlierChange::ALL {
        for why in OutlierReason::ALL {
            observer.outlier(&OutlierEvent::new("a", change, why, 1));
        }
    }
    observer.probe(&ProbeEvent::healthy("a", 1));
    observer.probe(&ProbeEvent::unhealthy("a", 2));
    observer.panic_mode(&PanicModeEvent::started(1, 3));
    observer.panic_mode(&PanicModeEvent::ended(2, 3));
    observer.membership(&MembershipEvent::new(1, 3));
    observer.fail_fast(&FailFastEvent::started());
    observer.fail_fast(&FailFastEvent::ended());
    observer.panicked(&PanicEvent::new("policy"));
    observer.closed(&ClosedEvent::default());
}

fn assert_heard_each(recorder: &Recorder) {
    let heard = recorder.snapshot();
    let all = [
        heard.picks(PickVerdict::Selected),
        heard.attempts(Phase::Call, Outcome::Success),
        heard.readiness_failures(),
        heard.retries(),
        heard.retries_denied(),
        heard.hedges(),
        heard.hedges_denied(),
        heard.hedges_won(),
        heard.trips(),
        heard.trips_withheld(),
        heard.recoveries(),
        heard.build_failures(),
        heard.found_healthy(),
        heard.found_unhealthy(),
        heard.panic_started(),
        heard.panic_ended(),
        heard.memberships(),
        heard.fail_fast_started(),
        heard.fail_fast_ended(),
        heard.panics(),
    ];
    assert_eq!(all, [1; 20], "each kind of event is counted once, under its own name");
    assert_eq!(MemberChange::ALL.map(|change| heard.members(change)), [1; 5]);
    for change in OutlierChange::ALL {
        assert_eq!(OutlierReason::ALL.map(|reason| heard.outliers(change, reason)), [1; 2]);
    }
}

#[test]
fn each_kind_of_event_has_its_own_counter() {
    let recorder = Recorder::new();
    tell_each(&recorder);
    assert_heard_each(&recorder);
}

#[test]
fn pointers_and_fanouts_pass_on_each_kind_of_event() {
    let [borrowed, boxed, shared, fanned] = std::array::from_fn(|_| Recorder::new());
    tell_each(&&borrowed);
    tell_each(&(Box::new(boxed.clone()) as Box<dyn Observer>));
    tell_each(&(Arc::new(shared.clone()) as Arc<dyn Observer>));
    tell_each(&Fanout::new().with(Noop).with(fanned.clone()));
    [borrowed, boxed, shared, fanned].iter().for_each(assert_heard_each);
}

#[test]
fn every_phase_and_outcome_is_a_counter_of_its_own() {
    let recorder = Recorder::new();
    let outcomes = [Outcome::Success, Outcome::Failure, Outcome::OVERLOAD, Outcome::Cancelled];
    let pairs = || Phase::ALL.into_iter().flat_map(|phase| outcomes.map(|outcome| (phase, outcome)));
    for (times, (phase, outcome)) in pairs().enumerate() {
        (0..=times).for_each(|_| recorder.attempt(&ended(phase, outcome)));
    }
    let heard = recorder.snapshot();
    for (times, (phase, outcome)) in pairs().enumerate() {
        assert_eq!(heard.attempts(phase, outcome), times as u64 + 1, "{phase}, {outcome}");
    }
    assert_eq!(heard.total_attempts(), (1..=8).sum::<u64>());
}

#[test]
fn overloads_count_together_whatever_they_ask_for() {
    let recorder = Recorder::new();
    for retry_after in [None, Some(Duration::ZERO), Some(Duration::from_secs(9))] {
        recorder.attempt(&ended(Phase::Call, Outcome::Overload { retry_after }));
    }
    assert_eq!(recorder.snapshot().attempts(Phase::Call, Outcome::OVERLOAD), 3);
}

#[test]
fn every_verdict_is_a_counter_of_its_own() {
    let recorder = Recorder::new();
    for (times, verdict) in PickVerdict::ALL.into_iter().enumerate() {
        (0..=times).for_each(|_| recorder.pick(&PickEvent::new(verdict)));
    }
    let heard = recorder.snapshot();
    for (times, verdict) in PickVerdict::ALL.into_iter().enumerate() {
        assert_eq!(heard.picks(verdict), times as u64 + 1, "{verdict}");
    }
}

#[test]
fn a_refused_pick_counts_each_candidate_under_each_of_its_reasons() {
    let recorder = Recorder::new();
    let (circuit, draining) = (Exclusions::from(Exclusion::Circuit), Exclusions::from(Exclusion::Draining));
    let counts = counts(&[circuit, circuit | draining, Exclusion::Custom.into()]);
    recorder.pick(&PickEvent::of(&Err(PickError::NoEligible(counts))));
    recorder.pick(&PickEvent::of(&Err(PickError::PanicRejected(counts))));
    recorder.pick(&PickEvent::of(&Ok(Selection::new(1))));
    let heard = recorder.snapshot();
    for reason in Exclusion::ALL {
        assert_eq!(heard.exclusions(reason), 2 * u64::from(counts.of(reason)), "{reason}");
    }
}

#[test]
fn latency_leaves_out_what_was_cancelled() {
    let recorder = Recorder::new();
    assert_eq!(recorder.snapshot().latency(0.5), None);
    recorder.attempt(&AttemptEvent::new(Phase::Call, Outcome::Cancelled, Duration::from_secs(100)));
    assert_eq!(recorder.snapshot().latency(1.0), None, "nobody knows how long it would have taken");
    for millis in 1..=100 {
        recorder.attempt(&AttemptEvent::new(Phase::Call, Outcome::Failure, Duration::from_millis(millis)));
    }
    let heard = recorder.snapshot();
    for (part, exact) in [(0.5, 50.0), (0.9, 90.0), (1.0, 100.0)] {
        let found = heard.latency(part).unwrap().as_secs_f64() * 1000.0;
        assert!((exact..=exact * 1.13).contains(&found), "{found} ms for {part}");
    }
    for part in [f64::NAN, -1.0, 7.0, f64::INFINITY] {
        assert!(heard.latency(part).is_some(), "a part that is none panics nobody");
    }
}

#[test]
fn latency_adds_up_what_all_threads_saw() {
    let recorder = Recorder::new();
    thread::scope(|threads| {
        for millis in 1..=20 {
            let recorder = &recorder;
            threads.spawn(move || {
                recorder.attempt(&AttemptEvent::new(
                    Phase::Call,
                    Outcome::Success,
                    Duration::from_millis(millis),
                ));
            });
        }
    });
    let median = recorder.snapshot().latency(0.5).unwrap();
    assert!((Duration::from_millis(10)..=Duration::from_micros(11_300)).contains(&median), "{median:?}");
}

#[test]
fn nothing_is_lost_between_threads_and_clones() {
    let recorder: Metrics = Recorder::new();
    thread::scope(|threads| {
        for _ in 0..16 {
            let mine = recorder.clone();
            threads.spawn(move || (0..10_000).for_each(|_| tell_each(&mine)));
        }
    });
    let heard = recorder.snapshot();
    assert_eq!(heard.total_attempts(), 160_000);
    assert_eq!(heard.picks(PickVerdict::Selected), 160_000);
    assert_eq!(heard.trips(), 160_000);
}

#[test]
fn one_that_is_new_counts_on_its_own() {
    let (one, other) = (Recorder::new(), Recorder::new());
    tell_each(&one);
    assert_eq!(other.snapshot(), Recorder::default().snapshot());
    assert_ne!(one.snapshot(), other.snapshot());
}

#[test]
fn the_table_is_aligned_and_shows_what_is_not_zero() {
    let recorder = Recorder::new();
    tell_each(&recorder);
    let table = recorder.snapshot().to_string();
    let lines: Vec<_> = table.lines().collect();
    assert!(lines.iter().all(|line| line.chars().count() == lines[0].chars().count()), "{table}");
    for row in ["attempts call success 1", "picks selected 1", "retries denied 1", "circuits tripped 1"] {
        let is_row = |line: &&str| line.split_whitespace().eq(row.split(' '));
        assert_eq!(lines.iter().filter(|line| is_row(line)).count(), 1, "{row} in\n{table}");
    }
    assert!(!table.contains("failure "), "no row is zero:\n{table}");
}

#[test]
fn telling_allocates_nothing() {
    let recorder = Recorder::new();
    let fanout = Fanout::new().with(recorder.clone()).with(Noop);
    let refused = PickEvent::of(&Err(PickError::NoEligible(counts(&[Exclusion::Circuit.into()]))));
    tell_each(&fanout);
    // Tests beside this one may allocate meanwhile, but not each time.
    let quiet = (0..1000).any(|_| {
        let region = Region::new(ALLOCATOR);
        for _ in 0..10 {
            tell_each(&fanout);
            fanout.pick(&refused);
        }
        region.change().allocations == 0
    });
    assert!(quiet, "telling an event allocates");
}

#[test]
fn it_takes_the_memory_that_it_says() {
    // Tests beside this one may allocate meanwhile, so that this is the least of many.
    let bytes = (0..100).map(|_| {
        let region = Region::new(ALLOCATOR);
        let recorder = Recorder::new();
        let bytes = region.change().bytes_allocated;
        drop(recorder);
        bytes
    });
    let bytes = bytes.min().unwrap();
    assert!((76 * 1024 - 1024..76 * 1024 + 1024).contains(&bytes), "{bytes} bytes");
}
