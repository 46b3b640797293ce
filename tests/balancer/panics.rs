//! Claims on `Balancer`: a panic in code of the user is contained or reaches its caller, and nothing is lost by it.

use std::time::Duration;

use poise::core::policy::{Maglev, RoundRobin};
use poise::core::{AtCapacity, Backend, InFlight, LoadMetric, LoadTracker, Now, Outcome};
use poise::health::{CircuitConfig, CircuitState};
use poise::tower::{BalancerErrorKind, Event, Hook, MemberReport};

use crate::support::pool_caller::{Came, Contained, assert_serves, send};
use crate::support::pool_endpoints::{Answer, Cast, Manner, in_flight};
use crate::support::pool_policies::{Brittle, Mood, Moody, TWINS};

const NAMES: [&str; 3] = ["a", "b", "c"];

fn at_once() -> Manner {
    Manner::Answers(Duration::ZERO)
}

async fn a_while(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

const PANICS: [Manner; 4] =
    [Manner::PanicsInClone, Manner::PanicsInReadiness, Manner::PanicsInCall, Manner::PanicsInFuture];

#[tokio::test(start_paused = true)]
async fn the_caller_sees_a_panic_of_the_policy_and_nobody_else_does() {
    let cast = Cast::new(&NAMES, at_once());
    let policy = Moody::new(RoundRobin::new());
    let when_picking = policy.when_picking();
    let pool = cast.builder().policy(policy).spawn().unwrap();
    when_picking.set(Mood::Panics);
    for request in 0..10 {
        assert!(matches!(send(&pool, request).await, Came::Panic));
    }
    let report = pool.report();
    assert!(report.members.iter().all(|member| member.picks == 0));
    when_picking.set(Mood::Refuses);
    let Came::Error(error) = send(&pool, 0).await else { panic!("the policy refused") };
    assert_eq!(*error.kind(), BalancerErrorKind::Policy(TWINS));
    when_picking.set(Mood::Fine);
    assert_serves(&pool, 12).await;
}

#[tokio::test(start_paused = true)]
async fn a_table_that_panics_at_a_flip_stops_neither_requests_nor_the_driver() {
    let mut cast = Cast::new(&NAMES, at_once());
    let contained = Contained::default();
    let pool = cast
        .builder()
        .policy(Brittle(RoundRobin::new()))
        .circuit(CircuitConfig::new(1, Duration::from_secs(1)).unwrap())
        .hook(contained.clone())
        .spawn()
        .unwrap();
    cast.tell("a", Manner::Fails(Duration::ZERO));
    for request in 0..3 {
        assert!(!matches!(send(&pool, request).await, Came::Panic));
    }
    assert_eq!((pool.report().eligible(), contained.all()), (2, vec!["policy"]), "a has tripped");

    cast.tell("a", Manner::PanicsInFuture);
    a_while(1_001).await;
    assert_eq!(pool.report().eligible(), 3, "the driver saw that the cooldown was over");
    let mut panics = 0;
    for request in 0..3 {
        panics += u32::from(matches!(send(&pool, request).await, Came::Panic));
    }
    assert_eq!((panics, in_flight(&pool.report())), (1, 0), "a panic in a panic is no end of the process");

    cast.tell("a", at_once());
    cast.add("d", at_once());
    a_while(1).await;
    assert_eq!(pool.report().revision, cast.directory.revision());
    assert_serves(&pool, 12).await;
}

#[tokio::test(start_paused = true)]
async fn the_caller_sees_a_panic_of_its_key_and_nobody_else_does() {
    let cast = Cast::new(&NAMES, at_once());
    let key = |request: &u64| {
        assert_ne!(*request, 7, "a request without a key");
        *request
    };
    let pool = cast.builder().policy(Maglev::new()).computed_key(key).spawn().unwrap();
    assert!(matches!(send(&pool, 7).await, Came::Panic));
    assert_serves(&pool, 7).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_survives_a_classifier_that_panics_and_counts_as_nothing() {
    let cast = Cast::new(&NAMES, at_once());
    let contained = Contained::default();
    let pool = cast
        .builder()
        .circuit(CircuitConfig::new(1, Duration::from_secs(1)).unwrap())
        .classify(|_| panic!("the classifier panics"))
        .hook(contained.clone())
        .spawn()
        .unwrap();
    let Came::Answer(Answer { is_good: true, .. }) = send(&pool, 0).await else { panic!("it was answered") };
    cast.tell_all(Manner::Fails(Duration::ZERO));
    for request in 0..9 {
        let Came::Error(error) = send(&pool, request).await else { panic!("it failed") };
        assert_eq!(*error.kind(), BalancerErrorKind::Endpoint);
    }
    let report = pool.report();
    let count = |of: fn(&MemberReport) -> u64| report.members.iter().map(of).sum::<u64>();
    assert_eq!(
        (count(|member| member.cancelled), count(|member| member.failures), in_flight(&report)),
        (10, 0, 0)
    );
    assert_eq!((report.eligible(), contained.all()), (3, vec!["classifier"; 10]));
}

struct Panicking;

impl Hook for Panicking {
    fn on(&self, _: &Event<'_>) {
        panic!("the hook panics");
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_always_panics_disturbs_nobody() {
    let mut cast = Cast::new(&NAMES, at_once());
    cast.tell("a", Manner::Fails(Duration::ZERO));
    let pool = cast.builder().policy(RoundRobin::new()).hook(Panicking).spawn().unwrap();
    for request in 0..50 {
        drop(send(&pool, request).await);
    }
    assert_eq!(pool.report().member("a").unwrap().trips, 1);
    cast.tell("a", at_once());
    cast.directory.upsert("b", Backend::new("b")).unwrap();
    a_while(2_000).await;
    assert_eq!(pool.report().revision, cast.directory.revision());
    assert_serves(&pool, 50).await;
    assert_eq!(pool.report().eligible(), 3);

    cast.tell("a", Manner::PanicsInCall);
    for request in 0..9 {
        drop(send(&pool, request).await);
    }
    let report = pool.report();
    assert_eq!((report.member("a").unwrap().cancelled, in_flight(&report)), (3, 0), "two panics at once");
}

#[tokio::test(start_paused = true)]
async fn the_caller_sees_a_panic_of_a_service_and_nothing_of_it_is_lost() {
    for manner in PANICS {
        let cast = Cast::new(&NAMES, at_once());
        let pool = cast.builder().policy(RoundRobin::starting_at(0)).spawn().unwrap();
        cast.tell("b", manner);
        let mut panics = 0;
        for request in 0..30 {
            panics += u32::from(matches!(send(&pool, request).await, Came::Panic));
        }
        let report = pool.report();
        let broken = report.member("b").unwrap();
        assert_eq!((panics, broken.cancelled, broken.failures), (10, 10, 0), "{manner:?}: {report}");
        assert_eq!((in_flight(&report), report.eligible()), (0, 3), "{manner:?}: {report}");
        cast.tell("b", at_once());
        assert_serves(&pool, 30).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_gives_back_the_permit_of_a_probe_and_the_place_under_a_limit() {
    for manner in PANICS {
        let cast = Cast::new(&["a", "b"], at_once());
        let pool = cast
            .builder()
            .load(|| InFlight::with_limit(1).unwrap())
            .policy(RoundRobin::starting_at(0))
            .circuit(CircuitConfig::new(1, Duration::from_secs(1)).unwrap())
            .spawn()
            .unwrap();
        let answered = async |request| matches!(send(&pool, request).await, Came::Answer(_));
        cast.tell("a", Manner::Fails(Duration::ZERO));
        assert!(!answered(0).await && answered(1).await && answered(2).await, "a has tripped");
        cast.tell("a", manner);
        a_while(1_100).await;
        let mut failed = 0;
        for request in 0..10 {
            failed += u32::from(!answered(request).await);
        }
        let state = pool.report().member("a").unwrap().circuit;
        assert!(matches!(state, Some(CircuitState::HalfOpen { probes: 0, .. })), "{manner:?}: {state:?}");
        assert!(failed >= 5, "every second request is a probe that panics, and {failed} did");
        cast.tell("a", at_once());
        assert!(answered(0).await && answered(1).await);
        let state = pool.report().member("a").unwrap().circuit;
        assert_eq!(state, Some(CircuitState::Closed { failures: 0 }), "{manner:?}");
    }
}

/// A tracker that panics when an attempt ends.
struct Fragile;

impl LoadMetric for Fragile {
    fn measure(&self, _: &Now) -> f64 {
        0.0
    }
}

impl LoadTracker for Fragile {
    type Ticket = ();

    fn start(&self, _: &Now) -> Result<(), AtCapacity> {
        Ok(())
    }

    fn responded(&self, (): (), _: Outcome, _: &Now) {
        panic!("the tracker panics");
    }

    fn release(&self, (): (), _: &Now) {}
}

#[tokio::test(start_paused = true)]
async fn a_tracker_that_panics_costs_no_answer_and_no_process() {
    let cast = Cast::new(&NAMES, at_once());
    let contained = Contained::default();
    let pool = cast.builder().load(|| Fragile).hook(contained.clone()).spawn().unwrap();
    for request in 0..10 {
        assert!(matches!(send(&pool, request).await, Came::Answer(..)));
    }
    assert_eq!(contained.all().iter().filter(|what| **what == "load").count(), 10, "each panic is told");
    cast.tell_all(Manner::PanicsInFuture);
    for request in 0..10 {
        assert!(
            matches!(send(&pool, request).await, Came::Panic),
            "a second panic while one unwinds is contained"
        );
    }
    assert_eq!(in_flight(&pool.report()), 0);
}

/// A tracker that panics when an attempt starts.
struct Obstinate;

impl LoadMetric for Obstinate {
    fn measure(&self, _: &Now) -> f64 {
        0.0
    }
}

impl LoadTracker for Obstinate {
    type Ticket = ();

    fn start(&self, _: &Now) -> Result<(), AtCapacity> {
        panic!("the tracker panics");
    }

    fn responded(&self, (): (), _: Outcome, _: &Now) {}

    fn release(&self, (): (), _: &Now) {}
}

#[tokio::test(start_paused = true)]
async fn a_tracker_and_a_service_that_panic_at_the_start_reach_the_caller_as_one_panic() {
    let cast = Cast::new(&NAMES, at_once());
    let pool = cast.builder().load(|| Obstinate).spawn().unwrap();
    for manner in [at_once(), Manner::PanicsInClone] {
        cast.tell_all(manner);
        for request in 0..10 {
            assert!(matches!(send(&pool, request).await, Came::Panic), "{manner:?}");
        }
        let report = pool.report();
        assert_eq!(
            (report.members.iter().map(|member| member.picks).sum::<u64>(), in_flight(&report)),
            (0, 0)
        );
    }
}
