//! Dispatch: readiness is retained, one reservation is used, and the outcome comes back.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use poise::core::policy::{LeastLoaded, RoundRobin};
use poise::core::{
    AtCapacity, Backend, InFlight, LoadTracker, Now, Outcome, PeakEwma, PickError, Policy, Prepare,
    Selection, View,
};
use poise::tower::{Balance, BalanceError, BorrowedKey, Endpoint, UseRequest};
use tower::limit::ConcurrencyLimit;
use tower::service_fn;
use tower_service::Service;

use crate::script::{Readiness, Refused, Script};
use crate::standing::{ask, call, is_ready, member, poll_ready, standing, who};
use crate::wakes::Wakes;

#[test]
fn selection_consumes_no_permit_starts_no_load_and_calls_nobody() {
    let (mut balance, scripts) = standing(RoundRobin::new(), ["a", "b"]);
    assert!(is_ready(&mut balance));
    let policy = RoundRobin::new();
    for _ in 0..10 {
        assert!(policy.pick(balance.endpoints(), &()).is_ok());
    }
    assert!(balance.endpoints().iter().all(Endpoint::is_reserved));
    assert!(balance.endpoints().iter().all(|endpoint| endpoint.tracker().current() == 0));
    assert!(scripts.iter().all(|script| script.calls() == 0 && script.polls() == 1));
}

/// A tracker that says that it has a place, and may not have one when it comes to it.
#[derive(Clone, Default)]
struct Contended(Arc<AtomicUsize>);

impl LoadTracker for Contended {
    type Ticket = ();

    fn start(&self, _: &Now) -> Result<(), AtCapacity> {
        if self.0.load(Ordering::SeqCst) > 0 { Err(AtCapacity) } else { Ok(()) }
    }

    fn responded(&self, (): (), _: Outcome, _: &Now) {}

    fn release(&self, (): (), _: &Now) {}
}

#[test]
fn an_admission_that_loses_its_race_reselects_and_then_is_overload() {
    let scripts = ["a", "b"].map(Script::new);
    let contended = [Contended::default(), Contended::default()];
    let endpoints = scripts.iter().zip(&contended);
    let endpoints = endpoints.map(|(script, tracker)| member(script).with_tracker(tracker.clone()));
    let mut balance = Balance::new(RoundRobin::starting_at(0), endpoints);
    contended[0].0.store(1, Ordering::SeqCst);
    assert_eq!(who(ask(&mut balance, 1)), "b");
    contended[1].0.store(1, Ordering::SeqCst);
    assert!(matches!(ask(&mut balance, 2), Err(BalanceError::AtCapacity(_))));
    assert_eq!(scripts.each_ref().map(Script::calls), [0, 1]);
}

#[test]
fn readiness_is_polled_before_selection_and_all_eligible_idle_services_are_polled() {
    let (mut balance, scripts) = standing(RoundRobin::new(), ["a", "b", "c"]);
    assert!(is_ready(&mut balance));
    assert_eq!(scripts.each_ref().map(Script::polls), [1, 1, 1]);
}

#[test]
fn a_permit_that_a_service_took_when_it_became_ready_is_never_dropped_before_the_call() {
    let shared = Arc::new(tokio::sync::Semaphore::new(2));
    let limited = |script: &Script| ConcurrencyLimit::with_semaphore(script.service(), Arc::clone(&shared));
    let scripts = ["a", "b"].map(Script::new);
    let endpoints = scripts.iter().map(|script| Endpoint::new(Backend::new(script.name()), limited(script)));
    let mut balance = Balance::new(RoundRobin::starting_at(0), endpoints);
    assert!(is_ready(&mut balance));
    assert_eq!(shared.available_permits(), 0, "each endpoint holds its own");
    let taken = [(), ()].map(|()| balance.call(0));
    assert_eq!(scripts.each_ref().map(Script::calls), [1, 1], "and each call used the one of its endpoint");
    assert!(!is_ready(&mut balance));
    drop(taken);
    assert!(is_ready(&mut balance));
}

#[test]
fn call_chooses_among_the_ready_and_consumes_exactly_one_reservation() {
    let (mut balance, scripts) = standing(RoundRobin::starting_at(0), ["a", "b", "c"]);
    scripts[0].turn(Readiness::Pending);
    assert!(is_ready(&mut balance));
    let reserved = |balance: &crate::standing::Standing<RoundRobin>| {
        balance.endpoints().iter().filter(|endpoint| endpoint.is_reserved()).count()
    };
    for left in [1, 0] {
        assert_ne!(who(call(&mut balance, 1)), "a");
        assert_eq!(reserved(&balance), left);
    }
}

#[test]
fn pending_services_do_not_block_healthy_peers() {
    let (mut balance, scripts) = standing(RoundRobin::new(), ["a", "b"]);
    scripts[0].turn(Readiness::Pending);
    assert!((0..5).all(|request| who(ask(&mut balance, request)) == "b"));
}

#[test]
fn a_service_that_fails_readiness_is_quarantined_until_explicitly_reset() {
    let (mut balance, scripts) = standing(RoundRobin::new(), ["a", "b"]);
    scripts[0].turn(Readiness::Failing);
    who(ask(&mut balance, 1));
    scripts[0].turn(Readiness::Ready);
    assert!((0..5).all(|request| who(ask(&mut balance, request)) == "b"));
    balance.reset(&"a");
    assert!((0..5).any(|request| who(ask(&mut balance, request)) == "a"));
}

#[test]
fn an_observer_preserves_isolated_errors_that_do_not_fail_the_pool() {
    let errors = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&errors);
    let (balance, scripts) = standing(RoundRobin::new(), ["a", "b"]);
    let mut balance = balance
        .observe_readiness(move |id: &&'static str, error: Refused| seen.lock().unwrap().push((*id, error)));
    scripts[0].turn(Readiness::Failing);
    assert_eq!(who(ask(&mut balance, 1)), "b");
    assert_eq!(*errors.lock().unwrap(), [("a", Refused)]);
}

/// Keeps where the key was that it saw.
#[derive(Default)]
struct Nosy(Cell<Option<*const str>>);

impl<C> Prepare<C> for Nosy {}

impl<C> Policy<C, str> for Nosy {
    fn pick_from(&self, _: &View<'_, C>, key: &str) -> Result<Selection, PickError> {
        self.0.set(Some(key));
        Ok(Selection::new(0))
    }
}

/// A request that cannot be cloned.
struct Request {
    user: String,
}

#[test]
fn a_context_lends_the_routing_field_and_nothing_owns_or_clones_the_request() {
    let service = service_fn(|request: Request| std::future::ready(Ok::<_, Refused>(request.user)));
    let mut balance = Balance::new(Nosy::default(), [Endpoint::new(Backend::new("a"), service)])
        .context(BorrowedKey::new(|request: &Request| request.user.as_str()));
    assert!(std::future::poll_fn(|cx| balance.poll_ready(cx)).now_or_never().unwrap().is_ok());
    let request = Request { user: "ann".into() };
    let field: *const str = request.user.as_str();
    let answer = balance.call(request).now_or_never().unwrap().unwrap();
    assert_eq!((answer.as_str(), balance.policy().0.get()), ("ann", Some(field)), "the very same bytes");
}

#[test]
fn use_request_is_for_requests_that_are_keys_already() {
    let (balance, _scripts) = standing(poise::core::policy::Rendezvous::new(), ["a", "b", "c"]);
    let mut balance = balance.context(UseRequest);
    for request in 0..10 {
        assert_eq!(who(ask(&mut balance, request)), who(ask(&mut balance, request)));
    }
}

#[test]
fn a_success_and_a_service_error_complete_an_attempt_and_a_drop_cancels_it() {
    let script = Script::new("a");
    let ewma = Arc::new(PeakEwma::default());
    let mut balance = Balance::new(LeastLoaded::new(), [member(&script).with_tracker(Arc::clone(&ewma))]);
    let in_flight = || ewma.pending();
    assert!(ask(&mut balance, 1).is_ok());
    assert_eq!(in_flight(), 0);
    script.refuse(true);
    assert!(matches!(ask(&mut balance, 2), Err(BalanceError::Endpoint(Refused))));
    assert_eq!(in_flight(), 0);
    script.hang();
    assert!(is_ready(&mut balance));
    let pending = balance.call(3);
    assert_eq!(in_flight(), 1, "load is what is really dispatched");
    drop(pending);
    assert_eq!(in_flight(), 0);
}

#[test]
fn capacity_is_released_before_the_next_selection() {
    let script = Script::new("a");
    let tracker = InFlight::with_limit(1).unwrap();
    let mut balance = Balance::new(RoundRobin::new(), [member(&script).with_tracker(tracker)]);
    script.refuse(true);
    for request in 0..3 {
        assert_eq!(ask(&mut balance, request).unwrap_err().into_endpoint(), Some(Refused));
    }
}

#[test]
fn transient_emptiness_is_no_error() {
    let (mut balance, []) = standing(RoundRobin::new(), []);
    let wakes = Wakes::default();
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    balance.push(member(&Script::new("a")));
    assert_eq!(wakes.count(), 1);
    assert_eq!(who(ask(&mut balance, 1)), "a");
}

#[test]
fn an_empty_set_and_a_set_of_nobody_eligible_are_different_errors() {
    let (mut balance, [a]) = standing(RoundRobin::new(), ["a"]);
    a.turn(Readiness::Pending);
    assert!(matches!(call(&mut balance, 1), Err(BalanceError::NoEligible(_))));
    balance.remove(&"a");
    assert!(matches!(call(&mut balance, 1), Err(BalanceError::NoMembers)));
}
