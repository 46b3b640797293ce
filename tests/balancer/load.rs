//! Claims on `Balancer`: endpoints that fail, hang or are slow attract no traffic, and load is given back however an
//! attempt ends.

use std::time::Duration;

use poise::core::policy::PowerOfTwoChoices;
use poise::core::{Outcome, Rng};
use poise::tower::ResponseFuture;
use tokio::task::JoinSet;

use crate::support::pool_endpoints::{Answer, Cast, Endpoint, Manner, Plain, Pool, Refused, in_flight};
use crate::support::pool_traffic::Traffic;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const SEEDS: [u64; 4] = [1, 2, 3, 4];

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn by_answer(answer: Result<&Answer, &Refused>) -> Outcome {
    match answer {
        Ok(answer) if !answer.is_good => Outcome::Failure,
        other => Outcome::of(other),
    }
}

fn seeded(cast: &Cast, seed: u64) -> Plain<PowerOfTwoChoices> {
    cast.builder().policy(PowerOfTwoChoices::seeded(seed)).classify(by_answer)
}

/// The two ways in which an endpoint fails in a millisecond.
const QUICK_FAILURES: [Manner; 2] = [Manner::Fails(millis(1)), Manner::AnswersBadly(millis(1))];

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_fails_at_once_gets_no_more_than_its_share_even_without_a_circuit() {
    for (seed, failure) in SEEDS.into_iter().flat_map(|seed| QUICK_FAILURES.map(|failure| (seed, failure))) {
        let cast = Cast::new(&NAMES, Manner::Answers(millis(20)));
        cast.tell("a", failure);
        let pool = seeded(&cast, seed).without_circuit().spawn().unwrap();
        let tally = Traffic::new(5_000, millis(2)).send(&pool).await;
        tokio::time::sleep(millis(100)).await;
        assert_eq!(tally.ended(), 5_000);
        assert!(cast.share("a") <= 0.2, "{failure:?} attracted {} of the traffic", cast.share("a"));
    }
}

#[tokio::test(start_paused = true)]
async fn with_the_defaults_an_endpoint_that_fails_at_once_fails_few_requests() {
    for (seed, failure) in SEEDS.into_iter().flat_map(|seed| QUICK_FAILURES.map(|failure| (seed, failure))) {
        let cast = Cast::new(&NAMES, Manner::Answers(millis(20)));
        cast.tell("a", failure);
        let pool = seeded(&cast, seed).spawn().unwrap();
        let tally = Traffic::new(5_000, millis(2)).send(&pool).await;
        tokio::time::sleep(millis(100)).await;
        assert_eq!(tally.ended(), 5_000);
        assert!(tally.failed() <= 100, "{} of 5000 failed", tally.failed());
    }
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_hangs_holds_few_requests_for_ever() {
    for (seed, warm_up) in SEEDS.into_iter().zip([0, 500, 5_000, 20_000]) {
        let cast = Cast::new(&NAMES, Manner::Answers(millis(10)));
        let pool = seeded(&cast, seed).spawn().unwrap();
        let before = Traffic::new(warm_up, millis(1)).send(&pool).await;
        cast.tell("a", Manner::Hangs);
        let tally = Traffic::new(90_000, millis(1)).send(&pool).await;
        tokio::time::sleep(millis(100)).await;
        let stuck = 90_000 + warm_up - tally.ended() - before.ended();
        assert!(stuck <= 20, "{stuck} requests are stuck after {warm_up} good ones");
        assert_eq!(in_flight(&pool.report()), stuck);
    }
}

#[tokio::test(start_paused = true)]
async fn callers_who_give_up_on_an_endpoint_that_hangs_lose_few_requests() {
    for (seed, warm_up) in SEEDS.into_iter().zip([0, 500, 5_000, 20_000]) {
        let cast = Cast::new(&NAMES, Manner::Answers(millis(10)));
        let pool = seeded(&cast, seed).spawn().unwrap();
        let traffic = Traffic::new(warm_up, millis(1)).with_patience(millis(100));
        traffic.send(&pool).await;
        cast.tell("a", Manner::Hangs);
        let tally = Traffic { requests: 55_000, ..traffic }.send(&pool).await;
        tokio::time::sleep(millis(200)).await;
        let lost = tally.given_up();
        assert!(lost <= 100, "{lost} requests were lost after {warm_up} good ones");
        let report = pool.report();
        let hung = report.member("a").unwrap();
        assert_eq!((hung.cancelled, hung.failures, hung.trips), (lost, 0, 0));
        assert_eq!(in_flight(&report), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_endpoint_gets_few_of_many_concurrent_requests() {
    for seed in SEEDS {
        let cast = Cast::new(&NAMES[..4], Manner::Answers(millis(10)));
        cast.tell("a", Manner::Answers(millis(100)));
        let pool = seeded(&cast, seed).spawn().unwrap();
        let mut callers = JoinSet::new();
        for _ in 0..200 {
            let pool = pool.clone();
            callers.spawn(async move {
                for request in 0..50 {
                    pool.send(request).await.unwrap();
                }
            });
        }
        callers.join_all().await;
        assert_eq!(cast.all_calls(), 10_000);
        assert!(cast.share("a") < 0.1, "{} of the requests went to the slow one", cast.share("a"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_fresh_pool_with_little_traffic_uses_all_of_its_members() {
    for seed in SEEDS {
        let cast = Cast::new(&NAMES, Manner::Answers(millis(2)));
        let pool = seeded(&cast, seed).spawn().unwrap();
        Traffic::new(200, millis(50)).send(&pool).await;
        let calls = NAMES.map(|name| cast.calls(name));
        assert!(calls.iter().all(|calls| (20..60).contains(calls)), "{calls:?} of 200 requests");
    }
}

/// Ends a request in one of the ways in which callers do.
async fn end_somehow(response: ResponseFuture<Endpoint, u64, poise::core::PeakEwma>, way: usize) {
    match way {
        0 => drop(response),
        1 => drop(tokio::time::timeout(Duration::ZERO, response).await),
        2 => drop(tokio::time::timeout(millis(2), response).await),
        3 => {
            let _held = response;
            std::panic::panic_any("the caller panics");
        }
        _ => drop(tokio::time::timeout(millis(30), response).await),
    }
}

/// Sends requests that end in every way there is, to endpoints that do whatever they may.
async fn send_a_mix(cast: &Cast, pool: &Pool, seed: u64) {
    let rng = Rng::seeded(seed);
    let manners = [
        Manner::Answers(millis(1)),
        Manner::Answers(millis(5)),
        Manner::AnswersBadly(millis(1)),
        Manner::Fails(millis(1)),
        Manner::Hangs,
        Manner::PanicsInClone,
        Manner::PanicsInReadiness,
        Manner::PanicsInCall,
        Manner::PanicsInFuture,
    ];
    let mut callers = JoinSet::new();
    for request in 0..400 {
        cast.tell(NAMES[rng.below(NAMES.len())], manners[rng.below(manners.len())]);
        let (pool, way) = (pool.clone(), rng.below(8));
        callers.spawn(async move { end_somehow(pool.send(request), way).await });
        if rng.below(3) == 0 {
            tokio::time::sleep(millis(1)).await;
        }
    }
    while callers.join_next().await.is_some() {}
}

#[tokio::test(start_paused = true)]
async fn after_any_mix_of_ends_nothing_is_in_flight_and_all_endpoints_serve() {
    for seed in SEEDS {
        let cast = Cast::new(&NAMES, Manner::Answers(millis(1)));
        let pool = seeded(&cast, seed).spawn().unwrap();
        send_a_mix(&cast, &pool, seed).await;
        let report = pool.report();
        assert_eq!(in_flight(&report), 0, "{report}");
        assert!(report.members.iter().all(|member| member.cancelled > 0), "{report}");

        cast.tell_all(Manner::Answers(millis(1)));
        tokio::time::sleep(Duration::from_secs(90)).await;
        let calls = cast.calls("a");
        let tally = Traffic::new(200, millis(1)).send(&pool).await;
        tokio::time::sleep(millis(10)).await;
        assert_eq!((tally.good(), in_flight(&pool.report())), (200, 0));
        assert!(cast.calls("a") > calls, "whoever was broken is used again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_several_threads_nothing_is_in_flight_after_any_mix_of_ends() {
    let cast = Cast::new(&NAMES, Manner::Answers(millis(1)));
    let pool = seeded(&cast, 5).spawn().unwrap();
    send_a_mix(&cast, &pool, 5).await;
    let report = pool.report();
    assert_eq!(in_flight(&report), 0, "{report}");
    cast.tell_all(Manner::Answers(millis(1)));
    pool.send(0).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_several_threads_an_endpoint_that_fails_at_once_fails_few_requests() {
    let cast = Cast::new(&NAMES, Manner::Answers(millis(20)));
    cast.tell("a", Manner::Fails(millis(1)));
    let pool = cast.builder().spawn().unwrap();
    let tally = Traffic::new(1_000, Duration::from_micros(500)).send(&pool).await;
    tokio::time::sleep(millis(100)).await;
    assert!(tally.failed() <= 40, "{} of 1000 failed", tally.failed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_several_threads_an_endpoint_that_hangs_holds_few_requests() {
    let cast = Cast::new(&NAMES, Manner::Answers(millis(10)));
    let pool = cast.builder().spawn().unwrap();
    cast.tell("a", Manner::Hangs);
    let tally = Traffic::new(1_000, Duration::from_micros(500)).with_patience(millis(400)).send(&pool).await;
    let held = pool.report().member("a").unwrap().in_flight + tally.given_up();
    assert!(held <= 40, "{held} of 1000 requests went to the one that hangs");
    tokio::time::sleep(millis(450)).await;
    assert_eq!(in_flight(&pool.report()), 0);
}
