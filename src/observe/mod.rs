//! Observation: what happened, told as typed events, counted in constant memory.
//!
//! ```text
//! Balancer (tower::Hook) ---+
//! ObservedReadiness --------+
//! ObservedPolicy -----------+--> Observer --> Recorder, MetricsObserver, TracingObserver, Fanout, yours
//! Attempt ------------------+
//! ```
//!
//! An [`Observer`] hears events: it has one method for each kind, all of which do nothing by default. A balancer tells it
//! everything when it is given to `Builder::observe`. Who dispatches by hand wraps the policy in an [`ObservedPolicy`], and
//! keeps an [`Attempt`] for as long as each attempt takes; both need no other feature. A `tower::Balance` is given an
//! `ObservedReadiness`, which tells of endpoints that fail with no request to fail by it.
//!
//! [`Recorder`] counts everything with plain atomics, for programs and tests that read the numbers themselves. With the
//! feature `metrics`, `MetricsObserver` exports the same counts through the `metrics` facade; with `tracing`,
//! `TracingObserver` makes them structured events.
//!
//! 1. Memory and the number of series are constant: dimensions are enums of this crate. The identity of a backend, the key
//!    of a request, the position of a candidate, the name of a policy and the text of an error are never a dimension.
//! 2. Telling costs constant time and no allocation.
//! 3. A panic in an observer goes no further: nobody else misses the event, nothing is told twice, and no guard is lost.
//! 4. Observers change nothing: policies pick and attempts end as they would without.

mod attempt;
mod contain;
mod event;
mod fanout;
mod health;
mod labels;
mod latency;
mod member;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(feature = "metrics")]
pub mod names;
mod observer;
mod policy;
#[cfg(feature = "tower")]
mod readiness;
mod recorder;
mod snapshot;
#[cfg(feature = "tracing")]
mod span;
#[cfg(all(feature = "tower", feature = "discovery", feature = "health"))]
mod tower;
#[cfg(feature = "tracing")]
mod tracing;
mod verdict;

pub use self::attempt::Attempt;
pub use self::event::{
    AttemptEvent, ClosedEvent, FailFastEvent, HedgeEvent, HedgeVerdict, MembershipEvent, PanicEvent,
    PickEvent, ReadinessEvent, RetryEvent,
};
pub use self::fanout::Fanout;
pub use self::health::{
    CircuitChange, CircuitEvent, CircuitReason, OutlierChange, OutlierEvent, OutlierReason, PanicModeEvent,
    ProbeEvent,
};
pub use self::member::{BuildEvent, MemberChange, MemberEvent};
#[cfg(feature = "metrics")]
pub use self::metrics::{MetricsObserver, describe_metrics};
pub use self::observer::{Noop, Observer};
pub use self::policy::ObservedPolicy;
#[cfg(feature = "tower")]
pub use self::readiness::{ObservedReadiness, Unnamed};
pub use self::recorder::{Metrics, Recorder};
pub use self::snapshot::RecorderSnapshot;
#[cfg(feature = "tracing")]
pub use self::span::request_span;
#[cfg(feature = "tracing")]
pub use self::tracing::TracingObserver;
pub use self::verdict::PickVerdict;
