//! Drains that end by themselves, and balancers that are shut down.

use std::sync::Arc;
use std::time::Duration;

use poise::core::policy::RoundRobin;
use poise::core::{Attributes, Status, Weight};
use poise::tokio::TokioTimer;
use poise::tower::{Balancer, BalancerErrorKind};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};

use crate::support::fleet::{add, fleet, over, remove, set_status};
use crate::support::pace::{Pace, in_time, on_both_runtimes, until};
use crate::support::script::{Fake, Script};
use crate::support::told::Told;

type Client = Balancer<Fake, u32>;

/// Starts a request that stays under way.
async fn under_way(balancer: &Client, script: &Script) -> tokio::task::JoinHandle<()> {
    let before = script.under_way();
    let request = balancer.send(1);
    let task = tokio::spawn(async move { drop(request.await) });
    in_time(until("it is under way", || script.under_way() > before)).await;
    task
}

on_both_runtimes! {
    async fn an_owner_lets_go_of_a_member_when_its_last_attempt_has_ended(pace: Pace) {
        let (mut directory, [a, b]) = fleet(["a", "b"]);
        a.answer_after(2 * pace.second());
        let (drained, mut drains) = unbounded_channel();
        let balancer: Client = over(&directory)
            .policy(RoundRobin::starting_at(0))
            .on_drained(move |member| drop(drained.send(member.clone())))
            .spawn()
            .unwrap();
        let start = Instant::now();
        let request = tokio::spawn(balancer.send(1));
        in_time(until("a has it", || a.under_way() == 1)).await;
        let owner = tokio::spawn(async move {
            directory.remove(&"a").unwrap();
            let done = drains.recv().await.expect("the balancer lives");
            directory.finish_drained_where(|member| member.same_generation(&done)).unwrap();
            (directory, Instant::now())
        });
        assert_eq!(in_time(request).await.unwrap().unwrap().by, "a", "it is seen through");
        let (directory, _) = in_time(owner).await.unwrap();
        pace.check(start, 2 * pace.second());
        assert_eq!(directory.len(), 1);
        in_time(until("its service is let go of", || a.live() == 0)).await;
        assert_eq!((a.calls(), b.live(), balancer.report().members.len()), (1, 1, 1));
    }

    async fn a_drain_is_done_at_its_deadline_and_attempts_go_on(pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        a.hang();
        let told = Told::default();
        let deadline = 5 * pace.second();
        let balancer: Client = over(&directory).hook(told.clone()).drain_deadline(deadline).spawn().unwrap();
        let request = under_way(&balancer, &a).await;
        let start = Instant::now();
        directory.remove(&"a").unwrap();
        in_time(until("the drain is done", || told.count("drained a") == 1)).await;
        pace.check(start, deadline);
        assert_eq!(a.under_way(), 1, "nothing is cut off");
        request.abort();
        sleep(2 * deadline).await;
        assert_eq!(told.all(), ["drained a"], "once");
    }

    async fn who_has_nothing_to_do_is_drained_at_once_and_once(_pace: Pace) {
        let (mut directory, [a, _b]) = fleet(["a", "b"]);
        set_status(&mut directory, "a", Status::Draining);
        let told = Told::default();
        let balancer: Client = over(&directory).hook(told.clone()).spawn().unwrap();
        in_time(until("who drained from the start is done", || told.count("drained a") == 1)).await;
        let weight = Attributes::default().with_status(Status::Draining).with_weight(Weight::new(2).unwrap());
        directory.amend(&"a", weight).unwrap();
        in_time(until("it took effect", || balancer.report().member("a").unwrap().weight == 2)).await;
        sleep(Duration::from_millis(20)).await;
        assert_eq!((told.count("drained a"), a.live()), (1, 1));

        set_status(&mut directory, "a", Status::Ready);
        in_time(until("it is back", || balancer.report().eligible() == 2)).await;
        directory.remove(&"a").unwrap();
        in_time(until("the next drain is told too", || told.count("drained a") == 2)).await;
        assert_eq!(told.count("drained b"), 0);
    }

    async fn an_operators_drain_is_done_when_the_last_attempt_has_ended(_pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        a.hang();
        let told = Told::default();
        let balancer: Client =
            over(&directory).hook(told.clone()).fail_fast(Duration::MAX).spawn().unwrap();
        let requests = [under_way(&balancer, &a).await, under_way(&balancer, &a).await];
        balancer.drain("a").unwrap();
        for request in requests {
            sleep(Duration::from_millis(20)).await;
            assert_eq!(told.count("drained a"), 0, "there is work");
            request.abort();
        }
        in_time(until("the drain is done", || told.count("drained a") == 1)).await;
        balancer.restore("a").unwrap();
        a.answer_after(Duration::ZERO);
        in_time(balancer.send(1)).await.unwrap();
        balancer.drain("a").unwrap();
        in_time(until("the next drain is told too", || told.count("drained a") == 2)).await;
        assert!(directory.finish_drain(&"a").is_err(), "to the directory it never drained");
    }

    async fn attempts_at_an_earlier_generation_are_work_of_the_member(_pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        a.hang();
        let told = Told::default();
        let balancer: Client = over(&directory).hook(told.clone()).spawn().unwrap();
        let request = under_way(&balancer, &a).await;
        let newer = Script::new("newer");
        add(&mut directory, "a", &newer);
        in_time(until("the newer one has taken over", || a.live() == 1 && newer.built() == 1)).await;
        balancer.drain("a").unwrap();
        sleep(Duration::from_millis(20)).await;
        assert_eq!(told.count("drained a"), 0);
        request.abort();
        in_time(until("the drain is done", || told.count("drained a") == 1)).await;
    }

    async fn an_owner_that_panics_is_contained(_pace: Pace) {
        let (mut directory, [_a, _b]) = fleet(["a", "b"]);
        let told = Told::default();
        let builder = over(&directory).hook(told.clone());
        let balancer: Client = builder.on_drained(|_| panic!("told to panic")).spawn().unwrap();
        directory.remove(&"a").unwrap();
        in_time(until("it has panicked", || told.count("contained drain callback") == 1)).await;
        directory.remove(&"b").unwrap();
        in_time(until("the next one is told", || told.count("drained b") == 1)).await;
        assert!(balancer.report().driven);
    }

    async fn a_shutdown_sees_attempts_through_and_takes_nothing_new(pace: Pace) {
        let (mut directory, [a, b]) = fleet(["a", "b"]);
        a.answer_after(2 * pace.second());
        let told = Told::default();
        let policy = RoundRobin::starting_at(0);
        let balancer: Client = over(&directory).hook(told.clone()).policy(policy).spawn().unwrap();
        let retired = tokio::spawn(balancer.send(1));
        in_time(until("a has it", || a.under_way() == 1)).await;
        remove(&mut directory, "a");
        in_time(until("a is no member", || balancer.report().members.len() == 1)).await;
        b.answer_after(pace.second());
        let request = tokio::spawn(balancer.send(2));
        in_time(until("b has it", || b.under_way() == 1)).await;
        let start = Instant::now();
        let shutdown = balancer.shutdown();
        assert_eq!(*balancer.send(3).await.unwrap_err().kind(), BalancerErrorKind::Closed);
        pace.check_at_once(start);
        assert_eq!(in_time(shutdown).await, 0);
        in_time(request).await.unwrap().unwrap();
        in_time(retired).await.unwrap().expect("attempts at who has left count too");
        in_time(until("all services are let go of", || a.live() + b.live() == 0)).await;
        assert_eq!(in_time(balancer.clone().shutdown()).await, 0, "again");
        assert!(balancer.drain("b").is_err());
        assert_eq!(told.count("closed"), 1);
        let report = balancer.report();
        assert!(report.closed);
        assert!(report.to_string().starts_with("revision 0: 0 of 0 members eligible, closed\n"), "{report}");
    }

    async fn a_shutdown_ends_at_its_deadline(pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        a.hang();
        b.hang();
        let deadline = 5 * pace.second();
        let balancer: Client =
            over(&directory).policy(RoundRobin::new()).drain_deadline(deadline).spawn().unwrap();
        let requests: Vec<_> = (0..3).map(|request| tokio::spawn(balancer.send(request))).collect();
        in_time(until("all are under way", || a.under_way() + b.under_way() == 3)).await;
        let start = Instant::now();
        assert_eq!(in_time(balancer.shutdown()).await, 3);
        pace.check(start, deadline);
        for request in requests {
            request.abort();
        }
        in_time(until("their services go with them", || a.live() + b.live() == 0)).await;
    }

    async fn who_waits_hears_at_once_that_a_balancer_is_shut_down(pace: Pace) {
        let (directory, [_a]) = fleet(["a"]);
        let balancer: Client = over(&directory).fail_fast(Duration::MAX).spawn().unwrap();
        balancer.exclude("a").unwrap();
        let waiting = tokio::spawn(balancer.send(1));
        yield_now().await;
        let start = Instant::now();
        assert_eq!(balancer.shutdown().await, 0, "who waits is no attempt");
        let error = in_time(waiting).await.unwrap().unwrap_err();
        assert_eq!(*error.kind(), BalancerErrorKind::Closed);
        pace.check_at_once(start);
    }

    async fn a_driver_ends_with_a_shutdown_and_with_the_last_handle(_pace: Pace) {
        for shuts_down in [true, false] {
            let (directory, [a]) = fleet(["a"]);
            let (balancer, driver) = over::<u32>(&directory).timer(TokioTimer).build().unwrap();
            let mut driver = Box::pin(driver);
            assert!(timeout(Duration::from_millis(20), &mut driver).await.is_err());
            let clone = balancer.clone();
            drop(balancer);
            assert!(timeout(Duration::from_millis(20), &mut driver).await.is_err(), "there is a clone");
            let clone = if shuts_down {
                drop(clone.shutdown());
                Some(clone)
            } else {
                drop(clone);
                None
            };
            in_time(&mut driver).await;
            assert_eq!(a.live(), 0, "although the driver is still there");
            drop(clone);
        }
    }

    async fn what_is_left_of_a_balancer_that_was_shut_down_stays_closed(_pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        let balancer: Client = over(&directory).spawn().unwrap();
        let attempt = {
            a.hang();
            under_way(&balancer, &a).await
        };
        drop(balancer.shutdown());
        add(&mut directory, "a", &a);
        sleep(Duration::from_millis(20)).await;
        assert_eq!(a.built(), 1, "nobody follows the directory");
        assert_eq!(*balancer.send(1).await.unwrap_err().kind(), BalancerErrorKind::Closed);
        attempt.abort();
        assert_eq!(in_time(balancer.shutdown()).await, 0, "another one goes on to wait");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_attempt_begins_after_a_drain_was_reported() {
    let (mut directory, [a, b]) = fleet(["a", "b"]);
    let told = Told::default();
    let balancer: Client = over(&directory).hook(told.clone()).policy(RoundRobin::new()).spawn().unwrap();
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let balancer = balancer.clone();
            tokio::spawn(async move {
                for request in 0..2_000 {
                    balancer.send(request).await.unwrap();
                    if request % 16 == 0 {
                        yield_now().await;
                    }
                }
            })
        })
        .collect();
    let mut drains = 0;
    while callers.iter().any(|caller| !caller.is_finished()) {
        drains += 1;
        set_status(&mut directory, "a", Status::Draining);
        in_time(until("the drain is done", || told.count("drained a") == drains)).await;
        let calls = a.calls();
        yield_now().await;
        assert_eq!((a.calls(), a.under_way()), (calls, 0));
        set_status(&mut directory, "a", Status::Ready);
        in_time(until("it is back", || balancer.report().eligible() == 2)).await;
    }
    for caller in callers {
        caller.await.unwrap();
    }
    assert!(drains > 0 && b.calls() > 0);
    let report = Arc::new(balancer.report());
    assert!(report.members.iter().all(|member| member.in_flight == 0), "{report}");
}
