//! Claims on the slow start of a `Balancer`: whoever is new or back gets its share little by little.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use poise::core::policy::{RoundRobin, WeightedRandom};
use poise::health::{CircuitConfig, EjectorConfig, ProbeOutcome, SlowStartConfig};
use tokio::time::sleep;

use crate::support::pool_endpoints::{Cast, Manner, Pool};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

fn at_once() -> Manner {
    Manner::Answers(Duration::ZERO)
}

fn over_ten_seconds() -> SlowStartConfig {
    SlowStartConfig::new(10 * SECOND).unwrap()
}

fn ramp(pool: &Pool, name: &str) -> f32 {
    pool.report().member(name).unwrap().ramp
}

fn assert_ramp(pool: &Pool, name: &str, expected: f32) {
    let ramp = ramp(pool, name);
    assert!((ramp - expected).abs() < 0.02, "{ramp} and not {expected}\n{}", pool.report());
}

#[tokio::test(start_paused = true)]
async fn a_newcomer_takes_its_share_little_by_little() {
    let mut cast = Cast::new(&["a", "b", "c", "d"], at_once());
    let pool =
        cast.builder().policy(WeightedRandom::seeded(5)).slow_start(over_ten_seconds()).spawn().unwrap();
    sleep(MINUTE).await;
    assert_ramp(&pool, "a", 1.0);
    cast.add("e", at_once());
    sleep(5 * SECOND).await;
    assert_ramp(&pool, "e", 0.5);
    assert!(pool.report().member("e").unwrap().to_string().contains("50 % of 1"));
    let before = cast.all_calls();
    for request in 0..9_000 {
        pool.send(request).await.unwrap();
    }
    // 0.5 of 4.5; four standard deviations are 120.
    let calls = cast.calls("e");
    assert!((880..=1_120).contains(&calls), "{calls} of {}", cast.all_calls() - before);
    sleep(5 * SECOND).await;
    for request in 0..10_000 {
        pool.send(request).await.unwrap();
    }
    let calls = cast.calls("e") - calls;
    assert!((1_840..=2_160).contains(&calls), "a fifth by now: {calls}");
}

#[tokio::test(start_paused = true)]
async fn a_new_allocation_and_the_word_of_an_operator_start_anew_and_new_attributes_do_not() {
    let mut cast = Cast::new(&["a", "b"], at_once());
    let pool = cast.builder().slow_start(over_ten_seconds()).spawn().unwrap();
    sleep(MINUTE).await;
    cast.directory.amend(&"a", poise::core::Attributes::default().with_priority(1)).unwrap();
    sleep(SECOND).await;
    assert_ramp(&pool, "a", 1.0);
    cast.replace("a");
    sleep(2 * SECOND).await;
    assert_ramp(&pool, "a", 0.2);
    pool.exclude("b").unwrap();
    sleep(MINUTE).await;
    pool.restore("b").unwrap();
    sleep(3 * SECOND).await;
    assert_ramp(&pool, "b", 0.3);
    assert_ramp(&pool, "a", 1.0);
}

#[tokio::test(start_paused = true)]
async fn who_is_found_healthy_again_starts_anew() {
    let (cast, is_well) = (Cast::new(&["a", "b"], at_once()), Arc::new(AtomicBool::new(false)));
    let seen = Arc::clone(&is_well);
    let pool = cast
        .builder()
        .slow_start(over_ten_seconds())
        .probe(move |member| {
            let is_well = *member.key() == "b" || seen.load(Ordering::Relaxed);
            ready(if is_well { ProbeOutcome::Healthy } else { ProbeOutcome::Unhealthy })
        })
        .spawn()
        .unwrap();
    sleep(MINUTE).await;
    assert_eq!(pool.report().eligible(), 1);
    is_well.store(true, Ordering::Relaxed);
    while pool.report().eligible() < 2 {
        sleep(Duration::from_millis(10)).await;
    }
    sleep(4 * SECOND).await;
    assert_ramp(&pool, "a", 0.4);
}

#[tokio::test(start_paused = true)]
async fn who_had_its_circuit_open_starts_anew_when_that_closes() {
    let cast = Cast::new(&["a", "b"], at_once());
    let pool = cast
        .builder()
        .policy(RoundRobin::starting_at(0))
        .circuit(CircuitConfig::new(1, 2 * SECOND).unwrap())
        .slow_start(over_ten_seconds())
        .spawn()
        .unwrap();
    sleep(MINUTE).await;
    cast.tell("a", Manner::Fails(Duration::ZERO));
    while pool.send(0).await.is_ok() {}
    cast.tell("a", at_once());
    // Half open for a while before somebody comes.
    sleep(10 * SECOND).await;
    while pool.send(0).await.unwrap().by != "a" {}
    sleep(5 * SECOND).await;
    assert_ramp(&pool, "a", 0.5);
}

#[tokio::test(start_paused = true)]
async fn who_was_ejected_starts_anew_when_its_time_is_over() {
    let cast = Cast::new(&["a", "b", "c", "d", "e", "f"], at_once());
    cast.tell("a", Manner::FailsOneIn(2));
    let outliers = EjectorConfig::default().with_interval(2 * SECOND).unwrap();
    let pool = cast
        .builder()
        .policy(RoundRobin::starting_at(0))
        .outliers(outliers.with_ejection(20 * SECOND, 20 * SECOND).unwrap())
        .slow_start(over_ten_seconds())
        .spawn()
        .unwrap();
    sleep(MINUTE).await;
    while pool.report().eligible() == 6 {
        sleep(Duration::from_millis(1)).await;
        drop(pool.send(0).await);
    }
    sleep(25 * SECOND).await;
    assert_eq!(pool.report().eligible(), 6);
    assert_ramp(&pool, "a", 0.5);
    assert_ramp(&pool, "b", 1.0);
}

#[tokio::test(start_paused = true)]
async fn nobody_starts_slowly_unless_it_is_asked_for() {
    let mut cast = Cast::new(&["a"], at_once());
    let pool = cast.builder().spawn().unwrap();
    cast.add("b", at_once());
    sleep(SECOND).await;
    assert_ramp(&pool, "b", 1.0);
}
