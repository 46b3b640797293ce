//! What a balance allocates.
#![cfg(all(feature = "full", not(loom)))]

#[path = "support/allocations.rs"]
mod allocations;

use std::convert::Infallible;
use std::future::{Ready, poll_fn, ready};
use std::task::{Context, Poll};

use futures_util::FutureExt;
use poise::core::Backend;
use poise::core::policy::{Maglev, PowerOfTwoChoices};
use poise::tower::{Balance, BorrowedKey, Endpoint};
use tower_service::Service;

use self::allocations::allocations;

struct Plain;

impl Service<String> for Plain {
    type Response = String;
    type Error = Infallible;
    type Future = Ready<Result<String, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: String) -> Self::Future {
        ready(Ok(request))
    }
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// Hands one request through, again and again.
fn requests(
    balance: &mut impl Service<String, Response = String, Error: std::fmt::Debug>,
    request: &mut String,
) {
    for _ in 0..100 {
        poll_fn(|cx| balance.poll_ready(cx)).now_or_never().expect("all are ready").unwrap();
        let answered = balance.call(std::mem::take(request)).now_or_never();
        *request = answered.expect("it answers at once").unwrap();
    }
}

#[test]
fn a_request_allocates_nothing() {
    let endpoints = || NAMES.map(|name| Endpoint::new(Backend::new(name), Plain));
    let mut request = String::from("a request");

    let mut balance = Balance::new(PowerOfTwoChoices::new(), endpoints());
    requests(&mut balance, &mut request);
    assert_eq!(allocations(|| requests(&mut balance, &mut request)), 0, "by load");

    let context = BorrowedKey::new(|request: &String| request.as_str());
    let mut balance = Balance::new(Maglev::new(), endpoints()).context(context);
    requests(&mut balance, &mut request);
    assert_eq!(allocations(|| requests(&mut balance, &mut request)), 0, "by key, which is borrowed");
}
