//! Attempts that are made again.

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use poise::core::{Candidate, InFlight, Outcome, PickError, Policy, Prepare, Selection, View};
use poise::tower::{Balancer, BalancerErrorKind, Event, Hook, Phase, Retry, RetryBudget, TimedOut};
use tokio::time::Instant;

use crate::support::fleet::{fleet, over};
use crate::support::pace::{Pace, in_time, on_both_runtimes};
use crate::support::script::{Fake, Readiness, Refused, Script};

type Client = Balancer<Fake, u32>;

/// Retries as often as there are `attempts`, of any number of requests.
fn generous(attempts: u32) -> Retry {
    Retry::attempts(attempts).unwrap().with_budget(RetryBudget::new().with_ratio(1_000.0).unwrap())
}

fn denied() -> Retry {
    Retry::attempts(2).unwrap().with_budget(RetryBudget::new().with_ratio(0.0).unwrap().with_floor(0))
}

/// Prefers the first member, whatever its load, and writes down how much is in flight at each pick.
#[derive(Clone, Debug, Default)]
struct First {
    in_flight: Arc<Mutex<Vec<u64>>>,
}

impl<C: Candidate> Prepare<C> for First {}

impl<C: Candidate<Load = InFlight>> Policy<C> for First {
    fn pick_from(&self, view: &View<'_, C>, (): &()) -> Result<Selection, PickError> {
        let loads = view.candidates().iter().map(|candidate| candidate.load().current());
        self.in_flight.lock().unwrap().push(loads.sum());
        view.first_from(0)
    }
}

/// Writes down which events there were.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Hook for Log {
    fn on(&self, event: &Event<'_>) {
        let name = match event {
            Event::Picked { .. } => "picked",
            Event::Ended { outcome: Outcome::Success, .. } => "succeeded",
            Event::Ended { .. } => "failed",
            Event::Retried => "retried",
            Event::RetryDenied => "denied",
            _ => return,
        };
        self.0.lock().unwrap().push(name);
    }
}

on_both_runtimes! {
    async fn a_retry_goes_to_another_member_under_a_policy_that_would_not(_pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        a.refuse(true);
        let balancer: Balancer<Fake, u32, InFlight> = over(&directory)
            .load(InFlight::new)
            .policy(First::default())
            .without_circuit()
            .retry(generous(2))
            .spawn()
            .unwrap();
        let tasks = (0..8).map(|_| {
            let balancer = balancer.clone();
            tokio::spawn(async move {
                for request in 0..100 {
                    assert_eq!(balancer.send(request).await.unwrap().by, "b");
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            in_time(task).await.unwrap();
        }
        assert_eq!((a.calls(), b.calls()), (800, 800), "one attempt at each");
    }

    async fn each_of_several_retries_goes_to_somebody_new_as_long_as_there_is_one(_pace: Pace) {
        let (directory, scripts) = fleet(["a", "b", "c"]);
        for script in &scripts {
            script.refuse(true);
        }
        let balancer: Client = over(&directory).without_circuit().retry(generous(3)).spawn().unwrap();
        for round in 1..=20 {
            let error = balancer.send(1).await.unwrap_err();
            assert_eq!(error.attempts(), 3);
            assert_eq!(scripts.each_ref().map(Script::calls), [round; 3]);
        }
        let balancer: Client = over(&directory).without_circuit().retry(generous(5)).spawn().unwrap();
        assert_eq!(balancer.send(1).await.unwrap_err().attempts(), 5, "then the same ones again");
    }

    async fn without_a_budget_the_original_error_comes_back_at_once(pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        a.refuse(true);
        let log = Log::default();
        let balancer: Balancer<Fake, u32, InFlight> = over(&directory)
            .load(InFlight::new)
            .policy(First::default())
            .retry(denied())
            .hook(log.clone())
            .spawn()
            .unwrap();
        let start = Instant::now();
        let error = in_time(balancer.send(1)).await.unwrap_err();
        pace.check_at_once(start);
        assert_eq!((error.kind(), error.endpoint()), (&BalancerErrorKind::Endpoint, Some("a")));
        assert_eq!(error.source().unwrap().downcast_ref(), Some(&Refused));
        assert_eq!((error.attempts(), a.calls(), b.calls()), (1, 1, 0));
        assert_eq!(*log.0.lock().unwrap(), ["picked", "failed", "denied"]);
    }

    async fn a_budget_bounds_all_retries_of_a_balancer(_pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        a.refuse(true);
        let budget = RetryBudget::new().with_ratio(0.2).unwrap().with_floor(0);
        let balancer: Balancer<Fake, u32, InFlight> = over(&directory)
            .load(InFlight::new)
            .policy(First::default())
            .without_circuit()
            .retry(Retry::attempts(2).unwrap().with_budget(budget))
            .spawn()
            .unwrap();
        let mut served = 0;
        for request in 0..1_000 {
            served += u32::from(balancer.send(request).await.is_ok());
        }
        assert_eq!((served, a.calls(), b.calls()), (200, 1_000, 200));
    }

    async fn an_attempt_gives_back_all_that_it_holds_before_the_next_pick(_pace: Pace) {
        let (directory, [a, _b]) = fleet(["a", "b"]);
        a.refuse(true);
        let (policy, log) = (First::default(), Log::default());
        let balancer: Balancer<Fake, u32, InFlight> = over(&directory)
            .load(|| InFlight::with_limit(1).unwrap())
            .policy(policy.clone())
            .retry(generous(2))
            .hook(log.clone())
            .spawn()
            .unwrap();
        assert_eq!(balancer.send(1).await.unwrap().by, "b");
        assert_eq!(*policy.in_flight.lock().unwrap(), [0, 0], "nothing is in flight at a pick");
        assert_eq!(*log.0.lock().unwrap(), ["picked", "failed", "retried", "picked", "succeeded"]);
    }

    async fn an_attempt_that_takes_too_long_is_made_again_elsewhere(pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        a.hang();
        let balancer: Balancer<Fake, u32, InFlight> = over(&directory)
            .load(InFlight::new)
            .policy(First::default())
            .attempt_timeout(pace.second())
            .retry(generous(2))
            .spawn()
            .unwrap();
        let start = Instant::now();
        assert_eq!(in_time(balancer.send(1)).await.unwrap().by, "b");
        pace.check(start, pace.second());
        assert_eq!((a.under_way(), balancer.report().member("a").unwrap().failures), (0, 1));

        b.hang();
        let start = Instant::now();
        let error = in_time(balancer.send(2)).await.unwrap_err();
        pace.check(start, 2 * pace.second());
        assert_eq!((error.kind(), error.phase()), (&BalancerErrorKind::Deadline, Some(Phase::Call)));
        assert_eq!((error.attempts(), error.endpoint()), (2, Some("b")));
        assert_eq!(error.source().unwrap().downcast_ref(), Some(&TimedOut));
    }

    async fn a_time_limit_covers_readiness_too(pace: Pace) {
        let (directory, [a]) = fleet(["a"]);
        a.turn(Readiness::Pending);
        let balancer: Client = over(&directory).attempt_timeout(pace.second()).spawn().unwrap();
        let start = Instant::now();
        let error = in_time(balancer.send(1)).await.unwrap_err();
        pace.check(start, pace.second());
        assert_eq!((error.kind(), error.phase()), (&BalancerErrorKind::Deadline, Some(Phase::Readiness)));
        assert!(error.is_retryable(), "nobody had the request");
        assert_eq!((a.calls(), a.live()), (0, 2), "the driver makes one ready too");
    }

    async fn an_answer_that_counts_as_a_failure_is_made_again_and_kept_for_the_worst_case(_pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        let balancer: Client = over(&directory)
            .classify(|_| Outcome::Failure)
            .without_circuit()
            .retry(generous(2))
            .spawn()
            .unwrap();
        assert_eq!(balancer.send(7).await.expect("the last answer").request, 7);
        assert_eq!((a.calls(), b.calls()), (1, 1));
    }

    async fn nothing_is_made_again_unless_asked_for(_pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        a.refuse(true);
        b.refuse(true);
        let balancer: Client = over(&directory).spawn().unwrap();
        balancer.send(1).await.unwrap_err();
        assert_eq!(a.calls() + b.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn retries_of_a_balancer_expire_with_the_window() {
    let (directory, scripts) = fleet(["a", "b"]);
    for script in &scripts {
        script.refuse(true);
    }
    let budget = RetryBudget::new().with_ratio(0.5).unwrap().with_floor(0);
    let retry = Retry::attempts(2).unwrap().with_budget(budget);
    let balancer: Client = over(&directory).without_circuit().retry(retry).spawn().unwrap();
    let mut attempts = Vec::new();
    for _ in 0..3 {
        let mut sum = 0;
        for request in 0..100 {
            sum += balancer.send(request).await.unwrap_err().attempts();
        }
        attempts.push(sum);
        tokio::time::sleep(Duration::from_secs(20)).await;
    }
    assert_eq!(attempts, [150; 3]);
}
