//! Running on Tokio: its timer, and balancers that drive themselves.
//!
//! All times are those of Tokio's clock, so that tests with a paused clock see every wait. Nothing is spawned behind the
//! user's back: `Builder::spawn` is the one call that spawns, one task per balancer, which ends with its last handle.

#[cfg(all(feature = "tower", feature = "discovery", feature = "health"))]
mod balancer;
#[cfg(feature = "tower")]
mod timer;

#[cfg(feature = "tower")]
pub use self::timer::TokioTimer;
