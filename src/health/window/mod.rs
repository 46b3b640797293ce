//! What became of the attempts of late.
//!
//! [`OutcomeWindow`] counts outcomes over the last seconds, [`OutcomeCounts`] is what it has counted, and [`PenaltyScore`]
//! turns that into a number to compare. What always holds:
//!
//! 1. A cancelled attempt is never counted.
//! 2. What is older than the window has no say, and a window is as large as it is whatever the traffic.
//! 3. The same course of errors gives the same picture at ten requests a second and at ten thousand.
//! 4. Whoever records neither waits nor allocates.

mod config;
mod counts;
#[cfg(all(test, loom))]
mod models;
mod penalized;
mod penalty;
mod slice;
mod sliding;

pub use self::config::{WindowConfig, WindowConfigError};
pub use self::counts::OutcomeCounts;
pub use self::penalized::Penalized;
pub use self::penalty::{PenaltyConfig, PenaltyConfigError, PenaltyScore};
pub use self::sliding::OutcomeWindow;
