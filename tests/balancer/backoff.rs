//! Pauses between the attempts of a request.

use std::time::Duration;

use poise::core::Outcome;
use poise::core::policy::RoundRobin;
use poise::tower::{Backoff, BackoffError, Balancer, Retry, RetryBudget};
use tokio::time::Instant;

use crate::support::fleet::{fleet, over, remove};
use crate::support::script::{self, Fake, Script};

const MINUTE: Duration = Duration::from_secs(60);

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn waiting(attempts: u32, seed: u64) -> Retry {
    let backoff = Backoff::new(seconds(1), seconds(3)).unwrap().with_jitter(1.0).unwrap().with_seed(seed);
    Retry::attempts(attempts).unwrap().with_backoff(backoff)
}

/// Returns how long a request takes that everybody refuses at once.
async fn refused(retry: Retry, outcome: Outcome) -> Duration {
    let (directory, scripts) = fleet(["a", "b"]);
    for script in &scripts {
        script.refuse(true);
    }
    let balancer: Balancer<Fake, u32> =
        over(&directory).without_circuit().classify(move |_| outcome).retry(retry).spawn().unwrap();
    let start = Instant::now();
    balancer.send(1).await.unwrap_err();
    start.elapsed()
}

#[tokio::test(start_paused = true)]
async fn retries_wait_at_random_up_to_a_bound_that_doubles() {
    let mut longest = Duration::ZERO;
    for seed in 0..100 {
        let took = refused(waiting(4, seed), Outcome::Failure).await;
        // Timers work in whole milliseconds.
        assert!(took <= seconds(1 + 2 + 3) + Duration::from_millis(3), "{took:?} for seed {seed}");
        longest = longest.max(took);
    }
    assert!(longest > seconds(4), "the bound of a second has doubled: {longest:?}");
    let again = refused(waiting(4, 7), Outcome::Failure).await;
    assert_eq!(again, refused(waiting(4, 7), Outcome::Failure).await, "the same seed waits alike");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_held_during_a_pause_and_the_next_attempt_goes_elsewhere() {
    let (directory, scripts) = fleet(["a", "b"]);
    for script in &scripts {
        script.refuse(true);
    }
    let backoff = Backoff::new(MINUTE, MINUTE).unwrap().with_jitter(1.0).unwrap().with_seed(7);
    let balancer: Balancer<Fake, u32> =
        over(&directory).retry(Retry::attempts(2).unwrap().with_backoff(backoff)).spawn().unwrap();
    let request = tokio::spawn(balancer.send(1));
    tokio::time::sleep(Duration::from_millis(1)).await;
    let report = balancer.report();
    assert!(report.members.iter().all(|member| member.in_flight == 0), "{report}");
    assert_eq!(scripts.iter().map(Script::live).sum::<usize>(), 2, "no service is kept for it");
    request.await.unwrap().unwrap_err();
    assert_eq!(scripts.each_ref().map(script::Script::calls), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn whoever_gives_up_during_a_pause_is_not_sent_again() {
    let (directory, scripts) = fleet(["a", "b"]);
    for script in &scripts {
        script.refuse(true);
    }
    let balancer: Balancer<Fake, u32> = over(&directory).retry(waiting(2, 7)).spawn().unwrap();
    let given_up = tokio::time::timeout(Duration::from_millis(1), balancer.send(1)).await;
    assert!(given_up.is_err(), "it is in its pause");
    tokio::time::sleep(MINUTE).await;
    assert_eq!(scripts.iter().map(script::Script::calls).sum::<usize>(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_balancer_that_closes_during_a_pause_gives_the_original_error() {
    let (directory, scripts) = fleet(["a", "b"]);
    for script in &scripts {
        script.refuse(true);
    }
    let balancer: Balancer<Fake, u32> = over(&directory).retry(waiting(2, 7)).spawn().unwrap();
    let request = tokio::spawn(balancer.send(1));
    tokio::time::sleep(Duration::from_millis(1)).await;
    drop(balancer);
    let error = request.await.unwrap().unwrap_err();
    assert_eq!(error.attempts(), 1);
    assert!(error.endpoint().is_some());
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_asks_for_time_gets_it_up_to_the_cap() {
    let asked = |time| Outcome::Overload { retry_after: Some(time) };
    let twice = || Retry::attempts(2).unwrap();
    let took = refused(twice(), asked(Duration::from_millis(300))).await;
    assert_eq!(took, Duration::from_millis(300));
    assert_eq!(refused(twice(), asked(MINUTE)).await, seconds(1), "a second by default");
    let patient = twice().with_retry_after_cap(seconds(5));
    assert_eq!(refused(patient, asked(MINUTE)).await, seconds(5));
    let impatient = twice().with_retry_after_cap(Duration::ZERO);
    assert_eq!(refused(impatient, asked(MINUTE)).await, Duration::ZERO);
    assert_eq!(refused(twice(), Outcome::OVERLOAD).await, Duration::ZERO);
    let both = refused(waiting(2, 7).with_retry_after_cap(seconds(5)), asked(seconds(5))).await;
    assert!(
        both > seconds(5) && both <= seconds(6) + Duration::from_millis(1),
        "{both:?}: the jitter comes on top"
    );
}

#[tokio::test(start_paused = true)]
async fn without_a_budget_nobody_waits() {
    let empty = RetryBudget::new().with_ratio(0.0).unwrap().with_floor(0);
    let took =
        refused(waiting(3, 7).with_budget(empty), Outcome::Overload { retry_after: Some(MINUTE) }).await;
    assert_eq!(took, Duration::ZERO);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (base, cap) in [(Duration::ZERO, MINUTE), (seconds(2), seconds(1))] {
        assert_eq!(Backoff::new(base, cap).unwrap_err(), BackoffError::Pauses);
    }
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_leaves_during_a_pause_is_let_go_of_and_the_next_attempt_is_made_all_the_same() {
    let (mut directory, [a, _b]) = fleet(["a", "b"]);
    a.refuse(true);
    let backoff = Backoff::new(MINUTE, MINUTE).unwrap().with_jitter(0.0).unwrap();
    let balancer: Balancer<Fake, u32> = over(&directory)
        .policy(RoundRobin::starting_at(0))
        .retry(Retry::attempts(2).unwrap().with_backoff(backoff))
        .spawn()
        .unwrap();
    let start = Instant::now();
    let request = tokio::spawn(balancer.send(1));
    tokio::time::sleep(Duration::from_millis(1)).await;
    remove(&mut directory, "a");
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!((a.calls(), a.live()), (1, 0));
    assert_eq!(request.await.unwrap().unwrap().by, "b");
    assert!(start.elapsed() >= MINUTE);
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_a_pause_avoids_what_the_caller_avoids_and_what_an_operator_took_out_meanwhile() {
    let (directory, scripts) = fleet(["a", "b", "c", "d"]);
    let backoff = Backoff::new(MINUTE, MINUTE).unwrap().with_jitter(0.0).unwrap();
    let balancer: Balancer<Fake, u32> = over(&directory)
        .without_circuit()
        .retry(Retry::attempts(2).unwrap().with_backoff(backoff))
        .spawn()
        .unwrap();
    for script in &scripts {
        script.refuse(true);
    }
    let request = tokio::spawn(balancer.call_avoiding(1, ["a"]));
    tokio::time::sleep(Duration::from_millis(1)).await;
    for script in &scripts {
        script.refuse(false);
    }
    let (tried, others): (Vec<_>, Vec<_>) = scripts[1..].iter().partition(|script| script.calls() == 1);
    assert_eq!((tried.len(), others.len()), (1, 2));
    balancer.exclude(others[0].name()).unwrap();
    assert_eq!(request.await.unwrap().unwrap().by, others[1].name());
    assert_eq!(scripts.iter().map(Script::calls).sum::<usize>(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_rests_when_the_balancer_is_shut_down_is_not_made_again() {
    let (directory, [a]) = fleet(["a"]);
    a.refuse(true);
    let backoff = Backoff::new(MINUTE, MINUTE).unwrap().with_jitter(0.0).unwrap();
    let balancer: Balancer<Fake, u32> =
        over(&directory).retry(Retry::attempts(2).unwrap().with_backoff(backoff)).spawn().unwrap();
    let request = tokio::spawn(balancer.send(1));
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(balancer.shutdown().await, 0, "who rests is no attempt");
    let error = request.await.unwrap().unwrap_err();
    assert_eq!(
        (error.endpoint(), error.attempts(), a.calls()),
        (Some("a"), 1, 1),
        "the error of the attempt"
    );
}
