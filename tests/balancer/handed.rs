//! What a caller may conclude of a request: whether a service has had it, and since when its time runs.

use std::time::Duration;

use poise::core::policy::RoundRobin;
use poise::tower::{BalancerErrorKind, Phase, Retry, RetryBudget};

use crate::support::fleet::{fleet, over};
use crate::support::script::Readiness;

#[tokio::test(start_paused = true)]
async fn a_request_that_no_service_has_had_may_be_sent_again() {
    let (directory, [a, b]) = fleet(["a", "b"]);
    a.turn(Readiness::Failing);
    b.turn(Readiness::Failing);
    let balancer = over(&directory).spawn().unwrap();
    let error = balancer.send(1).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (&BalancerErrorKind::Endpoint, Some(Phase::Readiness)));
    assert!(error.is_retryable(), "no service has had it");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_an_earlier_attempt_handed_over_may_not() {
    let (directory, [a, b]) = fleet(["a", "b"]);
    a.refuse(true);
    b.turn(Readiness::Failing);
    let generous = RetryBudget::new().with_ratio(1_000.0).unwrap();
    let balancer = over(&directory)
        .policy(RoundRobin::starting_at(0))
        .retry(Retry::attempts(2).unwrap().with_budget(generous))
        .spawn()
        .unwrap();
    let error = balancer.send(1).await.unwrap_err();
    assert_eq!(a.calls(), 1, "the first attempt was handed over");
    assert_eq!(error.phase(), Some(Phase::Readiness), "the last one was not");
    assert!(!error.is_retryable(), "the request may have had its effect");
}

#[tokio::test(start_paused = true)]
async fn the_time_of_an_attempt_runs_from_the_first_poll() {
    let (directory, [a]) = fleet(["a"]);
    a.answer_after(Duration::from_millis(30));
    let balancer = over(&directory).attempt_timeout(Duration::from_millis(50)).spawn().unwrap();
    let requests: Vec<_> = (0..10).map(|request| balancer.send(request)).collect();
    for request in requests {
        request.await.expect("a future that waits for its turn is not late");
    }
}

#[tokio::test(start_paused = true)]
async fn who_takes_over_has_the_full_time() {
    let (directory, [a, b]) = fleet(["a", "b"]);
    a.turn(Readiness::Pending);
    b.answer_after(Duration::from_millis(80));
    let balancer = over(&directory)
        .policy(RoundRobin::starting_at(0))
        .attempt_timeout(Duration::from_millis(100))
        .spawn()
        .unwrap();
    b.turn(Readiness::Pending);
    let request = tokio::spawn(balancer.send(1));
    tokio::time::sleep(Duration::from_millis(80)).await;
    a.turn(Readiness::Failing);
    b.turn(Readiness::Ready);
    let answer = request.await.unwrap();
    assert_eq!(answer.expect("the time starts anew with another endpoint").by, "b");
}

#[test]
fn a_report_says_when_nobody_drives() {
    let (directory, [_a]) = fleet(["a"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let balancer = runtime.block_on(async { over::<u32>(&directory).spawn().unwrap() });
    assert!(balancer.report().driven);
    drop(runtime);
    // The clock of the timer needs no runtime.
    let report = balancer.report();
    assert!(!report.driven);
    assert!(report.to_string().contains("NOT DRIVEN"), "{report}");
}
