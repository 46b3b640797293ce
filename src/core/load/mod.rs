//! What policies measure, and what attempts report.
//!
//! A [`LoadMetric`] is read by policies and never writes. A [`LoadTracker`] is written by whoever dispatches: it issues
//! a ticket for each attempt, hears how the attempt ended, and gets the ticket back. [`Tracked`] is the guard over both
//! calls; dropping it says that the attempt was cancelled.
//!
//! [`InFlight`] counts attempts. [`PeakEwma`] multiplies their count with the latency to expect.

mod in_flight;
mod metric;
mod peak_ewma;
mod pending;
mod tracker;

pub use self::in_flight::InFlight;
pub use self::metric::{AdditiveLoad, LoadMetric};
pub use self::peak_ewma::{PeakEwma, PeakEwmaConfig, PeakEwmaError, PeakEwmaTicket};
#[cfg(feature = "health")]
pub(crate) use self::pending::Pending;
pub use self::pending::ZeroLimit;
pub use self::tracker::{AtCapacity, LoadTracker, Tracked};
