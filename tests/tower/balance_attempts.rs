//! What becomes of an attempt through a balance, however it ends.

use std::convert::Infallible;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use poise::core::policy::{LeastLoaded, RoundRobin};
use poise::core::{AtCapacity, Backend, LoadTracker, Now, Outcome};
use poise::tower::{Balance, Endpoint};
use tower_service::Service;

use crate::support::script::{Refused, Script};
use crate::support::standing::{ask, is_ready, member, standing};

/// What a tracker was told.
#[derive(Clone, Debug, Default)]
struct Told(Arc<Mutex<Vec<Option<Outcome>>>>);

impl Told {
    /// Returns the outcomes, and nothing in the place of a release.
    fn take(&self) -> Vec<Option<Outcome>> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl LoadTracker for Told {
    type Ticket = ();

    fn start(&self, _: &Now) -> Result<(), AtCapacity> {
        Ok(())
    }

    fn responded(&self, (): (), outcome: Outcome, _: &Now) {
        self.0.lock().unwrap().push(Some(outcome));
    }

    fn release(&self, (): (), _: &Now) {
        self.0.lock().unwrap().push(None);
    }
}

#[test]
fn any_result_completes_an_attempt_and_a_drop_cancels_it() {
    let (script, told) = (Script::new("a"), Told::default());
    let mut balance = Balance::new(RoundRobin::new(), [member(&script).with_tracker(told.clone())]);
    assert!(ask(&mut balance, 1).is_ok());
    assert_eq!(told.take(), [Some(Outcome::Success), None]);

    script.refuse(true);
    let error = ask(&mut balance, 2).unwrap_err();
    assert_eq!(told.take(), [Some(Outcome::Failure), None], "an error of the service is a result");
    assert_eq!(error.source().unwrap().downcast_ref(), Some(&Refused));
    assert!(!error.is_retryable(), "the endpoint had the request");
    assert_eq!(error.into_endpoint(), Some(Refused));

    script.hang();
    assert!(is_ready(&mut balance));
    let mut pending = balance.call(3);
    assert!((&mut pending).now_or_never().is_none());
    assert_eq!(told.take(), []);
    drop(pending);
    assert_eq!(told.take(), [Some(Outcome::Cancelled), None]);
    assert_eq!(script.under_way(), 0);

    assert!(is_ready(&mut balance));
    drop(balance.call(4));
    assert_eq!(told.take(), [Some(Outcome::Cancelled), None], "also when it was never polled");
}

/// A service that panics where it is told to.
struct Panics {
    in_readiness: bool,
    in_call: bool,
}

impl Service<u32> for Panics {
    type Response = u32;
    type Error = Infallible;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<u32, Infallible>>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        assert!(!self.in_readiness, "told to panic");
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: u32) -> Self::Future {
        assert!(!self.in_call, "told to panic");
        Box::pin(async { panic!("told to panic") })
    }
}

fn caught<T>(code: impl FnOnce() -> T) -> bool {
    catch_unwind(AssertUnwindSafe(code)).is_err()
}

#[test]
fn a_panic_in_a_service_gives_back_what_the_attempt_held() {
    let told = Told::default();
    let panics = |in_call| {
        let service = Panics { in_readiness: false, in_call };
        Endpoint::new(Backend::new("a"), service).with_tracker(told.clone())
    };
    let mut balance = Balance::new(RoundRobin::new(), [panics(true)]);
    for _ in 0..2 {
        assert!(is_ready(&mut balance), "the panic of a call is no verdict on its endpoint");
        assert!(caught(|| balance.call(1)));
        assert_eq!(told.take(), [Some(Outcome::Cancelled), None]);
    }

    let mut balance = Balance::new(RoundRobin::new(), [panics(false)]);
    assert!(is_ready(&mut balance));
    let mut response = balance.call(1);
    assert!(caught(|| (&mut response).now_or_never()));
    assert_eq!(told.take(), [Some(Outcome::Cancelled), None], "although the future is kept");
    drop(response);
    assert_eq!(told.take(), []);
}

#[test]
fn a_service_that_panics_over_readiness_is_quarantined_and_the_others_go_on() {
    let bad = Panics { in_readiness: true, in_call: false };
    let mut balance = Balance::new(
        RoundRobin::new(),
        [
            Endpoint::new(Backend::new("bad"), bad),
            Endpoint::new(Backend::new("good"), Panics { in_readiness: false, in_call: false }),
        ],
    );
    assert!(caught(|| is_ready(&mut balance)), "whoever polls hears of it");
    assert!(is_ready(&mut balance), "the other one was not forgotten");
    assert!(balance.endpoints()[0].is_quarantined());
    assert!(balance.endpoints()[1].is_reserved());
}

#[test]
fn after_any_mix_of_success_error_drop_and_panic_nothing_is_in_flight() {
    let script = Script::new("a");
    let panics = Panics { in_readiness: false, in_call: false };
    let mut mixed = Balance::new(RoundRobin::new(), [member(&script)]);
    let mut panicking = Balance::new(RoundRobin::new(), [Endpoint::new(Backend::new("b"), panics)]);
    let mut kept = Vec::new();
    for request in 0..200 {
        script.refuse(request % 3 == 0);
        if request % 5 == 0 {
            script.hang();
        } else {
            script.answer_after(Duration::ZERO);
        }
        assert!(is_ready(&mut mixed));
        let response = mixed.call(request);
        if request % 7 == 0 {
            kept.push(response);
        } else {
            let _answer = response.now_or_never();
        }
        assert!(is_ready(&mut panicking));
        let response = panicking.call(request);
        assert!(caught(|| response.now_or_never()));
    }
    assert_eq!(mixed.endpoints()[0].tracker().current(), kept.len() as u64);
    drop(kept);
    assert_eq!(mixed.endpoints()[0].tracker().current(), 0);
    assert_eq!(panicking.endpoints()[0].tracker().current(), 0);
}

#[test]
fn a_response_outlives_its_endpoint_and_its_balance() {
    let (mut balance, [a]) = standing(RoundRobin::new(), ["a"]);
    assert!(is_ready(&mut balance));
    let response = balance.call(1);
    let removed = balance.remove(&"a").unwrap();
    assert_eq!(removed.tracker().current(), 1);
    drop(balance);
    assert_eq!(response.now_or_never().unwrap().unwrap().by, "a");
    assert_eq!(removed.tracker().current(), 0, "the guard counts where it started");
    let (backend, service, load) = removed.into_parts();
    assert_eq!((*backend.id(), load.map(|load| load.current())), ("a", Some(0)));
    drop(service);
    assert_eq!(a.live(), 0);
}

#[test]
fn an_endpoint_that_comes_back_brings_its_load_along() {
    let (mut balance, [a]) = standing(LeastLoaded::new(), ["a"]);
    a.hang();
    assert!(is_ready(&mut balance));
    let response = balance.call(1);
    let removed = balance.remove(&"a").unwrap();
    balance.push(removed);
    assert_eq!(balance.endpoints()[0].tracker().current(), 1);
    drop(response);
    assert_eq!(balance.endpoints()[0].tracker().current(), 0);
    assert!(is_ready(&mut balance));
}
