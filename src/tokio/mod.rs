//! Running on Tokio: its timer, waits for snapshots, sources that are asked, probes of health and of load, and balancers that
//! drive themselves.
//!
//! All times are those of Tokio's clock, so that tests with a paused clock see every wait. Nothing is spawned behind the
//! user's back: `Builder::spawn` and `Refresh::spawn` are the calls that spawn, one task each, which ends with the last
//! handle of what it serves.

#[cfg(all(feature = "tower", feature = "discovery", feature = "health"))]
mod balancer;
mod contain;
mod flights;
#[cfg(feature = "health")]
mod health;
mod probes;
#[cfg(feature = "discovery")]
mod refresh;
#[cfg(feature = "discovery")]
mod source;
mod timer;
#[cfg(feature = "tower")]
mod tower;
mod wait;

#[cfg(feature = "health")]
pub use self::health::{
    ActiveHealthRunner, ProbeEnd, ProbeEndCounts, ProbeReport, ProbeSet, TimeoutPolicy, TokioProbe,
};
pub use self::probes::{ProbeDriver, ProbeDriverCounts};
#[cfg(feature = "discovery")]
pub use self::refresh::{Refresh, RefreshError, RefreshHint, RefreshPush, Refreshed};
pub use self::timer::TokioTimer;
#[cfg(feature = "discovery")]
pub use crate::discovery::{NextSnapshot, RevisionUnreachable, next_snapshot, wait_for_revision};
