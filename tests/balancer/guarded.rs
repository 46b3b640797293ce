//! Attempts that last until the end of their responses.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use poise::core::{InFlight, Outcome};
use poise::health::CircuitState;
use poise::tower::{Balancer, BalancerErrorKind, GuardedBalancer, MemberReport, ResponseGuard, Retry};
use tokio::time::Instant;
use tower::{Service, ServiceExt};

use crate::support::fleet::{add, circuit, fleet, over, remove};
use crate::support::pace::{Pace, in_time, on_both_runtimes, until};
use crate::support::script::{Answer, Fake, Script};
use crate::support::told::Told;

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

/// Gives whoever would not wait enough time to show it.
async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(20)).await;
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
        remove(&mut directory, "a");
        drop(downloads);
        open.guard.finish(Outcome::Success);
        in_time(until("its service is dropped", || a.live() == 0)).await;
    }

    async fn a_drain_lasts_until_the_last_body_has_ended(_pace: Pace) {
        let (mut directory, [_a, _b]) = fleet(["a", "b"]);
        let told = Told::default();
        let balancer = over(&directory).load(InFlight::new).hook(told.clone()).spawn().unwrap();
        let downloads = Downloads::new(balancer);
        for drained in ["a", "b"] {
            let other = if drained == "a" { "b" } else { "a" };
            let ended = downloads.0.call_avoiding(1, [other]).await.unwrap();
            let dropped = downloads.0.call_avoiding(2, [other]).await.unwrap();
            assert_eq!((ended.answer.by, dropped.answer.by), (drained, drained));
            // One drain by an operator, and one by the membership.
            if drained == "a" {
                downloads.0.balancer().drain("a").unwrap();
            } else {
                directory.remove(&"b").unwrap();
            }
            let event = format!("drained {drained}");
            a_moment().await;
            ended.guard.finish(Outcome::Success);
            a_moment().await;
            assert_eq!(told.count(&event), 0, "one body is still being read");
            drop(dropped);
            in_time(until("the drain is done", || told.count(&event) == 1)).await;
            if drained == "a" {
                downloads.0.balancer().restore("a").unwrap();
            }
        }
    }

    async fn a_body_of_an_earlier_generation_is_work_of_its_member(_pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        let told = Told::default();
        let balancer = over(&directory).load(InFlight::new).hook(told.clone()).spawn().unwrap();
        let downloads = Downloads::new(balancer);
        let open = downloads.0.send(1).await.unwrap();
        let newer = Script::new("newer");
        add(&mut directory, "a", &newer);
        in_time(until("the newer one has taken over", || downloads.member().picks == 0)).await;
        assert_eq!(a.live(), 1, "for the body");
        directory.remove(&"a").unwrap();
        a_moment().await;
        assert_eq!(told.count("drained a"), 0);
        open.guard.finish(Outcome::Success);
        in_time(until("the drain is done", || told.count("drained a") == 1)).await;
        in_time(until("its service is let go of", || a.live() == 0)).await;
    }

    async fn a_shutdown_waits_for_bodies(_pace: Pace) {
        let (mut directory, [a, b]) = fleet(["a", "b"]);
        let downloads = Downloads::new(over(&directory).load(InFlight::new).spawn().unwrap());
        let departed = downloads.0.call_avoiding(1, ["b"]).await.unwrap();
        let current = downloads.0.call_avoiding(2, ["a"]).await.unwrap();
        remove(&mut directory, "a");
        in_time(until("a is no member", || downloads.0.balancer().report().members.len() == 1)).await;
        let shutdown = tokio::spawn(downloads.0.balancer().shutdown());
        for open in [departed, current] {
            a_moment().await;
            assert!(!shutdown.is_finished(), "a body is still being read");
            open.guard.finish(Outcome::Success);
        }
        assert_eq!(in_time(shutdown).await.unwrap(), 0);
        assert_eq!((a.live(), b.live()), (0, 0));
        assert_eq!(*downloads.0.send(3).await.unwrap_err().kind(), BalancerErrorKind::Closed);
    }

    async fn a_shutdown_counts_the_bodies_that_go_on_after_its_deadline(pace: Pace) {
        let (directory, [_a]) = fleet(["a"]);
        let deadline = 5 * pace.second();
        let balancer = over(&directory).load(InFlight::new).drain_deadline(deadline).spawn().unwrap();
        let downloads = Downloads::new(balancer);
        let bodies = [downloads.0.send(1).await.unwrap(), downloads.0.send(2).await.unwrap()];
        let start = Instant::now();
        assert_eq!(in_time(downloads.0.balancer().shutdown()).await, 2);
        pace.check(start, deadline);
        drop(bodies);
        assert_eq!(in_time(downloads.0.balancer().shutdown()).await, 0);
    }
}
