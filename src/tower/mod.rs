//! Dispatch: any `tower_service::Service` becomes an endpoint.
//!
//! | type | is `Clone` | readiness | for |
//! |---|---|---|---|
//! | [`Balance`] | no | reservations that each endpoint keeps; chosen among those that are ready | one owner, services that are not `Clone` |
//! | `DiscoveryBalance` | no | the same; endpoints follow snapshots when told | a control loop of one's own |
//! | `StreamingDiscoveryBalance` | no | the same; endpoints follow a stream in `poll_ready` | no task beside |
//! | `Balancer` | yes | of the one that was chosen, inside the future | most programs |
//!
//! The second and third need the feature `discovery`, the last one `discovery` and `health`.
//!
//! The parts stand on their own: a [`Timer`] is how anything here waits, so that it runs on every runtime and in tests on a
//! clock of theirs; a [`RequestContext`] says by which key a request is routed; a [`Backoff`] how long to leave alone what
//! failed; a `Hook` hears what happened. On the other side of the wire, a [`ServerLoadLayer`] around a server counts what
//! clients that probe ask for.
//!
//! # The smallest composition that will do
//!
//! Each step adds state, and ways to fail. Take the next one when those of the one before are understood.
//!
//! 1. **A fixed set.** Endpoints by hand, a policy, nothing else; the feature `tower` alone.
//!
//!    ```
//!    use poise::core::Backend;
//!    use poise::core::policy::RoundRobin;
//!    use poise::tower::{Balance, Endpoint};
//!
//!    # let client = |address: &str| address.len();
//!    let endpoints = ["10.0.0.1:80", "10.0.0.2:80"].map(|address| Endpoint::new(Backend::new(address), client(address)));
//!    let balance = Balance::new(RoundRobin::new(), endpoints);
//!    # assert_eq!(balance.len(), 2);
//!    ```
//! 2. **A fixed set by load.** The tracker of an endpoint counts for `LeastLoaded` and `PowerOfTwoChoices`; one
//!    [with a limit](crate::core::InFlight::with_limit) also refuses what is too much.
//! 3. **A fixed set that heals.** [`Balance::recovering`] tries again who failed to become ready.
//! 4. **A set that changes.** A `Directory` and a `DiscoveryBalance` that is told to `sync`; or a
//!    `StreamingDiscoveryBalance`, which follows by itself.
//! 5. **Health.** As a candidate, `HealthChecked` adds a circuit or a signal to any of the above; your code gives it
//!    the outcomes. `Balancer` does that, and the rest, by itself.
//!
//! A [`Balance`] has one owner. Behind `tower`'s `Buffer` many tasks share it; `Balancer` needs no buffer.
//!
//! # Trying again
//!
//! A [`Balance`] makes one attempt per request. Before a request is made again, five questions want an answer. `Balancer`
//! has one for each; around a [`Balance`], whoever tries again answers them.
//!
//! | question | [`Balance`] | `Balancer` |
//! |---|---|---|
//! | Does the same key go to the same endpoint again? | yes: an affinity policy names the same owner as long as it is ready | no: the next owner of the key |
//! | Is the endpoint that failed left out? | no; [`amend`](Balance::amend) or a circuit in the candidate can exclude it | yes, under every policy, while another one is eligible |
//! | Was the first attempt completed or cancelled? | completed if the future gave a result, cancelled if it was dropped | the same; its time limit completes it as a failure |
//! | Is its capacity back before the next pick? | yes: when the future is ready or dropped, its ticket is back | yes, and its permit |
//! | Does it take from a shared budget? | none is kept: bring one | yes, from the one of the balancer |
//!
//! [`BalanceError::is_retryable`] tells whether a request was certainly handed to nobody. A request that may have had an
//! effect is tried again only where the caller knows that it can be. A service that connects in its call has the request when the
//! connection is refused: `Builder::unsent` tells a `Balancer` such errors from others, and then `BalancerError::is_retryable` is
//! true of them too.
//!
//! # Where defaults depart from the letter
//!
//! Poise was founded on documents that fix how the first three types behave, and these do so to the letter. Where a default
//! of this module is another one, or an option leaves the letter, this is the list:
//!
//! | letter | here | restored by |
//! |---|---|---|
//! | an endpoint that failed to become ready stays away until it is reset | [`Balance`]: the same. `Balancer`: a circuit opens after failures in a row, and closes by itself | not calling [`Balance::recovering`] |
//! | a snapshot that failed is an error of readiness, once | `StreamingDiscoveryBalance`: the same | not calling `StreamingConfig::report_failures` |
//! | a snapshot takes effect as a whole or not at all | `DiscoveryBalance`: the same. `Balancer`: a member that cannot be built holds up nobody else, and is tried again | `DiscoveryBalance` |
//! | an attempt is one attempt | [`Balance`]: the same. `Balancer`: an endpoint that fails to become ready is replaced by another one with the untouched request; attempts after dispatch only with `Builder::retry` | [`Balance`] |
//! | a factory that panics | is not mentioned there; here it is `ReconcileError::Panicked`, and everything is as it was | resuming the panic where the error arrives |
//! | a reservation is used as it was found | the chosen service is polled once more before the call, and passed over when its reservation is gone | nothing: a service that keeps its promise of readiness answers one poll more, and no other difference shows |
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
//! | `retry::Policy` | `Builder::classify` says what failed, `Builder::idempotent` what may be sent twice, `Builder::unsent` which errors say that nothing was sent, and `Retry` how often; a retry inside avoids what was tried, one around it cannot |
//! | `retry::budget::TpsBudget` | `RetryBudget` |
//! | `retry::backoff::ExponentialBackoff` | [`Backoff`] |
//! | `hedge::Hedge` | `Hedge`: under the budget of the retries, and to another member |
//! | `buffer::Buffer`, to share a balancer that is not `Clone` | none: clone the `Balancer` |
//! | `buffer::Buffer`, to queue | a `Buffer`, or a concurrency limit, around the `Balancer` |
//! | `ready_cache::ReadyCache` | none: each request makes a clone of the service of its endpoint ready |
//! | `limit::ConcurrencyLimit` for each endpoint | `Builder::load` with a limit, so that who is full is passed over |
//! | `timeout::Timeout` for each endpoint | `Builder::attempt_timeout`, which counts as a failure of the endpoint |
//! | `load_shed::LoadShed` around a balancer | `Builder::fail_fast` with no time |
//!
//! # Under clients, and behind servers
//!
//! A `Balancer` takes whatever request its endpoints' service takes. That service, the leaf, is the place for what only one
//! server knows. `examples/net/` of the repository has each of these whole, to be copied:
//!
//! | with | the leaf | around the balancer |
//! |---|---|---|
//! | the clients that tonic generates (`grpc`) | a lazy `Channel`, with keep-alive of HTTP/2, as a time limit ends with the head; it sends again what a connection that said goodbye (GOAWAY) did not take, takes the answers of unary calls as a whole, and makes an error of whatever status is no success, for `Builder::classify` to see; an error with a `ConnectError` of tonic in its chain is one for `Builder::unsent` | a service that keeps the message, so that the request is `Clone`; `Balancer::guarded`, whose body ends the attempt by the status in the trailers; a map of errors |
//! | hyper-util's legacy client (`http`) | sets scheme and authority of the URI; its error's `is_connect` is for `Builder::unsent` | requests with a body that is `Clone`, such as `http_body_util::Full` |
//! | reqwest's `Client` (`http`) | sets host and port of the URL; its error's `is_connect` is for `Builder::unsent` | its requests are not `Clone`: `tower`'s retry, with `try_clone`, which sends also what must not be sent twice when `BalancerError::is_retryable` |
//! | a router of axum (`http`) | as of hyper-util | `fallback_service`, over a `service_fn` that turns errors into responses |
//!
//! [`Service::poll_ready`](tower_service::Service::poll_ready) of a `Balancer` never fails, so that each error comes from the future,
//! where tonic keeps the status that it finds in the chain of sources. What has no status there becomes `UNKNOWN`: hence the map.
//!
//! A streaming body breaks off after its attempt was answered, so that nothing is sent again; its error names the server only if
//! whoever wraps the body puts in the name, which `ResponseGuard::endpoint` has.
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

mod attempt;
mod backoff;
mod balance;
#[cfg(all(feature = "discovery", feature = "health"))]
mod balancer;
#[cfg(all(feature = "discovery", feature = "health"))]
mod completion;
mod contain;
mod context;
#[cfg(feature = "discovery")]
mod discovery;
#[cfg(all(feature = "discovery", feature = "health"))]
mod error;
#[cfg(all(feature = "discovery", feature = "health"))]
pub mod guide;
#[cfg(all(feature = "discovery", feature = "health"))]
mod hedge;
#[cfg(all(feature = "discovery", feature = "health"))]
mod hook;
#[cfg(all(feature = "discovery", feature = "health"))]
mod idempotent;
mod kind;
#[cfg(all(feature = "discovery", feature = "health"))]
mod retry;
mod server_load;
mod timer;

pub use self::backoff::{Backoff, BackoffError};
pub use self::balance::{Balance, BalanceError, BalanceFuture, Endpoint, IgnoreFailures, ReadinessObserver};
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::balancer::{
    Balancer, BuildError, Builder, Discoverer, Driver, GuardedBalancer, GuardedFuture, Member, MemberReport,
    OperatorVerb, PanicMode, PanicModeError, PanicPolicy, RepeatReport, Report, ResponseFuture, Shutdown,
    UnknownMember,
};
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::completion::ResponseGuard;
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
pub use self::hedge::{Hedge, HedgeDelay, HedgeError};
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::hook::{Event, Hook, NoHook};
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::idempotent::Idempotent;
pub use self::kind::BalancerErrorKind;
#[cfg(all(feature = "discovery", feature = "health"))]
pub use self::retry::{Retry, RetryBudget, RetryError};
pub use self::server_load::{ByResult, Conclude, ServerLoadFuture, ServerLoadLayer, ServerLoadService};
pub use self::timer::Timer;
pub use crate::core::Phase;
