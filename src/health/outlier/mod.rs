//! Members that fare worse than their peers.
//!
//! [`OutlierDetector`] compares what became of the requests of a group within the same time, as [`OutlierSample`]s, and
//! names those that stand out. It is pure: how long to leave them alone is for an [`Ejector`](crate::health::Ejector), or
//! for whoever asked. What always holds:
//!
//! 1. Hosts that fare alike are never outliers.
//! 2. The same samples give the same answer, in the same order.
//! 3. No more are named than the caps allow.

mod config;
mod detector;
mod sample;

pub use self::config::{OutlierConfig, OutlierConfigError};
pub use self::detector::{Outlier, OutlierCause, OutlierDetector};
pub use self::sample::OutlierSample;
