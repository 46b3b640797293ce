//! A balancer tells its structured events as they happen, with the right reasons and epochs.

#![cfg(all(feature = "full", not(loom)))]

#[path = "support/fields.rs"]
mod fields;
#[path = "support/kept_events.rs"]
mod kept_events;
#[path = "support/pool_endpoints.rs"]
#[expect(dead_code, reason = "the tests of the balancer use all of it")]
mod pool_endpoints;
#[path = "support/pool_traffic.rs"]
#[expect(dead_code, reason = "the tests of the balancer use all of it")]
mod traffic;

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::tracing::Level;
use ::tracing::level_filters::LevelFilter;
use ::tracing::subscriber::{DefaultGuard, set_default};
use poise::core::policy::RoundRobin;
use poise::health::{CircuitConfig, ProbeOutcome};
use poise::observe::TracingObserver;
use poise::tower::{Balancer, Retry, RetryBudget};
use tokio::time::sleep;

use self::kept_events::{Events, at, epoch, number, reason, said, text};
use self::pool_endpoints::{Cast, Manner, Pool};
use self::traffic::Traffic;

const SECOND: Duration = Duration::from_secs(1);

/// Keeps what is said on this thread from now on, down to a level.
fn listen(down_to: LevelFilter) -> (Events, DefaultGuard) {
    let events = Events::default();
    let guard = set_default(events.subscriber(down_to));
    (events, guard)
}

fn at_once() -> Manner {
    Manner::Answers(Duration::ZERO)
}

fn fails() -> Manner {
    Manner::Fails(Duration::ZERO)
}

async fn send(pool: &Pool, requests: u64) {
    for request in 0..requests {
        drop(pool.send(request).await);
    }
}

const UNBUILT: &str = "the service of a member did not come about";
const TRIPPED: &str = "a circuit opened";
const KEPT_CLOSED: &str = "a circuit was not opened: the budget is spent";
const RECOVERED: &str = "a circuit closed";

#[tokio::test(start_paused = true)]
async fn a_circuit_tells_of_each_transition_with_the_epoch_that_it_starts() {
    let (events, _guard) = listen(LevelFilter::DEBUG);
    let cast = Cast::new(&["a", "b"], at_once());
    cast.tell("a", fails());
    let pool = cast
        .builder()
        .policy(RoundRobin::starting_at(0))
        .circuit(CircuitConfig::new(2, SECOND).unwrap())
        .without_outliers()
        .observe(TracingObserver::new())
        .spawn()
        .unwrap();
    send(&pool, 4).await;
    // The first epoch after the cooldown is half open, and its probe fails; so does not that of the next.
    sleep(2 * SECOND).await;
    send(&pool, 4).await;
    cast.tell("a", at_once());
    sleep(4 * SECOND).await;
    send(&pool, 4).await;
    let told = events.saying(&[TRIPPED, KEPT_CLOSED, RECOVERED]);
    let expected = [
        said(Level::WARN, TRIPPED, &[at("a"), reason("failures"), epoch(1)]),
        said(Level::WARN, TRIPPED, &[at("a"), reason("probe"), epoch(3)]),
        said(Level::INFO, RECOVERED, &[at("a"), reason("probe"), epoch(5)]),
    ];
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn a_circuit_that_the_budget_has_stay_closed_tells_of_it_each_time_that_it_asks() {
    let (events, _guard) = listen(LevelFilter::DEBUG);
    let cast = Cast::new(&["a", "b"], fails());
    let pool = cast
        .builder()
        .policy(RoundRobin::starting_at(0))
        .circuit(CircuitConfig::new(2, 60 * SECOND).unwrap())
        .without_outliers()
        .observe(TracingObserver::new())
        .spawn()
        .unwrap();
    send(&pool, 6).await;
    let told = events.saying(&[TRIPPED, KEPT_CLOSED, RECOVERED]);
    let tripped = said(Level::WARN, TRIPPED, &[at("a"), reason("failures"), epoch(1)]);
    let withheld = said(Level::DEBUG, KEPT_CLOSED, &[at("b"), reason("failures"), epoch(0)]);
    assert_eq!(told, [tripped, withheld.clone(), withheld.clone(), withheld], "half of two may be out");
}

#[tokio::test(start_paused = true)]
async fn an_ejection_and_a_return_tell_why_and_in_which_epoch() {
    let (events, _guard) = listen(LevelFilter::INFO);
    let cast = Cast::new(&["a", "b", "c", "d", "e", "f"], at_once());
    cast.tell("a", Manner::FailsOneIn(2));
    let observer = TracingObserver::new().without_spans();
    let pool = cast.builder().policy(RoundRobin::starting_at(0)).observe(observer).spawn().unwrap();
    Traffic::new(11_000, Duration::from_millis(1)).send(&pool).await;
    cast.tell("b", Manner::FailsOneIn(2));
    Traffic::new(10_000, Duration::from_millis(1)).send(&pool).await;
    cast.tell_all(at_once());
    sleep(30 * SECOND).await;

    let messages = [
        "a member was ejected",
        "a member was not ejected: the budget is spent",
        "an ejected member returned",
    ];
    let [ejected, withheld, returned] = messages;
    let expected = [
        said(Level::WARN, ejected, &[at("a"), reason("success_rate"), epoch(1)]),
        said(Level::WARN, withheld, &[at("b"), reason("success_rate"), epoch(0)]),
        said(Level::INFO, returned, &[at("a"), reason("success_rate"), epoch(2)]),
    ];
    let mut told = events.saying(&messages);
    // Each sweep asks again.
    told.dedup();
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn verdicts_of_probes_panic_mode_and_memberships_are_told_as_they_happen() {
    let (events, _guard) = listen(LevelFilter::INFO);
    let cast = Cast::new(&["a"], at_once());
    let unwell = Arc::new(AtomicBool::new(false));
    let probing = Arc::clone(&unwell);
    let pool = cast
        .builder()
        .probe(move |_| {
            let is_unwell = probing.load(Ordering::Relaxed);
            ready(if is_unwell { ProbeOutcome::Unhealthy } else { ProbeOutcome::Healthy })
        })
        .observe(TracingObserver::new())
        .spawn()
        .unwrap();
    sleep(SECOND).await;
    unwell.store(true, Ordering::Relaxed);
    sleep(31 * SECOND).await;
    unwell.store(false, Ordering::Relaxed);
    sleep(31 * SECOND).await;
    drop(pool);

    let [healthy, unhealthy] = ["probes found an endpoint healthy", "probes found an endpoint unhealthy"];
    let expected = [
        said(Level::INFO, healthy, &[at("a"), epoch(1)]),
        said(Level::WARN, unhealthy, &[at("a"), epoch(2)]),
        said(Level::INFO, healthy, &[at("a"), epoch(3)]),
    ];
    assert_eq!(events.saying(&[healthy, unhealthy]), expected);

    let [few, enough] = ["too few members are healthy", "enough members are healthy again"];
    let counts = |eligible| [("eligible", number(eligible)), ("members", number(1))];
    let expected = [said(Level::WARN, few, &counts(0)), said(Level::INFO, enough, &counts(1))];
    assert_eq!(events.saying(&[few, enough]), expected);

    let effect = "a membership took effect";
    let revision = ("revision", number(cast.directory.revision().value()));
    let fields = [revision, ("members", number(1)), ("unbuilt", number(0))];
    assert_eq!(events.saying(&[effect]), [said(Level::INFO, effect, &fields)]);
    assert_eq!(events.all().len(), 6, "and nothing else");
}

#[tokio::test(start_paused = true)]
async fn a_denied_retry_follows_the_failure_that_asked_for_it() {
    let (events, _guard) = listen(LevelFilter::DEBUG);
    let empty = RetryBudget::new().with_ratio(0.0).unwrap().with_floor(0);
    let pool = Cast::new(&["a"], fails())
        .builder()
        .retry(Retry::attempts(2).unwrap().with_budget(empty))
        .observe(TracingObserver::new())
        .spawn()
        .unwrap();
    send(&pool, 1).await;
    let words: Vec<_> = events.all().into_iter().map(|event| event.message).collect();
    let expected =
        ["a membership took effect", "an attempt failed", "a retry was denied: the budget is spent"];
    assert_eq!(words, expected);
}

#[tokio::test(start_paused = true)]
async fn what_operators_say_and_the_ends_of_drains_are_told_as_they_happen() {
    let (events, _guard) = listen(LevelFilter::INFO);
    let cast = Cast::new(&["a", "b"], at_once());
    let pool = cast.builder().observe(TracingObserver::new()).spawn().unwrap();
    pool.drain("a").unwrap();
    sleep(SECOND).await;
    for (verb, name) in
        [(Pool::exclude as fn(&Pool, &str) -> _, "b"), (Pool::force_open, "a"), (Pool::restore, "a")]
    {
        verb(&pool, name).unwrap();
    }
    pool.drain("nobody").unwrap_err();
    let word = |name, change| {
        said(Level::INFO, "an operator said something of a member", &[at(name), ("change", text(change))])
    };
    let expected = [
        word("a", "drain"),
        said(Level::INFO, "a drain is done", &[at("a"), ("change", text("drained"))]),
        word("b", "exclude"),
        word("a", "force_open"),
        word("a", "restore"),
    ];
    assert_eq!(events.saying(&["an operator said something of a member", "a drain is done"]), expected);
}

#[tokio::test(start_paused = true)]
async fn a_member_that_cannot_be_connected_to_is_told_of_each_time_and_counted_in_a_row() {
    let (events, _guard) = listen(LevelFilter::INFO);
    let cast = Cast::new(&["a", "b"], at_once());
    let is_down = Arc::new(AtomicBool::new(true));
    let (down, make) = (Arc::clone(&is_down), cast.services());
    let pool = Balancer::builder()
        .try_discover(cast.directory.reader(), move |name, backend| {
            let fails = *name == "a" && down.load(Ordering::Relaxed);
            if fails { Err("it is down") } else { Ok(make(name, backend)) }
        })
        .observe(TracingObserver::new())
        .spawn()
        .unwrap();
    // At once, after about a second, and after about two more.
    sleep(5 * SECOND).await;
    is_down.store(false, Ordering::Relaxed);
    sleep(30 * SECOND).await;
    let failed = |failures| said(Level::WARN, UNBUILT, &[at("a"), ("failures", number(failures))]);
    assert_eq!(events.saying(&[UNBUILT]), [failed(1), failed(2), failed(3)]);
    assert_eq!(pool.report().last_error.as_deref(), None);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_not_ready_to_take_over_is_told_of_until_it_does() {
    let (events, _guard) = listen(LevelFilter::INFO);
    let mut cast = Cast::new(&["a"], at_once());
    let _pool = cast.builder().observe(TracingObserver::new()).spawn().unwrap();
    sleep(SECOND).await;
    cast.tell("a", Manner::PanicsInReadiness);
    cast.replace("a");
    sleep(60 * SECOND).await;
    // At once and after pauses of one, two and four seconds, less up to a fifth; after ten it takes over as it is.
    let failed = |failures| said(Level::WARN, UNBUILT, &[at("a"), ("failures", number(failures))]);
    assert_eq!(events.saying(&[UNBUILT]), [failed(1), failed(2), failed(3), failed(4)]);
}
