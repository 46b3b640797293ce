//! Traffic between localities, by weight and health.

pub(super) mod table;
mod weighted;

pub use self::weighted::{InvalidOverprovisioning, LocalityDecision, LocalityWeighted};
