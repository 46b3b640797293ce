//! Dispatch: any `tower_service::Service` becomes an endpoint.
//!
//! With the features `discovery` and `health` beside `tower`, this module has `Balancer`: the service that takes a request,
//! picks an endpoint, sees the attempt through, and learns from how it ended.
//!
//! The parts stand on their own: a [`Timer`] is how anything here waits, so that it runs on every runtime and in tests on a
//! clock of theirs; a `Hook` hears what happened; a [`RequestContext`] says by which key a request is routed.

mod attempt;
mod backoff;
mod balance;
#[cfg(all(feature = "discovery", feature = "health"))]
mod balancer;
mod contain;
mod context;
#[cfg(feature = "discovery")]
mod discovery;
#[cfg(all(feature = "discovery", feature = "health"))]
mod error;
#[cfg(all(feature = "discovery", feature = "health"))]
mod hook;
mod kind;
#[cfg(all(feature = "discovery", feature = "health"))]
mod retry;
mod timer;

pub use self::backoff::{Backoff, BackoffError};
pub use self::balance::{Balance, BalanceError, BalanceFuture, Endpoint, IgnoreFailures, ReadinessObserver};
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::balancer::{
    Balancer, BuildError, Builder, Discoverer, Driver, Member, MemberReport, Report, ResponseFuture,
};
pub use self::context::{BorrowedKey, ComputedKey, NoContext, RequestContext, UseRequest};
#[cfg(feature = "discovery")]
pub use self::discovery::{
    DiscoveryBalance, EndpointFactory, InFlightFactory, ReconcileError, ReconcileReport, StreamEndPolicy,
    StreamingConfig, StreamingDiscoveryBalance, StreamingError, StreamingFuture, ZeroUpdateBudget,
    in_flight_factory,
};
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::error::{BalancerError, BoxError, TimedOut};
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::hook::{Event, Hook, NoHook};
pub use self::kind::BalancerErrorKind;
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::retry::{Retry, RetryBudget, RetryError};
pub use self::timer::Timer;
pub use crate::core::Phase;
