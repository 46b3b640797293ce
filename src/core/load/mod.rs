//! What policies measure, and what attempts report.
//!
//! A [`LoadMetric`] is read by policies and never writes. A [`LoadTracker`] is written by whoever dispatches: it issues
//! a ticket for each attempt, hears how the attempt ended, and gets the ticket back. [`Tracked`] is the guard over both
//! calls; dropping it says that the attempt was cancelled.

mod metric;
mod tracker;

pub use self::metric::{AdditiveLoad, LoadMetric};
pub use self::tracker::{AtCapacity, LoadTracker, Tracked};
