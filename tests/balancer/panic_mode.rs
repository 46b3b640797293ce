//! Claims on a `Balancer` of whose members too few are healthy: it goes on with all of them or fails fast, as it was told.

use std::future::ready;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use poise::core::policy::{Maglev, RoundRobin};
use poise::core::{Attributes, Exclusion, InFlight, Status};
use poise::health::{ActiveHealthConfig, CircuitState, ProbeOutcome, UnknownPolicy};
use poise::observe::{PickVerdict, Recorder};
use poise::tower::{BalancerErrorKind, PanicMode, PanicModeError};
use tokio::time::{Instant, sleep};
use tower::Service;

use crate::support::pool_endpoints::{Cast, Manner, Pool};
use crate::support::told_health::ToldHealth;

const SECOND: Duration = Duration::from_secs(1);

fn at_once() -> Manner {
    Manner::Answers(Duration::ZERO)
}

/// Who is unwell, by the word of probes.
#[derive(Clone, Default)]
struct Unwell(Arc<Mutex<Vec<&'static str>>>);

impl Unwell {
    fn set(&self, names: &[&'static str]) {
        *self.0.lock().unwrap() = names.into();
    }

    fn probe(&self, name: &'static str) -> std::future::Ready<ProbeOutcome> {
        let is_unwell = self.0.lock().unwrap().contains(&name);
        ready(if is_unwell { ProbeOutcome::Unhealthy } else { ProbeOutcome::Healthy })
    }
}

/// Returns who serves the next requests, each once.
async fn serving(pool: &Pool) -> Vec<&'static str> {
    let mut by = Vec::new();
    for request in 0..40 {
        by.push(pool.send(request).await.unwrap().by);
    }
    by.sort_unstable();
    by.dedup();
    by
}

#[tokio::test(start_paused = true)]
async fn with_probes_requests_go_to_all_when_fewer_than_half_are_healthy() {
    let (cast, unwell) = (Cast::new(&["a", "b", "c", "d"], at_once()), Unwell::default());
    let (told, recorder, probing) = (ToldHealth::default(), Recorder::new(), unwell.clone());
    let pool = cast
        .builder()
        .policy(RoundRobin::starting_at(0))
        .probe(move |member| probing.probe(member.key()))
        .hook(told.clone())
        .observe(recorder.clone())
        .spawn()
        .unwrap();
    sleep(SECOND).await;
    unwell.set(&["a", "b"]);
    sleep(31 * SECOND).await;
    assert_eq!(serving(&pool).await, ["c", "d"], "half is enough");
    assert!(!pool.report().panicking);

    unwell.set(&["a", "b", "c"]);
    sleep(31 * SECOND).await;
    assert_eq!(serving(&pool).await, ["a", "b", "c", "d"]);
    let report = pool.report();
    assert!(report.panicking && report.to_string().contains(", in panic"));
    assert_eq!(report.eligible(), 1, "what health says is kept");
    assert_eq!(recorder.snapshot().picks(PickVerdict::SelectedInPanic), 40);

    unwell.set(&[]);
    sleep(21 * SECOND).await;
    assert!(!pool.report().panicking);
    serving(&pool).await;
    assert_eq!(recorder.snapshot().picks(PickVerdict::SelectedInPanic), 40);
    let panics: Vec<_> = told.all().into_iter().filter(|told| told.starts_with("panic")).collect();
    assert_eq!(panics, ["panic begins: 1 of 4", "panic ends: 2 of 4"]);
    assert_eq!((recorder.snapshot().panic_started(), recorder.snapshot().panic_ended()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn without_probes_nothing_is_overridden_unless_it_is_asked_for() {
    let cast = Cast::new(&["a", "b", "c", "d"], at_once());
    let pool = cast.builder().policy(RoundRobin::starting_at(0)).spawn().unwrap();
    for name in ["a", "b", "c"] {
        pool.force_open(name).unwrap();
    }
    assert_eq!(serving(&pool).await, ["d"]);
    let pool = cast.builder().policy(RoundRobin::starting_at(0)).panic(PanicMode::route()).spawn().unwrap();
    for name in ["a", "b", "c"] {
        pool.force_open(name).unwrap();
    }
    assert_eq!(serving(&pool).await, ["a", "b", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_who_drains_or_was_taken_out_is_revived() {
    let mut cast = Cast::new(&["a", "b", "c", "d", "e"], at_once());
    let unavailable = Attributes::default().with_status(Status::Unavailable);
    cast.directory.amend(&"a", unavailable).unwrap();
    for policy in [true, false] {
        let builder = cast.builder().panic(PanicMode::route());
        let pool = if policy {
            builder.policy(RoundRobin::starting_at(0)).spawn().unwrap()
        } else {
            builder.policy(Maglev::new()).key(|request| request).spawn().unwrap()
        };
        pool.exclude("b").unwrap();
        pool.drain("c").unwrap();
        assert!(!pool.report().panicking, "both that are left are healthy");
        for name in ["a", "b", "c", "d", "e"] {
            pool.force_open(name).unwrap();
        }
        assert_eq!(serving(&pool).await, ["d", "e"]);
        pool.exclude("d").unwrap();
        pool.exclude("e").unwrap();
        assert!(!pool.report().panicking, "nobody could be revived");
        let error = pool.send(0).await.unwrap_err();
        assert!(matches!(error.kind(), BalancerErrorKind::NoEligible(_)), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_told_to_fail_fast_says_how_many_are_left_and_why() {
    let (cast, unwell) = (Cast::new(&["a", "b", "c"], at_once()), Unwell::default());
    let (recorder, probing) = (Recorder::new(), unwell.clone());
    let mut pool = cast
        .builder()
        .policy(RoundRobin::starting_at(0))
        .probe(move |member| probing.probe(member.key()))
        .panic(PanicMode::fail_fast())
        .observe(recorder.clone())
        .spawn()
        .unwrap();
    unwell.set(&["a", "b", "c"]);
    sleep(31 * SECOND).await;
    let start = Instant::now();
    std::future::poll_fn(|cx| pool.poll_ready(cx)).await.unwrap();
    let error = pool.send(0).await.unwrap_err();
    assert_eq!(start.elapsed(), Duration::ZERO, "at once");
    let BalancerErrorKind::PanicRejected(counts) = error.kind() else { panic!("{error}") };
    assert_eq!((counts.candidates(), counts.of(Exclusion::Probe)), (3, 3));
    assert!(error.is_retryable());
    assert_eq!(recorder.snapshot().picks(PickVerdict::PanicRejected), 1);
    assert_eq!(cast.all_calls(), 0);

    unwell.set(&["a"]);
    sleep(21 * SECOND).await;
    assert_eq!(serving(&pool).await, ["b", "c"]);
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_woken_when_panic_begins() {
    let mut cast = Cast::new(&["a", "b"], at_once());
    for mode in [PanicMode::route(), PanicMode::fail_fast()] {
        let is_routed = mode == PanicMode::route();
        let pool = cast.builder().panic(mode).fail_fast(Duration::MAX).spawn().unwrap();
        pool.exclude("a").unwrap();
        cast.directory.amend(&"b", Attributes::default().with_status(Status::Unavailable)).unwrap();
        sleep(SECOND).await;
        pool.force_open("b").unwrap();
        let waiting = tokio::spawn(pool.send(0));
        sleep(SECOND).await;
        assert!(!waiting.is_finished());
        // Who comes back is unwell, and alone.
        cast.directory.amend(&"b", Attributes::default()).unwrap();
        sleep(SECOND).await;
        assert!(waiting.is_finished() && pool.report().panicking);
        match waiting.await.unwrap() {
            Ok(answer) => assert!(is_routed && answer.by == "b"),
            Err(error) => {
                assert!(!is_routed && matches!(error.kind(), BalancerErrorKind::PanicRejected(_)), "{error}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_circuit_learns_nothing_from_its_guests() {
    let cast = Cast::new(&["a", "b"], at_once());
    let pool = cast
        .builder()
        .policy(RoundRobin::starting_at(0))
        .panic(PanicMode::route().with_threshold(1.0).unwrap())
        .spawn()
        .unwrap();
    pool.force_open("a").unwrap();
    cast.tell("a", Manner::Fails(Duration::ZERO));
    for request in 0..20 {
        drop(pool.send(request).await);
    }
    assert_eq!(cast.calls("a"), 10);
    let a = pool.report().member("a").unwrap().clone();
    assert_eq!((a.circuit, a.trips, a.in_flight), (Some(CircuitState::ForcedOpen), 0, 0));
    pool.restore("a").unwrap();
    assert_eq!(pool.report().member("a").unwrap().circuit, Some(CircuitState::Closed { failures: 0 }));
}

#[tokio::test(start_paused = true)]
async fn limits_hold_in_panic() {
    let cast = Cast::new(&["a", "b"], Manner::Hangs);
    let pool =
        cast.builder().load(|| InFlight::from(NonZeroU32::MIN)).panic(PanicMode::route()).spawn().unwrap();
    pool.force_open("a").unwrap();
    pool.force_open("b").unwrap();
    let (first, second) = (pool.send(0), pool.send(1));
    let error = pool.send(2).await.unwrap_err();
    assert!(matches!(error.kind(), BalancerErrorKind::AtCapacity(_)), "{error}");
    drop((first, second));
    assert!(pool.report().members.iter().all(|member| member.in_flight == 0));
}

#[tokio::test(start_paused = true)]
async fn that_nothing_is_known_yet_is_no_panic() {
    let (cast, may_answer) = (Cast::new(&["a", "b"], at_once()), Arc::new(AtomicBool::new(false)));
    let config = ActiveHealthConfig::default().with_unknown_policy(UnknownPolicy::Deny).with_fast_start();
    let gate = Arc::clone(&may_answer);
    let pool = cast
        .builder()
        .probe(move |_| {
            let gate = Arc::clone(&gate);
            async move {
                while !gate.load(Ordering::Relaxed) {
                    sleep(Duration::from_millis(10)).await;
                }
                ProbeOutcome::Healthy
            }
        })
        .probe_config(config)
        .spawn()
        .unwrap();
    let waiting = tokio::spawn(pool.send(0));
    sleep(2 * SECOND).await;
    assert!(!waiting.is_finished() && !pool.report().panicking);
    may_answer.store(true, Ordering::Relaxed);
    sleep(Duration::from_millis(20)).await;
    assert!(waiting.await.unwrap().is_ok());
}

#[test]
fn a_threshold_is_a_fraction() {
    for threshold in [0.0, -1.0, 1.01, f64::NAN, f64::INFINITY] {
        assert_eq!(PanicMode::route().with_threshold(threshold), Err(PanicModeError::InvalidThreshold));
    }
    assert!(PanicMode::fail_fast().with_threshold(1.0).is_ok());
    assert!(PanicMode::fail_fast().with_threshold(f64::MIN_POSITIVE).is_ok());
}
