//! Services that connect in their call, and say afterwards whether anybody had the request.

use std::fmt;

use poise::core::PeakEwma;
use poise::core::policy::RoundRobin;
use poise::tower::{Balancer, Builder, NoContext, Retry, RetryBudget};
use tower::util::MapErr;

use super::fleet::{Fleet, fleet};
use super::script::{Fake, Refused, Script};

/// Why a call failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There was no connection to send it on.
    Unconnected,
    /// The connection broke when it was on its way.
    Broken,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for Fault {}

pub(crate) fn is_unconnected(fault: &Fault) -> bool {
    *fault == Fault::Unconnected
}

/// A service that is always ready, and that reports a refused connection as an error of the call.
pub(crate) type Lazy = MapErr<Fake, fn(Refused) -> Fault>;
pub(crate) type Client<R = u32> = Balancer<Lazy, R>;
pub(crate) type Making<R> = Builder<&'static str, Script, Lazy, R, PeakEwma, RoundRobin, NoContext>;

/// Starts to configure a balancer that asks one after the other in the order of their names, does not take them out, and must
/// not send anything twice. Those whose name says that they are gone cannot be connected to when they refuse; others break.
pub(crate) fn over<R: Send + 'static>(directory: &Fleet) -> Making<R> {
    let fault = |name: &str| -> fn(Refused) -> Fault {
        if name.starts_with("gone") { |Refused| Fault::Unconnected } else { |Refused| Fault::Broken }
    };
    Balancer::builder()
        .discover(directory.reader(), move |name, script: &Script| MapErr::new(script.service(), fault(name)))
        .policy(RoundRobin::starting_at(0))
        .without_circuit()
        .idempotent(|_: &R| false)
}

/// Retries as often as there are `attempts`, of any number of requests.
pub(crate) fn generous(attempts: u32) -> Retry {
    Retry::attempts(attempts).unwrap().with_budget(RetryBudget::new().with_ratio(1_000.0).unwrap())
}

/// As [`fleet`], with everybody refusing whose name does not say that it is good.
pub(crate) fn refusing<const N: usize>(names: [&'static str; N]) -> (Fleet, [Script; N]) {
    let (directory, scripts) = fleet(names);
    for script in &scripts {
        script.refuse(!script.name().starts_with("good"));
    }
    (directory, scripts)
}
