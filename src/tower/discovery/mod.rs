//! Endpoints of a balance that follow discovered members.
//!
//! ```text
//! Snapshot --> Plan: retained, added, rebuilt, removed
//!                |
//!              stage: the factory makes what is new       fails: all is as it was
//!                |
//!              prepare: the policy looks at the whole     fails: all is as it was
//!                |
//!              commit: endpoints, table and revision
//!                |
//!              discard: what was replaced, after all that
//! ```

mod balance;
mod config;
mod error;
mod factory;
mod reconcile;
mod report;
mod streaming;
mod streaming_error;

pub use self::balance::DiscoveryBalance;
pub use self::config::{StreamEndPolicy, StreamingConfig, ZeroUpdateBudget};
pub use self::error::ReconcileError;
pub use self::factory::{EndpointFactory, InFlightFactory, in_flight_factory};
pub use self::report::ReconcileReport;
pub use self::streaming::StreamingDiscoveryBalance;
pub use self::streaming_error::{StreamingError, StreamingFuture};
