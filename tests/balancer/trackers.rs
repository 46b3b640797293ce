//! Claims on `Balancer`: a load tracker of the user that panics keeps nothing that an attempt was issued.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use poise::core::policy::RoundRobin;
use poise::core::{AtCapacity, InFlight, LoadMetric, LoadTracker, Now, Outcome};
use poise::health::{CircuitConfig, CircuitState};

use crate::support::pool_caller::{Came, Contained, assert_serves, send};
use crate::support::pool_endpoints::{Cast, Manner, in_flight};

/// Has one place, and panics where it is told to.
#[derive(Default)]
struct Fragile {
    at_start: AtomicBool,
    at_answer: AtomicBool,
}

/// A place under a limit, and what it takes to panic around it.
struct Limited(InFlight, Arc<Fragile>);

fn limited(fragile: &Arc<Fragile>) -> impl Fn() -> Limited + Send + Sync + use<> {
    let fragile = Arc::clone(fragile);
    move || Limited(InFlight::with_limit(1).unwrap(), Arc::clone(&fragile))
}

impl LoadMetric for Limited {
    fn measure(&self, now: &Now) -> f64 {
        self.0.measure(now)
    }
}

impl LoadTracker for Limited {
    type Ticket = <InFlight as LoadTracker>::Ticket;

    fn start(&self, now: &Now) -> Result<Self::Ticket, AtCapacity> {
        assert!(!self.1.at_start.load(Ordering::Relaxed), "the tracker panics at the start");
        self.0.start(now)
    }

    fn responded(&self, ticket: Self::Ticket, outcome: Outcome, now: &Now) {
        assert!(!self.1.at_answer.load(Ordering::Relaxed), "the tracker panics at the answer");
        self.0.responded(ticket, outcome, now);
    }

    fn release(&self, ticket: Self::Ticket, now: &Now) {
        self.0.release(ticket, now);
    }

    fn is_full(&self) -> bool {
        self.0.is_full()
    }

    fn has_limit(&self) -> bool {
        true
    }
}

#[tokio::test(start_paused = true)]
async fn the_place_at_a_tracker_that_panics_at_the_answer_comes_back() {
    let cast = Cast::new(&["a"], Manner::Answers(Duration::ZERO));
    let (fragile, contained) = (Arc::new(Fragile::default()), Contained::default());
    let pool = cast.builder().load(limited(&fragile)).hook(contained.clone()).spawn().unwrap();
    fragile.at_answer.store(true, Ordering::Relaxed);
    assert_serves(&pool, 10).await;
    assert_eq!(contained.all(), ["load"; 10], "each panic is told once");
}

#[tokio::test(start_paused = true)]
async fn a_tracker_that_panics_at_the_start_keeps_no_probe_of_a_circuit() {
    let cast = Cast::new(&["a", "b"], Manner::Answers(Duration::ZERO));
    let fragile = Arc::new(Fragile::default());
    let pool = cast
        .builder()
        .load(limited(&fragile))
        .policy(RoundRobin::starting_at(0))
        .circuit(CircuitConfig::new(1, Duration::from_secs(1)).unwrap())
        .spawn()
        .unwrap();
    cast.tell("a", Manner::Fails(Duration::ZERO));
    assert!(matches!(send(&pool, 0).await, Came::Error(_)), "it trips");
    tokio::time::sleep(Duration::from_millis(1_100)).await;

    cast.tell("a", Manner::Answers(Duration::ZERO));
    fragile.at_start.store(true, Ordering::Relaxed);
    for request in 0..6 {
        assert!(matches!(send(&pool, request).await, Came::Panic), "the caller sees it");
    }
    let report = pool.report();
    let state = report.member("a").unwrap().circuit;
    assert!(!matches!(state, Some(CircuitState::HalfOpen { probes: 1.., .. })), "{state:?}");
    assert_eq!(in_flight(&report), 0);
    fragile.at_start.store(false, Ordering::Relaxed);
    assert_serves(&pool, 3).await;
    let state = pool.report().member("a").unwrap().circuit;
    assert_eq!(state, Some(CircuitState::Closed { failures: 0 }));
}
