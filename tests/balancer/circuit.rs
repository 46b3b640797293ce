//! Claims on the circuits of a `Balancer`: what is admitted, given up or late leaves none of them stuck, and a pool that fails
//! as a whole goes on.

use std::time::Duration;

use poise::core::Exclusion;
use poise::core::policy::{PowerOfTwoChoices, RoundRobin};
use poise::health::{CircuitConfig, CircuitState};
use poise::tower::MemberReport;
use tokio::task::JoinHandle;

use crate::support::pool_caller::{Came, send};
use crate::support::pool_endpoints::{Cast, Manner, Pool, in_flight};
use crate::support::pool_policies::Stubborn;
use crate::support::pool_traffic::Traffic;

fn at_once() -> Manner {
    Manner::Answers(Duration::ZERO)
}

fn fails() -> Manner {
    Manner::Fails(Duration::ZERO)
}

async fn a_while(millis: u64) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

fn after(failures: u32) -> CircuitConfig {
    CircuitConfig::new(failures, Duration::from_secs(1)).unwrap()
}

/// Two members of which every request asks for the first one.
fn only_a(circuit: CircuitConfig) -> (Cast, Pool) {
    let cast = Cast::new(&["a", "b"], at_once());
    let pool = cast.builder().policy(Stubborn(0)).circuit(circuit).spawn().unwrap();
    (cast, pool)
}

fn a(pool: &Pool) -> MemberReport {
    pool.report().member("a").unwrap().clone()
}

fn state(pool: &Pool) -> CircuitState {
    a(pool).circuit.unwrap()
}

fn half_open_with(pool: &Pool) -> Option<u32> {
    match state(pool) {
        CircuitState::HalfOpen { probes, .. } => Some(probes),
        _ => None,
    }
}

/// Sends a request whose answer takes its time.
async fn start(pool: &Pool) -> JoinHandle<Came> {
    let pool = pool.clone();
    let request = tokio::spawn(async move { send(&pool, 0).await });
    tokio::task::yield_now().await;
    request
}

async fn give_up(request: JoinHandle<Came>) {
    request.abort();
    assert!(request.await.unwrap_err().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn only_failures_in_a_row_open_a_circuit() {
    let (cast, pool) = only_a(after(3));
    for manner in [fails(), at_once(), fails(), fails(), at_once(), fails(), at_once(), fails(), fails()] {
        cast.tell("a", manner);
        drop(send(&pool, 0).await);
    }
    assert_eq!((state(&pool), a(&pool).trips), (CircuitState::Closed { failures: 2 }, 0));
    drop(send(&pool, 0).await);
    assert!(matches!(state(&pool), CircuitState::Open { .. }));
    assert_eq!(a(&pool).trips, 1);
}

#[tokio::test(start_paused = true)]
async fn a_probe_whose_caller_gives_up_gives_its_permit_back() {
    let (cast, pool) = only_a(after(1));
    cast.tell("a", fails());
    drop(send(&pool, 0).await);
    a_while(1_001).await;
    cast.tell("a", Manner::Hangs);
    for _ in 0..50 {
        let probe = start(&pool).await;
        assert_eq!(half_open_with(&pool), Some(1));
        assert!(matches!(send(&pool, 0).await, Came::Error(_)), "one probe at a time");
        give_up(probe).await;
        assert_eq!(half_open_with(&pool), Some(0));
    }
    let before = a(&pool);
    assert_eq!((before.trips, before.cancelled, before.in_flight), (1, 50, 0));
    cast.tell("a", at_once());
    assert!(matches!(send(&pool, 0).await, Came::Answer(_)), "it is probed again at once");
    assert_eq!(state(&pool), CircuitState::Closed { failures: 0 });
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_before_the_trip_decides_nothing_in_half_open() {
    let late = Duration::from_secs(3);
    for manner in [Manner::Answers(late), Manner::Fails(late)] {
        let (cast, pool) = only_a(after(1));
        cast.tell("a", manner);
        let early = start(&pool).await;
        cast.tell("a", fails());
        drop(send(&pool, 0).await);
        a_while(1_001).await;
        cast.tell("a", Manner::Hangs);
        let probe = start(&pool).await;
        let before = state(&pool);
        assert!(matches!(before, CircuitState::HalfOpen { probes: 1, successes: 0, .. }));
        drop(early.await.unwrap());
        assert_eq!((state(&pool), a(&pool).trips), (before, 1), "{manner:?} came too late to count");
        give_up(probe).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_from_before_an_outage_does_not_open_the_circuit_after_it() {
    let (cast, pool) = only_a(after(1));
    cast.tell("a", Manner::Fails(Duration::from_secs(5)));
    let early = start(&pool).await;
    cast.tell("a", fails());
    drop(send(&pool, 0).await);
    a_while(1_001).await;
    cast.tell("a", at_once());
    assert!(matches!(send(&pool, 0).await, Came::Answer(_)));
    let Came::Error(_) = early.await.unwrap() else { panic!("it fails after five seconds") };
    assert_eq!((state(&pool), a(&pool).trips), (CircuitState::Closed { failures: 0 }, 1));
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_hangs_ends_its_round_at_the_deadline_and_frees_no_permit_of_the_next() {
    let (cast, pool) = only_a(after(1).with_half_open_deadline(Duration::from_secs(2)).unwrap());
    cast.tell("a", fails());
    drop(send(&pool, 0).await);
    a_while(1_001).await;
    cast.tell("a", Manner::Hangs);
    let first = start(&pool).await;
    a_while(2_500).await;
    assert!(matches!(state(&pool), CircuitState::Open { .. }), "the round is over");
    assert!(a(&pool).exclusions.contains(Exclusion::Circuit));
    a_while(501).await;
    assert!(a(&pool).exclusions.is_empty(), "and so is the cooldown after it");
    let second = start(&pool).await;
    give_up(first).await;
    assert_eq!(half_open_with(&pool), Some(1), "the permit that came back is of an earlier round");
    assert!(matches!(send(&pool, 0).await, Came::Error(_)));
    give_up(second).await;
    assert_eq!((half_open_with(&pool), a(&pool).in_flight), (Some(0), 0));
}

#[tokio::test(start_paused = true)]
async fn a_cooldown_ends_with_no_traffic_flowing() {
    let (cast, pool) = only_a(after(1));
    cast.tell("a", fails());
    drop(send(&pool, 0).await);
    a_while(900).await;
    let excluded = a(&pool);
    assert_eq!(
        (excluded.exclusions, excluded.since),
        (Exclusion::Circuit.into(), Duration::from_millis(900))
    );
    a_while(400).await;
    let over = a(&pool);
    assert!(over.exclusions.is_empty());
    let since = over.since.as_millis();
    assert!((295..=300).contains(&since), "it was seen {since} ms ago that the second was over");
}

#[tokio::test(start_paused = true)]
async fn a_pool_of_one_never_loses_it() {
    let cast = Cast::new(&["a"], fails());
    let pool = cast.builder().spawn().unwrap();
    for _ in 0..50 {
        let Came::Error(error) = send(&pool, 0).await else { panic!("it fails") };
        assert_eq!(error.endpoint(), Some("a"), "it is asked, as there is nobody else");
    }
    assert_eq!((pool.report().eligible(), a(&pool).trips), (1, 0));
    cast.tell("a", at_once());
    assert!(matches!(send(&pool, 0).await, Came::Answer(_)));
}

const TEN: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

/// Watches for a while how many are excluded, and returns the most.
async fn most_excluded(pool: &Pool, millis: u64) -> usize {
    let mut most = 0;
    for _ in 0..millis / 5 {
        a_while(5).await;
        let excluded = pool.report().members.len() - pool.report().eligible();
        most = most.max(excluded);
    }
    most
}

#[tokio::test(start_paused = true)]
async fn when_all_fail_together_half_stay_in_and_traffic_is_even_soon_after_they_recover() {
    for seed in 1..4 {
        let cast = Cast::new(&TEN, Manner::Answers(Duration::from_millis(5)));
        let pool = cast.builder().policy(PowerOfTwoChoices::seeded(seed)).spawn().unwrap();
        let traffic = {
            let pool = pool.clone();
            tokio::spawn(async move { Traffic::new(15_000, Duration::from_millis(1)).send(&pool).await })
        };
        assert_eq!(most_excluded(&pool, 1_000).await, 0);

        cast.tell_all(Manner::Fails(Duration::from_millis(5)));
        assert_eq!(most_excluded(&pool, 3_000).await, 5, "circuits take out half of them and no more");

        cast.tell_all(Manner::Answers(Duration::from_millis(5)));
        assert!(most_excluded(&pool, 5_000).await <= 5);
        assert_eq!(pool.report().eligible(), 10, "the longest back-off so far is over");
        let before = TEN.map(|name| cast.calls(name));
        a_while(5_000).await;
        for (name, before) in TEN.into_iter().zip(before) {
            let calls = cast.calls(name) - before;
            assert!((250..1_000).contains(&calls), "{name} got {calls} of about 5000 requests, seed {seed}");
        }
        traffic.await.unwrap();
        a_while(100).await;
        assert_eq!(in_flight(&pool.report()), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_recovers_is_probed_when_its_cooldown_is_over_and_then_gets_its_share() {
    for seed in 1..4 {
        let cast = Cast::new(&TEN[..5], Manner::Answers(Duration::from_millis(5)));
        let pool = cast.builder().policy(PowerOfTwoChoices::seeded(seed)).circuit(after(3)).spawn().unwrap();
        cast.tell("a", Manner::Fails(Duration::from_millis(300)));
        let traffic = {
            let pool = pool.clone();
            tokio::spawn(async move { Traffic::new(6_000, Duration::from_millis(1)).send(&pool).await })
        };
        while a(&pool).trips == 0 {
            a_while(5).await;
        }
        cast.tell("a", Manner::Answers(Duration::from_millis(5)));
        a_while(1_100).await;
        assert_eq!(state(&pool), CircuitState::Closed { failures: 0 }, "probed once the second was over");
        let before = cast.calls("a");
        a_while(2_000).await;
        let calls = cast.calls("a") - before;
        assert!((200..800).contains(&calls), "it got {calls} of about 2000 requests, seed {seed}");
        traffic.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_several_threads_half_stay_in_and_all_return() {
    let cast = Cast::new(&TEN, fails());
    let circuit = CircuitConfig::new(3, Duration::from_millis(20)).unwrap();
    let pool = cast.builder().policy(RoundRobin::new()).circuit(circuit).spawn().unwrap();
    let senders: Vec<_> = (0..4)
        .map(|_| {
            let pool = pool.clone();
            tokio::spawn(async move {
                for request in 0..500 {
                    drop(send(&pool, request).await);
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for _ in 0..50 {
        assert!(pool.report().eligible() >= 5, "{}", pool.report());
        tokio::task::yield_now().await;
    }
    for sender in senders {
        sender.await.unwrap();
    }
    assert!(pool.report().members.iter().any(|member| member.trips > 0));
    cast.tell_all(at_once());
    let mut tries = 0;
    while pool.report().members.iter().any(|m| m.circuit != Some(CircuitState::Closed { failures: 0 })) {
        assert!(matches!(send(&pool, 0).await, Came::Answer(_)));
        tries += 1;
        assert!(tries < 5_000, "{}", pool.report());
        a_while(1).await;
    }
    assert_eq!((pool.report().eligible(), in_flight(&pool.report())), (10, 0));
}
