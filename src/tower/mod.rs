//! Dispatch: any `tower_service::Service` becomes an endpoint.
//!
//! With the features `discovery` and `health` beside `tower`, this module has `Balancer`: the service that takes a request,
//! picks an endpoint, sees the attempt through, and learns from how it ended.
//!
//! The parts stand on their own: a [`Timer`] is how anything here waits, so that it runs on every runtime and in tests on a
//! clock of theirs; a `Hook` hears what happened; a [`RequestContext`] says by which key a request is routed.
//!
//! # Coming from Tower
//!
//! | `tower` | here |
//! |---|---|
//! | `balance::p2c::Balance` | `Balancer`, whose default policy is `PowerOfTwoChoices`; it is `Clone`, and other policies go into `Builder::policy` |
//! | `balance::p2c::MakeBalance` | the function in `Discoverer::discover`, called once for each allocation of a member |
//! | `discover::Discover`, `Change` | `Directory` and `SnapshotReader` of `discovery`: whole, coherent memberships instead of a stream of changes |
//! | `discover::ServiceList` | a `Directory` that is filled once |
//! | `load::PendingRequests` | `InFlight`, which can also limit |
//! | `load::PeakEwma` | `PeakEwma`, which believes failures and hangs too |
//! | `load::Constant` | weights of members |
//! | `load::CompleteOnResponse` | the default: an attempt ends with the head of its response |
//! | `load::CompleteOnResponse` with a handle in the body | `Balancer::guarded` and `ResponseGuard` |
//! | `retry::Policy` | `Builder::classify` says what failed, `Builder::idempotent` what may be sent twice, and `Retry` how often; a retry inside avoids what was tried, one around it cannot |
//! | `retry::budget::TpsBudget` | `RetryBudget` |
//! | `retry::backoff::ExponentialBackoff` | `Backoff`, with full jitter |
//! | `hedge::Hedge` | `Hedge`: under the budget of the retries, and to another member |
//! | `buffer::Buffer`, to share a balancer that is not `Clone` | none: clone the `Balancer` |
//! | `buffer::Buffer`, to queue | a `Buffer`, or a concurrency limit, around the `Balancer` |
//! | `ready_cache::ReadyCache` | none: each request makes a clone of the service of its endpoint ready |
//! | `limit::ConcurrencyLimit` for each endpoint | `Builder::load` with a limit, so that who is full is passed over |
//! | `timeout::Timeout` for each endpoint | `Builder::attempt_timeout`, which counts as a failure of the endpoint |
//! | `load_shed::LoadShed` around a balancer | `Builder::fail_fast` with no time |
//!
//! # Errors as answers
//!
//! In front of HTTP, for example in an `IntoResponse` of axum, an error becomes a status:
//!
#![cfg_attr(all(feature = "discovery", feature = "health"), doc = "```")]
#![cfg_attr(not(all(feature = "discovery", feature = "health")), doc = "```ignore")]
//! use http::StatusCode;
//! use poise::tower::{BalancerError, BalancerErrorKind};
//!
//! fn status(error: &BalancerError) -> StatusCode {
//!     match error.kind() {
//!         BalancerErrorKind::Deadline => StatusCode::GATEWAY_TIMEOUT,
//!         BalancerErrorKind::Endpoint => StatusCode::BAD_GATEWAY,
//!         _ => StatusCode::SERVICE_UNAVAILABLE,
//!     }
//! }
//! ```
//!
//! With gRPC it becomes a code, of which tonic makes a status by `Status::new(code(&error).into(), error.to_string())`. An error
//! of the endpoint that is a status already is found by `error.into_source()`.
//!
#![cfg_attr(all(feature = "discovery", feature = "health"), doc = "```")]
#![cfg_attr(not(all(feature = "discovery", feature = "health")), doc = "```ignore")]
//! use poise::tower::{BalancerError, BalancerErrorKind};
//!
//! fn code(error: &BalancerError) -> i32 {
//!     match error.kind() {
//!         BalancerErrorKind::Deadline => 4,      // DEADLINE_EXCEEDED
//!         BalancerErrorKind::AtCapacity(_) => 8, // RESOURCE_EXHAUSTED
//!         _ => 14,                               // UNAVAILABLE
//!     }
//! }
//! ```

#[cfg(all(feature = "discovery", feature = "health"))]
mod attempt;
#[cfg(all(feature = "discovery", feature = "health"))]
mod backoff;
#[cfg(all(feature = "discovery", feature = "health"))]
mod balancer;
#[cfg(all(feature = "discovery", feature = "health"))]
mod completion;
mod context;
#[cfg(all(feature = "discovery", feature = "health"))]
mod error;
#[cfg(all(feature = "discovery", feature = "health"))]
mod hedge;
#[cfg(all(feature = "discovery", feature = "health"))]
mod hook;
#[cfg(all(feature = "discovery", feature = "health"))]
mod idempotent;
#[cfg(all(feature = "discovery", feature = "health"))]
mod kind;
#[cfg(all(feature = "discovery", feature = "health"))]
mod retry;
mod timer;

#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::backoff::Backoff;
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::balancer::{
    Balancer, BuildError, Builder, Discoverer, Driver, GuardedBalancer, GuardedFuture, Member, MemberReport,
    RepeatReport, Report, ResponseFuture,
};
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::completion::ResponseGuard;
pub use self::context::{BorrowedKey, ComputedKey, NoContext, RequestContext, UseRequest};
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::error::{BalancerError, BoxError, TimedOut};
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::hedge::{Hedge, HedgeError};
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::hook::{Event, Hook, NoHook};
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::idempotent::Idempotent;
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::kind::BalancerErrorKind;
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::retry::{Retry, RetryBudget, RetryError};
pub use self::timer::Timer;
#[cfg(all(feature = "discovery", feature = "health"))]
pub use crate::core::Phase;
