//! Requests that are sent to a second endpoint beside the first.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::join_all;
use poise::core::policy::{LeastLoaded, Maglev, PowerOfTwoChoices, RoundRobin};
use poise::core::{InFlight, Outcome, Status};
use poise::observe::Recorder;
use poise::tower::{
    Balancer, BalancerErrorKind, Event, Hedge, HedgeError, Hook, Idempotent, Retry, RetryBudget,
    UnknownMember,
};
use tokio::time::{Instant, timeout};

use crate::support::fleet::{Fleet, add, fleet, over, remove, set_status};
use crate::support::pace::{Pace, in_time, on_both_runtimes, until};
use crate::support::script::{Fake, Readiness, Script};

type Client = Balancer<Fake, u32, InFlight>;
type Verb = fn(&Client, &str) -> Result<(), UnknownMember>;

/// Writes down the names of events.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<&'static str>>>);

impl Hook for Log {
    fn on(&self, event: &Event<'_>) {
        let name = match event {
            Event::Picked { .. } => "picked",
            Event::Ended { outcome: Outcome::Success, .. } => "succeeded",
            Event::Ended { outcome: Outcome::Cancelled, .. } => "cancelled",
            Event::Ended { .. } => "failed",
            Event::Retried => "retried",
            Event::Hedged { .. } => "hedged",
            Event::HedgeDenied => "denied",
            Event::HedgeWon => "won",
            _ => return,
        };
        self.0.lock().unwrap().push(name);
    }
}

fn empty_budget() -> Retry {
    let budget = RetryBudget::new().with_ratio(0.0).unwrap().with_floor(0);
    Retry::attempts(1).unwrap().with_budget(budget)
}

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Two members, of which one that is idle is asked first; of two that are, the seed draws one.
fn hedged(directory: &Fleet, hedge: Hedge, log: &Log) -> Client {
    over(directory)
        .load(InFlight::new)
        .policy(LeastLoaded::seeded(0))
        .hedge(hedge)
        .hook(log.clone())
        .spawn()
        .unwrap()
}

/// Sends requests until one is asked of `script` first, with the others answering at once.
async fn asks_first(balancer: &Client, script: &Script, request: impl Fn() -> u32) {
    let before = script.calls();
    while script.calls() == before {
        balancer.send(request()).await.unwrap();
    }
}

on_both_runtimes! {
    async fn the_second_endpoint_answers_for_one_that_hangs_and_the_first_is_cancelled(pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        let log = Log::default();
        let balancer = hedged(&directory, Hedge::after(pace.second()), &log);
        a.hang();
        let start = Instant::now();
        in_time(asks_first(&balancer, &a, || 7)).await;
        pace.check(start, pace.second());
        assert_eq!((a.under_way(), b.under_way()), (0, 0), "who lost is dropped");
        let report = balancer.report();
        let first = report.member("a").unwrap();
        assert_eq!((first.cancelled, first.failures, first.in_flight), (1, 0, 0));
        assert_eq!((report.repeats.hedges, report.repeats.hedges_won), (1, 1));
        let log = log.0.lock().unwrap();
        assert_eq!(log[log.len() - 6..], ["picked", "picked", "hedged", "succeeded", "won", "cancelled"]);
    }

    async fn a_request_that_is_answered_in_time_is_sent_once(pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        let log = Log::default();
        let balancer = hedged(&directory, Hedge::after(10 * pace.second()), &log);
        for script in [&a, &b] {
            script.answer_after(millis(2));
        }
        for request in 0..20 {
            in_time(balancer.send(request)).await.unwrap();
        }
        assert_eq!(a.calls() + b.calls(), 20);
        assert_eq!(balancer.report().repeats.hedges, 0);
    }

    async fn an_error_does_not_beat_an_answer_that_is_on_its_way(pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        let log = Log::default();
        let balancer = over(&directory)
            .load(InFlight::new)
            .key(|request: &u32| request)
            .policy(Maglev::new())
            .without_circuit()
            .hedge(Hedge::after(pace.second()))
            .hook(log.clone())
            .spawn()
            .unwrap();
        for (slow, failing) in [(&a, &b), (&b, &a)] {
            slow.refuse(false);
            slow.answer_after(3 * pace.second());
            failing.answer_after(2 * pace.second());
            failing.refuse(true);
            for request in 0..8 {
                let answer = in_time(balancer.send(request)).await.expect("the other one succeeds later");
                assert_eq!(answer.request, request);
            }
            failing.refuse(false);
        }
        assert_eq!(a.calls() + b.calls(), 32, "each was sent twice, whichever was first");
    }

    async fn when_both_fail_the_request_fails_with_the_last_error(pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        let balancer = hedged(&directory, Hedge::after(pace.second()), &Log::default());
        for script in [&a, &b] {
            script.answer_after(2 * pace.second());
            script.refuse(true);
        }
        let start = Instant::now();
        let error = in_time(balancer.send(1)).await.unwrap_err();
        pace.check(start, 3 * pace.second());
        assert_eq!((error.kind(), error.attempts()), (&BalancerErrorKind::Endpoint, 2));
        assert!(!error.is_retryable());
        assert_eq!((a.calls(), b.calls()), (1, 1));
    }

    async fn an_empty_budget_hedges_nothing_and_says_so(pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        let (log, recorder) = (Log::default(), Recorder::new());
        let balancer: Client = over(&directory)
            .load(InFlight::new)
            .hedge(Hedge::after(pace.second()))
            .retry(empty_budget())
            .hook(log.clone())
            .observe(recorder.clone())
            .spawn()
            .unwrap();
        for script in [&a, &b] {
            script.answer_after(3 * pace.second());
        }
        let start = Instant::now();
        in_time(balancer.send(1)).await.unwrap();
        pace.check(start, 3 * pace.second());
        assert_eq!((a.calls() + b.calls(), balancer.report().repeats.hedges_denied), (1, 1));
        assert_eq!((recorder.snapshot().hedges(), recorder.snapshot().hedges_denied()), (0, 1));
        assert_eq!(*log.0.lock().unwrap(), ["picked", "denied", "succeeded"]);
    }

    async fn nobody_else_is_no_hedge_and_costs_no_token(pace: Pace) {
        let (mut directory, [a, b]) = fleet(["a", "b"]);
        set_status(&mut directory, "b", Status::Unavailable);
        let log = Log::default();
        let balancer = hedged(&directory, Hedge::after(pace.second()), &log);
        a.answer_after(2 * pace.second());
        in_time(balancer.send(1)).await.unwrap();
        assert_eq!((a.calls(), b.calls()), (1, 0));
        assert_eq!(*log.0.lock().unwrap(), ["picked", "succeeded"], "neither hedged nor denied");
    }

    async fn a_request_that_must_not_be_sent_twice_is_neither_hedged_nor_retried(pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        let balancer: Client = over(&directory)
            .load(InFlight::new)
            .without_circuit()
            .hedge(Hedge::after(pace.second()))
            .retry(Retry::attempts(3).unwrap())
            .idempotent(|request: &u32| request.is_multiple_of(2))
            .spawn()
            .unwrap();
        for script in [&a, &b] {
            script.answer_after(2 * pace.second());
            script.refuse(true);
        }
        assert_eq!(in_time(balancer.send(1)).await.unwrap_err().attempts(), 1);
        assert_eq!(a.calls() + b.calls(), 1);
        assert_eq!(in_time(balancer.send(2)).await.unwrap_err().attempts(), 3, "one hedge and one retry");
        assert_eq!(a.calls() + b.calls(), 4);
    }

    async fn a_hedge_avoids_what_an_operator_took_out(pace: Pace) {
        let verbs: [Verb; 3] = [Client::drain, Client::exclude, Client::force_open];
        for verb in verbs {
            let (directory, [a, b, c]) = fleet(["a", "b", "c"]);
            let balancer = hedged(&directory, Hedge::after(pace.second()), &Log::default());
            verb(&balancer, "b").unwrap();
            for script in [&a, &b, &c] {
                script.answer_after(3 * pace.second());
            }
            in_time(balancer.send(1)).await.unwrap();
            assert_eq!((a.calls(), b.calls(), c.calls()), (1, 0, 1));
            verb(&balancer, "c").unwrap();
            in_time(balancer.send(1)).await.unwrap();
            assert_eq!((a.calls(), b.calls(), c.calls()), (2, 0, 1), "nobody is left to hedge with");
            assert_eq!(balancer.report().repeats.hedges, 1);
        }
    }

    async fn a_hedge_avoids_what_its_caller_avoids_and_would_rather_not_be(pace: Pace) {
        let (directory, [a, b, c]) = fleet(["a", "b", "c"]);
        let log = Log::default();
        let balancer = hedged(&directory, Hedge::after(pace.second()), &log);
        for script in [&a, &b, &c] {
            script.answer_after(3 * pace.second());
        }
        in_time(balancer.call_avoiding(1, ["a"])).await.unwrap();
        assert_eq!((a.calls(), b.calls(), c.calls()), (0, 1, 1));
        log.0.lock().unwrap().clear();
        in_time(balancer.call_avoiding(1, ["a", "b"])).await.unwrap();
        assert_eq!((a.calls(), b.calls(), c.calls()), (0, 1, 2), "the first attempt is good enough");
        assert_eq!(*log.0.lock().unwrap(), ["picked", "succeeded"], "neither hedged nor denied");
    }

    async fn a_hedge_that_wins_counts_although_the_first_endpoint_is_gone(pace: Pace) {
        let (mut directory, [a, b]) = fleet(["a", "b"]);
        let log = Log::default();
        let balancer: Client = over(&directory)
            .load(InFlight::new)
            .policy(RoundRobin::starting_at(0))
            .hedge(Hedge::after(pace.second()))
            .hook(log.clone())
            .spawn()
            .unwrap();
        a.answer_after(2 * pace.second());
        a.refuse(true);
        b.answer_after(3 * pace.second());
        let request = tokio::spawn(balancer.send(1));
        in_time(until("both have it", || a.under_way() + b.under_way() == 2)).await;
        remove(&mut directory, "a");
        in_time(until("it failed and is gone", || a.live() == 0)).await;
        assert_eq!(in_time(request).await.unwrap().unwrap().by, "b");
        let report = balancer.report();
        assert_eq!((report.repeats.hedges, report.repeats.hedges_won), (1, 1));
        assert_eq!(*log.0.lock().unwrap(), ["picked", "picked", "hedged", "failed", "succeeded", "won"]);
    }

    async fn a_shutdown_sees_hedged_requests_through_and_hedges_no_others(pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        let balancer = hedged(&directory, Hedge::after(2 * pace.second()), &Log::default());
        for script in [&a, &b] {
            script.answer_after(5 * pace.second());
        }
        let hedged = tokio::spawn(balancer.send(1));
        in_time(until("both have it", || a.under_way() + b.under_way() == 2)).await;
        let alone = tokio::spawn(balancer.send(2));
        in_time(until("one more is under way", || a.under_way() + b.under_way() == 3)).await;
        assert_eq!(in_time(balancer.shutdown()).await, 0);
        in_time(hedged).await.unwrap().unwrap();
        in_time(alone).await.unwrap().unwrap();
        assert_eq!(a.calls() + b.calls(), 3);
    }

    async fn whoever_gives_up_on_a_hedged_request_leaves_nothing_behind(pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        let balancer = hedged(&directory, Hedge::after(pace.second()), &Log::default());
        a.hang();
        b.hang();
        let request = tokio::spawn(balancer.send(1));
        in_time(until("both have it", || a.under_way() + b.under_way() == 2)).await;
        request.abort();
        in_time(until("both are dropped", || a.under_way() + b.under_way() == 0)).await;
        let report = balancer.report();
        assert!(report.members.iter().all(|member| member.in_flight == 0 && member.cancelled == 1), "{report}");
    }
}

/// Asks the first member first.
fn in_turn(directory: &Fleet, hedge: Hedge) -> Client {
    over(directory).load(InFlight::new).policy(RoundRobin::starting_at(0)).hedge(hedge).spawn().unwrap()
}

#[tokio::test(start_paused = true)]
async fn who_lost_is_dropped_with_the_first_answer_though_the_request_is_kept() {
    let (directory, [a, b]) = fleet(["a", "b"]);
    let balancer = in_turn(&directory, Hedge::after(millis(10)));
    a.answer_after(millis(20));
    b.hang();
    let mut request = Box::pin(balancer.send(1));
    assert_eq!(request.as_mut().await.unwrap().by, "a");
    assert_eq!((a.under_way(), b.under_way(), b.calls()), (0, 0, 1));
    assert_eq!(balancer.report().member("b").unwrap().in_flight, 0);
    drop(request);
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_hedge_is_under_way_is_under_way() {
    let (directory, [a, b]) = fleet(["a", "b"]);
    let balancer = in_turn(&directory, Hedge::after(millis(10)));
    a.refuse(true);
    a.answer_after(millis(20));
    b.hang();
    let mut request = Box::pin(balancer.send(1));
    assert!(timeout(millis(40), request.as_mut()).await.is_err(), "the answer of the hedge is to come");
    assert_eq!((a.under_way(), b.under_way()), (0, 1));
    assert!(format!("{request:?}").contains("under way"), "{request:?}");
}

#[tokio::test(start_paused = true)]
async fn a_retry_has_the_full_time_before_it_is_hedged() {
    let (directory, [a, b, c]) = fleet(["a", "b", "c"]);
    let balancer = over(&directory)
        .policy(RoundRobin::starting_at(0))
        .retry(Retry::attempts(3).unwrap())
        .hedge(Hedge::after(millis(10)))
        .spawn()
        .unwrap();
    for script in [&a, &b, &c] {
        script.answer_after(millis(8));
    }
    a.refuse(true);
    let start = Instant::now();
    balancer.send(1).await.unwrap();
    assert_eq!((start.elapsed(), a.calls(), b.calls()), (millis(16), 1, 1));
    assert_eq!(
        (c.calls(), balancer.report().repeats.hedges),
        (0, 0),
        "the time of the first attempt is over"
    );
}

/// Four endpoints of which one takes a second.
async fn thousand(hedge: Hedge) -> (Vec<Duration>, poise::tower::Report, usize) {
    let (directory, scripts) = fleet(["a", "b", "c", "d"]);
    scripts[0].answer_after(Duration::from_secs(1));
    for script in &scripts[1..] {
        script.answer_after(millis(2));
    }
    let balancer: Balancer<Fake, u32> = over(&directory).hedge(hedge).spawn().unwrap();
    let mut times = Vec::new();
    let mut running = Vec::new();
    for request in 0..1_000 {
        let response = balancer.send(request);
        running.push(tokio::spawn(async move {
            let start = Instant::now();
            response.await.unwrap();
            start.elapsed()
        }));
        tokio::time::sleep(millis(1)).await;
    }
    for request in running {
        times.push(request.await.unwrap());
    }
    (times, balancer.report(), scripts.iter().map(Script::calls).sum())
}

#[tokio::test(start_paused = true)]
async fn of_a_thousand_requests_none_waits_for_the_one_endpoint_that_takes_a_second() {
    let (times, report, calls) = thousand(Hedge::after(millis(10))).await;
    assert_eq!(times.iter().filter(|time| **time > millis(500)).count(), 0);
    assert!(calls <= 1_000 + 200 + 100, "a fifth more, and the floor: {calls} calls");
    assert_eq!(calls as u64, 1_000 + report.repeats.hedges);
    assert!(report.repeats.hedges_won > 0, "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_quantile_hedges_once_it_knows_enough_and_forgets_after_half_a_minute() {
    let (directory, scripts) =
        fleet(["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"]);
    let balancer: Client = over(&directory)
        .load(InFlight::new)
        .policy(PowerOfTwoChoices::seeded(7))
        .hedge(Hedge::after_quantile(0.9).unwrap().with_min_samples(50))
        .spawn()
        .unwrap();
    let wait_in_vain = || async {
        for script in &scripts {
            script.hang();
        }
        let answer = timeout(Duration::from_secs(5), balancer.send(0)).await;
        assert!(answer.is_err(), "nobody answers");
        for script in &scripts {
            script.answer_after(millis(20));
        }
        balancer.report().repeats.hedges
    };
    assert_eq!(wait_in_vain().await, 0, "nothing is known yet");

    for request in 0..100 {
        balancer.send(request).await.unwrap();
    }
    assert_eq!(balancer.report().repeats.hedges, 0, "all take as long as the others");

    scripts[0].hang();
    for request in 0..200 {
        let start = Instant::now();
        balancer.send(request).await.unwrap();
        assert!(start.elapsed() <= millis(20 + 24 + 2), "the quantile is an eighth too long at most");
    }
    let hedges = balancer.report().repeats.hedges;
    assert!((4..=30).contains(&hedges), "{hedges} of 200 went to the one of sixteen that hangs");
    assert_eq!(wait_in_vain().await, hedges + 1);

    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(wait_in_vain().await, hedges + 1, "what was known is forgotten");
}

#[tokio::test(start_paused = true)]
async fn attempts_that_no_endpoint_had_say_nothing_of_latencies() {
    let (directory, scripts) = fleet(["first", "second"]);
    let balancer: Client = over(&directory)
        .load(InFlight::new)
        .policy(RoundRobin::starting_at(0))
        .hedge(Hedge::after_quantile(0.9).unwrap().with_min_samples(50))
        .spawn()
        .unwrap();
    for script in &scripts {
        script.answer_after(millis(20));
    }
    for request in 0..100 {
        balancer.send(request).await.unwrap();
    }
    for script in &scripts {
        script.turn(Readiness::Pending);
    }
    let waits = (0..200).map(|request| timeout(Duration::from_secs(1), balancer.send(request)));
    assert!(join_all(waits).await.iter().all(Result::is_err), "nobody is ready");
    for script in &scripts {
        script.turn(Readiness::Ready);
    }

    scripts[0].hang();
    for request in 0..2 {
        let start = Instant::now();
        balancer.send(request).await.unwrap();
        assert!(start.elapsed() <= millis(20 + 24 + 2), "{:?}", start.elapsed());
    }
    assert!(balancer.report().repeats.hedges > 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_known_of_latencies_outlives_the_allocations_of_members() {
    let (mut directory, scripts) = fleet(["a", "b"]);
    let log = Log::default();
    let hedge = Hedge::after_quantile(0.9).unwrap().with_min_samples(50);
    let balancer = hedged(&directory, hedge, &log);
    for script in &scripts {
        script.answer_after(millis(20));
    }
    for request in 0..50 {
        balancer.send(request).await.unwrap();
    }
    let (slow, quick) = (Script::new("slow"), Script::new("quick"));
    add(&mut directory, "a", &slow);
    add(&mut directory, "b", &quick);
    until("the new ones have taken over", || scripts.iter().all(|script| script.live() == 0)).await;
    slow.hang();
    let start = Instant::now();
    asks_first(&balancer, &slow, || 7).await;
    assert!(start.elapsed() <= millis(20 + 2 + 2), "hedged after what the old ones took");
    let report = balancer.report();
    assert_eq!((report.repeats.hedges, report.repeats.hedges_won), (1, 1));
    let picks: u64 = report.members.iter().map(|member| member.picks).sum();
    assert!(picks < 50, "too few to know anything from the new ones alone: {picks}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    for quantile in [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY] {
        assert_eq!(Hedge::after_quantile(quantile), Err(HedgeError::Quantile), "{quantile}");
    }
}

#[test]
fn a_closure_says_what_may_be_sent_twice() {
    let idempotent = |request: &u32| *request > 3;
    assert!(idempotent.is_idempotent(&4) && !idempotent.is_idempotent(&3));
}
