//! What ends a wait for an endpoint, and how endpoints heal.

use std::sync::Arc;
use std::time::Duration;

use poise::core::policy::{PriorityFailover, RoundRobin};
use poise::core::{Backend, Candidate, Exclusion, InFlight, Now, Outcome, Status};
use poise::health::{CircuitConfig, HealthChecked, PassiveHealth};
use poise::tokio::TokioTimer;
use poise::tower::{Backoff, Balance, BalanceError, Endpoint, Timer};
use tokio::time::{Instant, sleep, timeout};
use tower::ServiceExt;
use tower_service::Service;

use crate::support::flag::Flag;
use crate::support::script::{Fake, Readiness, Script};
use crate::support::standing::{self, Standing, ask, is_ready, poll_ready, standing, who};
use crate::support::wakes::Wakes;

const SECOND: Duration = Duration::from_secs(1);

type Guarded = HealthChecked<Backend<&'static str>, Arc<PassiveHealth>>;

fn backoff() -> Backoff {
    Backoff::new(SECOND, 8 * SECOND).unwrap()
}

/// Awaits readiness and returns how long that took.
async fn wait(balance: &mut impl Service<u32, Error: std::fmt::Debug>) -> Duration {
    let start = Instant::now();
    timeout(3600 * SECOND, balance.ready()).await.expect("nothing woke this task").unwrap();
    start.elapsed()
}

/// Makes a balance of `a`, which is pending for good, and one more.
fn beside_a_pending_one<C: Candidate<Id: std::hash::Hash>>(
    pending: C,
    other: Endpoint<C, Fake>,
) -> Balance<C, Fake, InFlight, RoundRobin> {
    let script = Script::new("a");
    script.turn(Readiness::Pending);
    Balance::new(RoundRobin::new(), [Endpoint::new(pending, script.service()), other])
}

#[tokio::test(start_paused = true)]
async fn a_service_that_failed_once_serves_again_within_its_back_off() {
    let (balance, [a]) = standing(RoundRobin::new(), ["a"]);
    let mut balance = balance.recovering(backoff(), TokioTimer);
    a.turn(Readiness::Failing);
    let (wakes, start) = (Wakes::default(), TokioTimer.now());
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    a.turn(Readiness::Ready);
    assert_eq!(wakes.count(), 0, "a service that failed wakes nobody");
    assert!(wait(&mut balance).await <= SECOND, "the waiter is woken, without any other event");
    assert_eq!(who(ask(&mut balance, 1)), "a");
    assert!(TokioTimer.now() - start <= SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_goes_on_to_fail_is_left_alone_for_longer_and_longer() {
    let (balance, [a, _b]) = standing(RoundRobin::new(), ["a", "b"]);
    let mut balance = balance.recovering(backoff().with_jitter(0.0).unwrap(), TokioTimer);
    a.turn(Readiness::Failing);
    let mut failed_at = Vec::new();
    for second in 0..32 {
        let before = a.polls();
        assert_eq!(who(ask(&mut balance, 1)), "b", "it holds up nobody");
        if a.polls() > before {
            failed_at.push(second);
        }
        sleep(SECOND).await;
    }
    assert_eq!(failed_at, [0, 1, 3, 7, 15, 23, 31]);

    a.turn(Readiness::Ready);
    sleep(8 * SECOND).await;
    (0..2).for_each(|request| drop(ask(&mut balance, request)));
    assert!(a.calls() > 0);
    a.turn(Readiness::Failing);
    (0..2).for_each(|request| drop(ask(&mut balance, request)));
    assert!(balance.endpoints()[0].is_quarantined());
    a.turn(Readiness::Ready);
    sleep(SECOND).await;
    assert!(is_ready(&mut balance));
    assert!(balance.endpoints()[0].is_reserved(), "a request that was served ends the row");
}

#[tokio::test(start_paused = true)]
async fn a_reset_needs_no_back_off() {
    let (balance, [a]) = standing(RoundRobin::new(), ["a"]);
    let mut balance = balance.recovering(backoff(), TokioTimer);
    a.turn(Readiness::Failing);
    assert!(!is_ready(&mut balance));
    a.turn(Readiness::Ready);
    assert!(balance.reset(&"a"));
    assert_eq!(wait(&mut balance).await, Duration::ZERO);
}

#[test]
fn a_signal_that_recovers_wakes_whoever_waits() {
    let (flag, script) = (Flag::default(), Script::new("b"));
    flag.set_down(true);
    let mut balance =
        beside_a_pending_one(Flag::default().on("a"), Endpoint::new(flag.on("b"), script.service()));
    let wakes = Wakes::default();
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    assert_eq!(script.polls(), 0, "who is excluded is not asked");
    flag.set_down(false);
    assert_eq!(wakes.count(), 1);
    assert!(poll_ready(&mut balance, &wakes).is_ready());
    assert_eq!(script.polls(), 1);

    flag.set_down(true);
    assert!(poll_ready(&mut balance, &wakes).is_pending(), "it holds a reservation and is excluded");
    let before = wakes.count();
    flag.set_down(false);
    assert_eq!(wakes.count(), before + 1);
    assert!(poll_ready(&mut balance, &wakes).is_ready());
    assert_eq!(script.polls(), 1, "the reservation was kept");
}

#[test]
fn a_signal_that_recovers_silently_is_noticed_while_others_are_called() {
    let flags: Vec<_> = (0..40).map(|_| Flag::default()).collect();
    let scripts: Vec<_> = (0..40).map(|_| Script::new("one of many")).collect();
    let endpoints = flags.iter().zip(&scripts);
    let endpoints =
        endpoints.zip(NAMES).map(|((flag, script), name)| Endpoint::new(flag.on(name), script.service()));
    flags[1..].iter().for_each(|flag| flag.set_down(true));
    let mut balance = Balance::new(RoundRobin::new(), endpoints);
    who(ask(&mut balance, 1));
    flags[1..].iter().for_each(|flag| flag.set_down_silently(false));
    (0..10).for_each(|request| drop(ask(&mut balance, request)));
    assert!(is_ready(&mut balance));
    assert!(balance.endpoints().iter().all(Endpoint::is_reserved));
}

const NAMES: [&str; 40] = [
    "00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "15", "16",
    "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31", "32", "33",
    "34", "35", "36", "37", "38", "39",
];

fn guarded(name: &'static str, failures: u32) -> (Arc<PassiveHealth>, Guarded) {
    let circuit = Arc::new(PassiveHealth::new(CircuitConfig::new(failures, 5 * SECOND).unwrap()));
    (Arc::clone(&circuit), HealthChecked::new(Backend::new(name), circuit))
}

fn now() -> Now {
    Now::at(TokioTimer.now())
}

#[tokio::test(start_paused = true)]
async fn a_cooldown_that_ends_wakes_whoever_waits() {
    let (circuit, b) = guarded("b", 1);
    let mut balance = beside_a_pending_one(guarded("a", 1).1, Endpoint::new(b, Script::new("b").service()))
        .timer(TokioTimer);
    circuit.try_acquire(&now()).unwrap().complete(Outcome::Failure, &now());
    assert!(!is_ready(&mut balance));
    let waited = wait(&mut balance).await;
    assert!((5 * SECOND..=5 * SECOND + Duration::from_millis(2)).contains(&waited), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_permit_that_returns_wakes_whoever_waits() {
    let (circuit, b) = guarded("b", 1);
    let mut balance = beside_a_pending_one(guarded("a", 1).1, Endpoint::new(b, Script::new("b").service()))
        .timer(TokioTimer);
    circuit.try_acquire(&now()).unwrap().complete(Outcome::Failure, &now());
    sleep(5 * SECOND).await;
    let probe = circuit.try_acquire(&now()).unwrap();
    let wakes = Wakes::default();
    assert!(poll_ready(&mut balance, &wakes).is_pending(), "the only permit is taken");
    probe.complete(Outcome::Success, &now());
    assert_eq!(wakes.count(), 1);
    assert!(poll_ready(&mut balance, &wakes).is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_table_learns_of_a_cooldown_that_ended_while_others_were_called() {
    let (circuit, first) = guarded("first", 1);
    let (_, standby) = guarded("standby", 1);
    let endpoint = |name, guarded: Guarded| Endpoint::new(guarded, Script::new(name).service());
    let endpoints = [endpoint("first", first), endpoint("standby", standby)];
    let mut balance = Balance::new(RoundRobin::starting_at(0), endpoints).timer(TokioTimer);
    assert!(is_ready(&mut balance));
    circuit.try_acquire(&now()).unwrap().complete(Outcome::Failure, &now());
    for request in 0..4 {
        assert_eq!(who(ask(&mut balance, request)), "standby");
    }
    sleep(5 * SECOND).await;
    let answers: Vec<_> = (0..4).map(|request| who(ask(&mut balance, request))).collect();
    assert!(answers.contains(&"first"), "{answers:?}");
}

#[test]
fn failover_goes_by_who_can_be_called() {
    let scripts = ["first", "standby"].map(Script::new);
    let level = |(script, level): (&Script, u32)| {
        Endpoint::new(Backend::new(script.name()).with_priority(level), script.service())
    };
    let endpoints = scripts.iter().zip(0..).map(level);
    let mut balance = Balance::new(PriorityFailover::new(RoundRobin::new()), endpoints);
    assert_eq!(who(ask(&mut balance, 1)), "first");
    balance.amend(&"first", |first| *first = first.clone().with_status(Status::Draining));
    assert_eq!(who(ask(&mut balance, 2)), "standby");
}

#[test]
fn total_exclusion_says_why_and_pends() {
    let (mut balance, scripts): (Standing<_>, _) = standing(RoundRobin::new(), ["a", "b"]);
    for id in ["a", "b"] {
        balance.amend(&id, |one| *one = one.clone().with_status(Status::Draining));
    }
    let wakes = Wakes::default();
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    let Err(BalanceError::NoEligible(counts)) = standing::call(&mut balance, 1) else { panic!() };
    assert_eq!(counts.of(Exclusion::Draining), 2);
    assert!(balance.amend(&"b", |one| *one = one.clone().with_status(Status::Ready)));
    assert_eq!(wakes.count(), 1);
    assert_eq!(who(ask(&mut balance, 2)), "b");
    assert_eq!(scripts[0].polls(), 0);
}
