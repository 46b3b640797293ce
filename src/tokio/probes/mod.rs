//! Probes of load on Tokio's clock.
//!
//! A [`ProbeDriver`] sends the probes that the queries of a [`ProbePool`](crate::core::ProbePool) are worth, beside the
//! requests and without a request that waits for one.

mod counts;
#[cfg(feature = "discovery")]
mod discovery;
mod driver;

pub use self::counts::ProbeDriverCounts;
pub use self::driver::ProbeDriver;
