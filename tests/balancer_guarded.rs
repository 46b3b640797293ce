//! Attempts that last until the end of their responses.
#![cfg(all(feature = "full", not(loom)))]

#[path = "support/fleet.rs"]
mod fleet;
#[path = "support/pace.rs"]
mod pace;
#[path = "support/script.rs"]
mod script;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use poise::core::{InFlight, Outcome};
use poise::health::CircuitState;
use poise::tower::{Balancer, BalancerErrorKind, GuardedBalancer, MemberReport, ResponseGuard, Retry};
use tower::{Service, ServiceExt};

use self::fleet::{circuit, fleet, over};
use self::pace::{Pace, on_both_runtimes};
use self::script::{Answer, Fake};

/// A response whose body is not over yet.
#[derive(Debug)]
struct Open {
    answer: Answer<u32>,
    guard: ResponseGuard,
}

/// The type can be named where it is kept.
#[derive(Clone, Debug)]
struct Downloads(GuardedBalancer<Fake, u32, Open, InFlight>);

impl Downloads {
    fn new(balancer: Balancer<Fake, u32, InFlight>) -> Self {
        Self(balancer.guarded(|guard, answer| Open { answer, guard }))
    }

    fn member(&self) -> MemberReport {
        self.0.balancer().report().members[0].clone()
    }
}

fn is_send<T: Send>(value: T) -> T {
    value
}

on_both_runtimes! {
    async fn an_attempt_is_in_flight_until_the_end_and_its_latency_is_that_of_the_head(pace: Pace) {
        let (directory, [a]) = fleet(["a"]);
        a.answer_after(pace.second());
        let downloads = Downloads::new(over(&directory).load(InFlight::new).spawn().unwrap());
        let open = is_send(downloads.0.send(7)).await.unwrap();
        assert_eq!((open.answer.by, open.guard.endpoint()), ("a", Some("a")));
        let member = downloads.member();
        assert_eq!((member.in_flight, member.successes, member.load), (1, 0, 1.0));
        tokio::time::sleep(4 * pace.second()).await;
        open.guard.finish(Outcome::Success);
        let member = downloads.member();
        assert_eq!((member.in_flight, member.successes, member.load), (0, 1, 0.0));
        let latency = member.p99.unwrap();
        assert!(latency < 3 * pace.second(), "{latency:?} is the time of the body too");
    }

    async fn a_limit_counts_bodies(_pace: Pace) {
        let (directory, [_a]) = fleet(["a"]);
        let balancer = over(&directory).load(|| InFlight::with_limit(1).unwrap()).spawn().unwrap();
        let mut downloads = Downloads::new(balancer);
        let open = downloads.0.ready().await.unwrap().call(1).await.unwrap();
        let error = downloads.0.send(2).await.unwrap_err();
        assert!(matches!(error.kind(), BalancerErrorKind::AtCapacity(_)));
        open.guard.finish(Outcome::Success);
        downloads.0.send(3).await.unwrap();
    }

    async fn a_body_that_is_dropped_counts_as_cancelled(_pace: Pace) {
        let (directory, [_a]) = fleet(["a"]);
        let downloads = Downloads::new(over(&directory).load(InFlight::new).spawn().unwrap());
        drop(downloads.0.send(1).await.unwrap());
        let member = downloads.member();
        assert_eq!((member.in_flight, member.cancelled, member.failures, member.load), (0, 1, 0, 0.0));
    }

    async fn bodies_that_break_off_open_the_circuit(_pace: Pace) {
        let (directory, [_a, _b]) = fleet(["a", "b"]);
        let balancer = over(&directory).load(InFlight::new).circuit(circuit(3, Duration::from_secs(60)));
        let downloads = Downloads::new(balancer.spawn().unwrap());
        for request in 0..20 {
            let open = downloads.0.send(request).await.unwrap();
            let outcome = if open.answer.by == "a" { Outcome::Failure } else { Outcome::Success };
            open.guard.finish(outcome);
        }
        let report = downloads.0.balancer().report();
        let member = report.member("a").unwrap();
        assert_eq!((member.failures, member.trips), (3, 1), "{report}");
    }

    async fn a_probe_is_decided_by_the_head(pace: Pace) {
        let (directory, [a, _b]) = fleet(["a", "b"]);
        let balancer = over(&directory).load(InFlight::new).circuit(circuit(1, pace.second()));
        let downloads = Downloads::new(balancer.spawn().unwrap());
        a.refuse(true);
        while downloads.member().trips == 0 {
            drop(downloads.0.send(1).await);
        }
        a.refuse(false);
        tokio::time::sleep(2 * pace.second()).await;
        let mut bodies = Vec::new();
        while downloads.member().in_flight == 0 {
            bodies.push(downloads.0.send(1).await.unwrap());
        }
        let state = downloads.member().circuit;
        assert!(matches!(state, Some(CircuitState::Closed { .. })), "{state:?}, and the body goes on");
        for open in bodies {
            open.guard.finish(Outcome::Failure);
        }
        let state = downloads.member().circuit;
        assert!(matches!(state, Some(CircuitState::Closed { .. })), "{state:?}: that was before it closed");
    }

    async fn an_answer_that_counts_as_a_failure_holds_nothing(_pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        let balancer = over(&directory)
            .load(InFlight::new)
            .classify(|_| Outcome::Failure)
            .without_circuit()
            .retry(Retry::attempts(2).unwrap());
        let downloads = Downloads::new(balancer.spawn().unwrap());
        let open = downloads.0.send(1).await.unwrap();
        assert_eq!((open.guard.endpoint(), a.calls(), b.calls()), (None, 1, 1));
        let report = downloads.0.balancer().report();
        assert!(report.members.iter().all(|member| member.in_flight == 0), "{report}");
        open.guard.finish(Outcome::Success);
        let report = downloads.0.balancer().report();
        assert!(report.members.iter().all(|member| member.successes == 0 && member.failures == 1), "{report}");
    }

    async fn a_hook_that_panics_ends_the_attempt_as_cancelled(_pace: Pace) {
        let (directory, [_a]) = fleet(["a"]);
        let balancer: Balancer<Fake, u32> = over(&directory).spawn().unwrap();
        let guarded = balancer.clone().guarded(|_guard, _answer| -> u32 { panic!("told to panic") });
        let panicked = AssertUnwindSafe(guarded.send(1)).catch_unwind().await;
        assert!(panicked.is_err(), "it reaches the caller");
        let member = &balancer.report().members[0];
        assert_eq!((member.in_flight, member.cancelled, member.failures), (0, 1, 0));
    }

    async fn a_guard_outlives_the_balancer_and_its_member(_pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        let downloads = Downloads::new(over(&directory).load(InFlight::new).spawn().unwrap());
        let open = downloads.0.send(1).await.unwrap();
        fleet::remove(&mut directory, "a");
        drop(downloads);
        open.guard.finish(Outcome::Success);
        pace::in_time(pace::until("its service is dropped", || a.live() == 0)).await;
    }
}
