//! Selection: candidates, views, policies and loads. No runtime, no async, no I/O.
//!
//! A [`Candidate`] is a member of the set that is chosen from; [`Backend`] is the ready-made one.

mod attributes;
mod backend;
mod candidate;
mod changes;
mod exclusions;
mod hash;
mod load;
mod now;
mod outcome;
#[cfg(any(feature = "discovery", feature = "tower"))]
#[cfg_attr(not(feature = "discovery"), allow(dead_code, reason = "each feature uses its own part of it"))]
pub(crate) mod wakers;
mod rng;
mod weight;

pub use self::attributes::{Attributes, Locality, Status};
pub use self::backend::Backend;
pub use self::candidate::Candidate;
pub use self::changes::{Changes, Listener};
pub use self::exclusions::{Exclusion, ExclusionCounts, Exclusions};
pub use self::hash::{Prehashed, PrehashedBuildHasher, PrehashedHasher, StableBuildHasher, StableHasher};
pub use self::load::{
    AdditiveLoad, AtCapacity, InFlight, LoadMetric, LoadTracker, PeakEwma, PeakEwmaConfig, PeakEwmaError,
    PeakEwmaTicket, Tracked, ZeroLimit,
};
pub use self::now::Now;
pub use self::outcome::Outcome;
pub use self::rng::Rng;
pub use self::weight::{Weight, ZeroWeight};
