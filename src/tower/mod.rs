//! Dispatch: any `tower_service::Service` becomes an endpoint.
//!
//! With the features `discovery` and `health` beside `tower`, this module has `Balancer`: the service that takes a request,
//! picks an endpoint, sees the attempt through, and learns from how it ended.
//!
//! The parts stand on their own: a [`Timer`] is how anything here waits, so that it runs on every runtime and in tests on a
//! clock of theirs; a `Hook` hears what happened; a [`RequestContext`] says by which key a request is routed.

#[cfg(all(feature = "discovery", feature = "health"))]
mod attempt;
#[cfg(all(feature = "discovery", feature = "health"))]
mod balancer;
mod context;
#[cfg(all(feature = "discovery", feature = "health"))]
mod error;
#[cfg(all(feature = "discovery", feature = "health"))]
mod hook;
#[cfg(all(feature = "discovery", feature = "health"))]
mod kind;
#[cfg(all(feature = "discovery", feature = "health"))]
mod retry;
mod timer;

#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::balancer::{
    Balancer, BuildError, Builder, Discoverer, Driver, Member, MemberReport, OperatorVerb, Report,
    ResponseFuture, Shutdown, UnknownMember,
};
pub use self::context::{BorrowedKey, ComputedKey, NoContext, RequestContext, UseRequest};
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::error::{BalancerError, BoxError, TimedOut};
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::hook::{Event, Hook, NoHook};
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::kind::BalancerErrorKind;
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::retry::{Retry, RetryBudget, RetryError};
pub use self::timer::Timer;
#[cfg(all(feature = "discovery", feature = "health"))]
pub use crate::core::Phase;
