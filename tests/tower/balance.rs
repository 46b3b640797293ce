//! How a balance keeps readiness and hands out requests.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use poise::core::policy::{Maglev, PowerOfTwoChoices, Rendezvous, RoundRobin};
use poise::core::{Backend, Exclusion, InFlight, InvalidSelection, PickError, Status};
use poise::tower::{Balance, BalanceError, BalancerErrorKind, Endpoint, UseRequest};
use tower::ServiceExt;
use tower::buffer::Buffer;
use tower_service::Service;

use crate::support::flag::Flag;
use crate::support::pool_policies::Stubborn;
use crate::support::script::{Fake, Readiness, Refused, Script};
use crate::support::standing::{Member, ask, call, is_ready, member, poll_ready, standing, who};
use crate::support::wakes::Wakes;

#[test]
fn a_pending_endpoint_holds_nobody_up() {
    let (mut balance, [a, _, _]) = standing(RoundRobin::starting_at(0), ["a", "b", "c"]);
    a.turn(Readiness::Pending);
    let answers: Vec<_> = (0..4).map(|request| who(ask(&mut balance, request))).collect();
    assert_eq!((a.calls(), answers.len()), (0, 4));
    a.turn(Readiness::Ready);
    (0..3).for_each(|request| drop(ask(&mut balance, request)));
    assert!(a.calls() > 0, "it takes part as soon as it is ready");
}

#[test]
fn a_reservation_stays_with_its_endpoint_until_it_is_chosen() {
    let (mut balance, [a, b]) = standing(Stubborn(0), ["a", "b"]);
    for request in 0..10 {
        assert_eq!(who(ask(&mut balance, request)), "a");
    }
    assert_eq!(b.polls(), 1, "whoever was not called is not asked again");
    assert_eq!(a.polls(), 20, "once before readiness and once before the call");
    assert!(balance.endpoints()[1].is_reserved());
}

#[test]
fn polls_of_services_grow_with_their_wake_ups() {
    const ENDPOINTS: usize = 500;
    let scripts: Vec<_> = (0..ENDPOINTS).map(|_| Script::new("one of many")).collect();
    for script in &scripts {
        script.turn(Readiness::Pending);
    }
    let mut balance = Balance::new(PowerOfTwoChoices::new(), scripts.iter().map(member));
    let wakes = Wakes::default();
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    for (position, script) in scripts.iter().enumerate() {
        script.turn(Readiness::Ready);
        assert_eq!(wakes.count(), position + 1, "each wake-up arrives");
        assert!(poll_ready(&mut balance, &wakes).is_ready());
    }
    for script in &scripts {
        assert!(script.polls() <= 4, "{} polls of one service", script.polls());
    }
}

#[test]
fn the_last_of_many_pending_ones_wakes_the_task_and_is_called() {
    let (mut balance, scripts) = standing(RoundRobin::new(), ["a", "b", "c"]);
    for script in &scripts {
        script.turn(Readiness::Pending);
    }
    let wakes = Wakes::default();
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    assert_eq!(wakes.count(), 0, "nothing has happened");
    scripts[2].turn(Readiness::Ready);
    assert_eq!(wakes.count(), 1);
    assert_eq!(who(ask(&mut balance, 1)), "c");
}

#[test]
fn the_task_that_polled_last_is_woken() {
    let (mut balance, [a]) = standing(RoundRobin::new(), ["a"]);
    a.turn(Readiness::Pending);
    let (first, second) = (Wakes::default(), Wakes::default());
    assert!(poll_ready(&mut balance, &first).is_pending());
    assert!(poll_ready(&mut balance, &second).is_pending());
    a.turn(Readiness::Ready);
    assert_eq!((first.count(), second.count()), (0, 1));
}

#[test]
fn a_removal_after_readiness_sends_the_call_to_the_best_that_remains() {
    for seed in 0..64 {
        for removed in ["a", "b", "c"] {
            let (mut balance, scripts) = standing(PowerOfTwoChoices::seeded(seed), ["a", "b", "c"]);
            // One in flight at `a`, none at the others: of two that remain, the idle one is best.
            let busy = Script::new("a");
            busy.hang();
            balance.remove(&"a").unwrap();
            balance.push(member(&busy));
            balance.amend(&"b", |backend| *backend = backend.clone().with_status(Status::Draining));
            balance.amend(&"c", |backend| *backend = backend.clone().with_status(Status::Draining));
            assert!(is_ready(&mut balance));
            let under_way = balance.call(0);
            for id in ["b", "c"] {
                balance.amend(&id, |backend| *backend = backend.clone().with_status(Status::Ready));
            }

            assert!(is_ready(&mut balance));
            assert!(balance.remove(&removed).is_some());
            let answer = who(call(&mut balance, 1));
            let expected: &[_] = match removed {
                "a" => &["b", "c"],
                "b" => &["c"],
                _ => &["b"],
            };
            assert!(expected.contains(&answer), "seed {seed}: {answer} was called after {removed} left");
            assert_eq!(scripts[0].calls(), 0, "an endpoint that left is not called");
            drop(under_way);
        }
    }
}

#[test]
fn the_end_of_all_reservations_is_an_error_of_the_call_and_of_nothing_else() {
    let (mut balance, [a]) = standing(RoundRobin::new(), ["a"]);
    assert!(is_ready(&mut balance));
    balance.remove(&"a").unwrap();
    let error = call(&mut balance, 1).unwrap_err();
    assert_eq!((&error, error.kind()), (&BalanceError::NoMembers, BalancerErrorKind::NoMembers));
    assert!(error.is_retryable());
    balance.push(member(&a));
    assert_eq!(who(ask(&mut balance, 2)), "a");
}

#[test]
fn a_call_without_readiness_finds_nobody_and_breaks_nothing() {
    let (mut balance, [a]) = standing(RoundRobin::new(), ["a"]);
    let Err(BalanceError::NoEligible(counts)) = call(&mut balance, 1) else { panic!("nobody was asked") };
    assert_eq!((counts.candidates(), counts.of(Exclusion::NotReady), a.calls()), (1, 1, 0));
    assert_eq!(who(ask(&mut balance, 2)), "a");
}

#[test]
fn a_dead_reservation_is_noticed_before_it_is_used() {
    let (mut balance, [a, b]) = standing(RoundRobin::starting_at(0), ["a", "b"]);
    for dead in [Readiness::Pending, Readiness::Failing] {
        assert!(is_ready(&mut balance));
        a.turn(dead);
        assert_eq!(who(call(&mut balance, 1)), "b", "the one that is {dead:?} is passed over");
        a.turn(Readiness::Ready);
        balance.reset_all();
    }
    assert!(is_ready(&mut balance));
    a.turn(Readiness::Failing);
    b.turn(Readiness::Pending);
    let Err(BalanceError::NoEligible(counts)) = call(&mut balance, 2) else { panic!("somebody was called") };
    assert_eq!(counts.of(Exclusion::NotReady), 2);
    assert_eq!(a.calls(), 0);

    let wakes = Wakes::default();
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    b.turn(Readiness::Ready);
    assert_eq!(wakes.count(), 1, "the poll before the call did not cost the wake-up");
    assert_eq!(who(ask(&mut balance, 3)), "b");
}

#[test]
fn a_policy_that_names_nobody_or_somebody_unready_calls_no_service() {
    let (mut balance, [a, b]) = standing(Stubborn(1), ["a", "b"]);
    b.turn(Readiness::Pending);
    assert!(is_ready(&mut balance));
    let error = call(&mut balance, 1).unwrap_err();
    let excluded = InvalidSelection::Excluded { index: 1, exclusions: Exclusion::NotReady.into() };
    assert_eq!(error, BalanceError::InvalidSelection(excluded));
    assert!(!error.is_retryable());

    let (mut balance, [c]) = standing(Stubborn(7), ["c"]);
    assert!(is_ready(&mut balance));
    let out_of_range = InvalidSelection::OutOfRange { index: 7, candidates: 1 };
    assert_eq!(call(&mut balance, 1).unwrap_err(), BalanceError::InvalidSelection(out_of_range));
    assert_eq!((a.calls(), b.calls(), c.calls()), (0, 0, 0));
    assert_eq!(balance.endpoints()[0].tracker().current(), 0);
}

#[test]
fn an_endpoint_at_its_limit_is_passed_over() {
    let scripts = ["a", "b"].map(Script::new);
    for script in &scripts {
        script.hang();
    }
    let limited = |script| member(script).with_tracker(InFlight::with_limit(1).unwrap());
    let mut balance = Balance::new(RoundRobin::starting_at(0), scripts.iter().map(limited));
    let wakes = Wakes::default();
    assert!(poll_ready(&mut balance, &wakes).is_ready());
    let first = balance.call(1);
    assert!(poll_ready(&mut balance, &wakes).is_ready());
    let second = balance.call(2);
    assert_eq!(scripts.each_ref().map(Script::calls), [1, 1]);

    assert!(poll_ready(&mut balance, &wakes).is_pending(), "both are full");
    let Err(BalanceError::AtCapacity(counts)) = call(&mut balance, 3) else { panic!("both are full") };
    assert_eq!(counts.of(Exclusion::Capacity), 2);
    let before = wakes.count();
    drop(second);
    assert_eq!(wakes.count(), before + 1, "a place that comes free wakes the task");
    assert!(poll_ready(&mut balance, &wakes).is_ready());
    scripts[1].answer_after(Duration::ZERO);
    assert_eq!(call(&mut balance, 4).unwrap().by, "b");
    drop(first);
}

#[test]
fn at_capacity_means_that_places_are_all_that_is_missing() {
    let scripts = ["a", "b"].map(Script::new);
    let limited = |script| member(script).with_tracker(InFlight::with_limit(1).unwrap());
    let mut balance = Balance::new(RoundRobin::starting_at(0), scripts.iter().map(limited));
    scripts[0].hang();
    scripts[1].turn(Readiness::Pending);
    assert!(is_ready(&mut balance));
    let first = balance.call(1);
    assert!(!is_ready(&mut balance));
    assert!(
        matches!(call(&mut balance, 2), Err(BalanceError::NoEligible(_))),
        "one of them is only not ready"
    );
    drop(first);
}

#[test]
fn one_that_is_ready_every_other_time_gets_its_share() {
    let (scripts, flag) = (["a", "b", "c"].map(Script::new), Flag::default());
    let candidates = [Flag::default().on("a"), Flag::default().on("b"), flag.on("c")];
    let endpoints = candidates.into_iter().zip(&scripts);
    let endpoints = endpoints.map(|(candidate, script)| Endpoint::new(candidate, script.service()));
    let mut balance = Balance::new(RoundRobin::starting_at(0), endpoints);
    for request in 0..600 {
        flag.set_down(request % 2 == 1);
        who(ask(&mut balance, request));
    }
    let calls = scripts.each_ref().map(Script::calls);
    assert!(calls.iter().all(|calls| *calls >= 120), "shares of {calls:?}");
}

#[test]
fn a_service_that_fails_to_become_ready_is_quarantined_until_it_is_reset() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let observer = Arc::clone(&seen);
    let (balance, [a, b]) = standing(RoundRobin::starting_at(0), ["a", "b"]);
    let mut balance = balance.observe_readiness(move |id: &&'static str, error: Refused| {
        observer.lock().unwrap().push((*id, error));
    });
    a.turn(Readiness::Failing);
    for request in 0..10 {
        assert_eq!(who(ask(&mut balance, request)), "b", "one error fails no request");
    }
    assert_eq!(*seen.lock().unwrap(), [("a", Refused)], "the error is preserved, and it is told once");
    assert!(balance.endpoints()[0].is_quarantined());
    a.turn(Readiness::Ready);
    for request in 0..10 {
        assert_eq!(who(ask(&mut balance, request)), "b", "it stays away although it would be ready");
    }
    assert_eq!(a.polls(), 1);

    assert!(balance.reset(&"a"));
    assert!(!balance.reset(&"a"), "it is in no quarantine any more");
    assert!(is_ready(&mut balance));
    assert!(balance.endpoints()[0].is_reserved());
    (0..2).for_each(|request| drop(ask(&mut balance, request)));
    assert!(a.calls() > 0);
    assert_eq!(b.readiness_errors(), 0);
}

#[test]
fn total_quarantine_pends_and_a_reset_wakes() {
    let (mut balance, scripts) = standing(RoundRobin::new(), ["a", "b"]);
    for script in &scripts {
        script.turn(Readiness::Failing);
    }
    let wakes = Wakes::default();
    assert!(poll_ready(&mut balance, &wakes).is_pending(), "it is not dead");
    for script in &scripts {
        script.turn(Readiness::Ready);
    }
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    assert_eq!(balance.reset_all(), 2);
    assert!(wakes.count() > 0, "a reset wakes whoever waits");
    assert!(poll_ready(&mut balance, &wakes).is_ready());
}

#[test]
fn an_empty_balance_pends_and_a_new_endpoint_wakes() {
    let (mut balance, []) = standing(RoundRobin::new(), []);
    let wakes = Wakes::default();
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    let late = Script::new("late");
    balance.push(member(&late));
    assert_eq!(wakes.count(), 1);
    assert!(poll_ready(&mut balance, &wakes).is_ready());
    assert_eq!(who(call(&mut balance, 1)), "late");
}

#[test]
fn an_ineligible_endpoint_is_not_polled_and_keeps_what_it_has() {
    let (mut balance, [a, b]) = standing(RoundRobin::starting_at(0), ["a", "b"]);
    let set = |status| move |backend: &mut Backend<_>| *backend = backend.clone().with_status(status);
    balance.amend(&"a", set(Status::Unavailable));
    assert!(is_ready(&mut balance));
    assert_eq!((a.polls(), b.polls()), (0, 1));
    balance.amend(&"a", set(Status::Ready));
    assert!(is_ready(&mut balance));
    assert_eq!((a.polls(), b.polls()), (1, 1));
    balance.amend(&"a", set(Status::Draining));
    assert_eq!(who(ask(&mut balance, 1)), "b");
    assert!(balance.endpoints()[0].is_reserved(), "who drains keeps its reservation");
    balance.amend(&"a", set(Status::Ready));
    assert!(is_ready(&mut balance));
    assert_eq!(a.polls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_balance_that_was_out_for_a_while_serves_again_behind_a_buffer() {
    let (balance, scripts) = standing(RoundRobin::new(), ["a", "b"]);
    for script in &scripts {
        script.turn(Readiness::Pending);
    }
    let mut buffer = Buffer::new(balance, 8);
    let waiting = tokio::spawn(buffer.ready().await.unwrap().call(1));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!waiting.is_finished());
    scripts[1].turn(Readiness::Ready);
    assert_eq!(waiting.await.unwrap().unwrap().by, "b");

    scripts[1].turn(Readiness::Failing);
    scripts[0].turn(Readiness::Ready);
    for request in 0..10 {
        assert_eq!(buffer.ready().await.unwrap().call(request).await.unwrap().by, "a");
    }
}

#[test]
fn an_affinity_policy_borrows_its_key_and_keys_stay_where_they_are() {
    let (balance, scripts) = standing(Rendezvous::new(), ["a", "b", "c"]);
    let mut balance = balance.context(UseRequest);
    let homes: Vec<_> = (0..60).map(|request| who(ask(&mut balance, request))).collect();
    scripts[1].turn(Readiness::Pending);
    assert!(is_ready(&mut balance));
    for (request, home) in (0..).zip(&homes) {
        let now_at = who(ask(&mut balance, request));
        assert!(now_at == *home || *home == "b", "a key of another owner moved");
        assert_ne!(now_at, "b");
    }
    scripts[1].turn(Readiness::Ready);
    for (request, home) in (0..).zip(&homes) {
        assert_eq!(who(ask(&mut balance, request)), *home);
    }
}

#[test]
fn news_of_an_endpoint_that_left_disturbs_nobody() {
    let (mut balance, [a, b]) = standing(RoundRobin::new(), ["a", "b"]);
    a.turn(Readiness::Pending);
    b.turn(Readiness::Pending);
    let wakes = Wakes::default();
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    // Woken before it leaves, and after.
    a.turn(Readiness::Pending);
    let removed = balance.remove(&"a").unwrap();
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    let (woken, polls) = (wakes.count(), b.polls());
    a.turn(Readiness::Ready);
    assert_eq!(wakes.count(), woken);
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    assert_eq!((a.polls(), b.polls()), (1, polls), "the one at its position is not polled for it");
    drop(removed);
}

/// A service that is always ready, without a future of its own.
struct Plain;

impl Service<u32> for Plain {
    type Response = u32;
    type Error = Infallible;
    type Future = Ready<Result<u32, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: u32) -> Self::Future {
        ready(Ok(request))
    }
}

#[test]
fn equal_identities_are_an_error_of_a_policy_that_needs_to_tell_them_apart() {
    let twins = ["a", "a"].map(|name| Endpoint::new(Backend::new(name), Plain));
    let mut balance = Balance::new(Maglev::new(), twins).context(UseRequest);
    assert!(is_ready(&mut balance));
    let error = call(&mut balance, 1).unwrap_err();
    assert_eq!(error, BalanceError::Policy(PickError::DuplicateIdentity { first: 0, second: 1 }));
    assert_eq!(
        error.to_string(),
        "the policy cannot choose: the candidates at positions 0 and 1 have the same identity"
    );
}

#[test]
fn a_balance_needs_no_service_to_be_made() {
    let mut balance = Balance::new(RoundRobin::new(), [Endpoint::new(Backend::new("a"), "no service")]);
    balance.push(Endpoint::new(Backend::new("b"), "none either"));
    assert_eq!((balance.len(), balance.is_empty()), (2, false));
    let names: Vec<_> = balance.endpoints().iter().map(|endpoint| *endpoint.candidate().id()).collect();
    assert_eq!(names, ["a", "b"]);
}

/// Types of this file that must cross threads.
#[test]
fn a_balance_of_services_that_cross_threads_does_so_itself() {
    fn crosses<T: Send>(_: &T) {}
    let (mut balance, _scripts) = standing(RoundRobin::new(), ["a"]);
    crosses(&balance);
    assert!(is_ready(&mut balance));
    crosses(&balance.call(1));
    let _: Option<Member> = balance.remove(&"a");
    let _: Option<Fake> = None;
}
