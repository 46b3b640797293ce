//! Claims on limits that a `Balancer` finds out: overloads act on load, limit and circuit alike.

use std::time::Duration;

use poise::core::policy::RoundRobin;
use poise::core::{Exclusion, Now, Outcome, PeakEwma};
use poise::health::{CircuitConfig, CircuitState, GradientConfig, GradientLimit, LimitedLoad};
use poise::tower::{Balancer, BalancerErrorKind};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::support::pool_endpoints::{Cast, Endpoint, Manner};

const SECOND: Duration = Duration::from_secs(1);

type Load = LimitedLoad<PeakEwma, GradientLimit>;
type Pool = Balancer<Endpoint, u64, Load>;

/// Has whoever answers badly ask to be left alone for five seconds.
fn start(cast: &Cast) -> Pool {
    cast.builder()
        .policy(RoundRobin::starting_at(0))
        .load(|| {
            let now = Now::at(Instant::now().into_std());
            LimitedLoad::new(PeakEwma::new(), GradientLimit::new(GradientConfig::default(), &now))
        })
        .circuit(CircuitConfig::new(3, SECOND).unwrap().with_growth(60 * SECOND).unwrap())
        .classify(|result| match result {
            Ok(answer) if !answer.is_good => Outcome::Overload { retry_after: Some(5 * SECOND) },
            other => Outcome::of(other),
        })
        .spawn()
        .unwrap()
}

fn cast() -> Cast {
    Cast::new(&["a", "b"], Manner::Answers(Duration::from_millis(5)))
}

async fn give_up<T>(requests: Vec<JoinHandle<T>>) {
    for request in requests {
        request.abort();
        let _ended = request.await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_overload_weighs_on_the_load_closes_the_limit_and_counts_for_the_circuit() {
    let cast = cast();
    let pool = start(&cast);
    for request in 0..10 {
        pool.send(request).await.unwrap();
    }
    let load = |name: &str| pool.report().member(name).unwrap().load;
    assert!(load("a") < 1.1 * load("b"));
    cast.tell("a", Manner::AnswersBadly(Duration::from_millis(5)));
    assert!(!pool.send(10).await.unwrap().is_good);
    assert!(load("a") > 1.5 * load("b"), "{} and {}", load("a"), load("b"));
    let a = pool.report().member("a").unwrap().clone();
    assert_eq!((a.overloads, a.circuit), (1, Some(CircuitState::Closed { failures: 1 })));

    // One attempt at a time while it asks to be left alone, where there were twenty before.
    cast.tell("a", Manner::Hangs);
    cast.tell("b", Manner::Hangs);
    let held: Vec<_> = (0..21).map(|request| tokio::spawn(pool.send(request))).collect();
    tokio::task::yield_now().await;
    let report = pool.report();
    assert_eq!([report.member("a").unwrap().in_flight, report.member("b").unwrap().in_flight], [1, 20]);
    assert!(report.members.iter().all(|member| member.exclusions == Exclusion::Capacity.into()));
    let error = pool.send(0).await.unwrap_err();
    assert!(matches!(error.kind(), BalancerErrorKind::AtCapacity(_)), "{error}");

    // And a tenth fewer than before when that is over and an attempt has ended.
    sleep(6 * SECOND).await;
    give_up(held).await;
    let held: Vec<_> = (0..38).map(|request| tokio::spawn(pool.send(request))).collect();
    tokio::task::yield_now().await;
    let report = pool.report();
    assert_eq!([report.member("a").unwrap().in_flight, report.member("b").unwrap().in_flight], [18, 20]);
    give_up(held).await;
    assert!(pool.report().members.iter().all(|member| member.in_flight == 0));
}

#[tokio::test(start_paused = true)]
async fn a_circuit_that_overloads_have_opened_stays_open_for_as_long_as_they_ask() {
    let cast = cast();
    let pool = start(&cast);
    cast.tell("a", Manner::AnswersBadly(Duration::from_millis(5)));
    for request in 0..6 {
        pool.send(request).await.unwrap();
    }
    let a = pool.report().member("a").unwrap().clone();
    assert!(matches!(a.circuit, Some(CircuitState::Open { .. })), "{a}");
    cast.tell("a", Manner::Answers(Duration::from_millis(5)));
    sleep(4 * SECOND).await;
    let calls = cast.calls("a");
    for request in 0..10 {
        assert_eq!(pool.send(request).await.unwrap().by, "b");
    }
    assert_eq!(cast.calls("a"), calls, "a second would have been over");
    sleep(SECOND).await;
    while pool.send(0).await.unwrap().by != "a" {}
    assert_eq!(pool.report().member("a").unwrap().circuit, Some(CircuitState::Closed { failures: 0 }));
}
