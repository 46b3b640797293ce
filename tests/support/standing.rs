//! Balances over scripts, polled by hand.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use futures_util::FutureExt;
use poise::core::{Backend, InFlight, Prepare};
use poise::tower::{Balance, BalanceError, Endpoint};
use tower_service::Service;

use super::script::{Answer, Fake, Refused, Script};
use super::wakes::Wakes;

pub(crate) type Member<L = InFlight> = Endpoint<Backend<&'static str>, Fake, L>;
pub(crate) type Standing<P, L = InFlight> = Balance<Backend<&'static str>, Fake, L, P>;

/// Makes an endpoint whose service follows `script`.
pub(crate) fn member(script: &Script) -> Member {
    Endpoint::new(Backend::new(script.name()), script.service())
}

/// Makes a balance of one script for each name.
pub(crate) fn standing<P: Prepare<Member>, const N: usize>(
    policy: P,
    names: [&'static str; N],
) -> (Standing<P>, [Script; N]) {
    let scripts = names.map(Script::new);
    let balance = Balance::new(policy, scripts.iter().map(member));
    (balance, scripts)
}

/// Polls readiness once.
pub(crate) fn poll_ready<S: Service<u32>>(service: &mut S, wakes: &Wakes) -> Poll<Result<(), S::Error>> {
    wakes.poll(pin!(poll_fn(|cx| service.poll_ready(cx))))
}

/// Tells whether somebody can be called at once.
pub(crate) fn is_ready<S: Service<u32, Error: std::fmt::Debug>>(service: &mut S) -> bool {
    match poll_ready(service, &Wakes::default()) {
        Poll::Ready(ready) => ready.map(|()| true).expect("readiness failed"),
        Poll::Pending => false,
    }
}

/// Makes a request that is answered at once, after readiness.
pub(crate) fn ask<S, E>(service: &mut S, request: u32) -> Result<Answer<u32>, E>
where
    S: Service<u32, Response = Answer<u32>, Error = E>,
    E: std::fmt::Debug,
{
    assert!(is_ready(service), "nobody is ready");
    call(service, request)
}

/// Makes a request that is answered at once, without asking for readiness before.
pub(crate) fn call<S: Service<u32>>(service: &mut S, request: u32) -> Result<S::Response, S::Error> {
    service.call(request).now_or_never().expect("the answer comes at once")
}

/// Returns who answered.
pub(crate) fn who(answer: Result<Answer<u32>, BalanceError<Refused>>) -> &'static str {
    answer.expect("a request failed").by
}
