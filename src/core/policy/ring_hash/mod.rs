//! Affinity by points on a ring.

mod budget;
mod config;
mod edits;
mod index;
mod merge;
mod placement;
#[expect(clippy::module_inception, reason = "the file that defines the type of that name")]
mod ring_hash;
pub(super) mod table;

pub use self::config::{RingHashError, RingReport};
pub use self::placement::{EnvoyRing, PointsBy, RingMembers};
pub use self::ring_hash::RingHash;
