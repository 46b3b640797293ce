//! Traffic between localities, by weight and health.

mod table;
mod weighted;

pub use self::weighted::{InvalidOverprovisioning, LocalityDecision, LocalityWeighted};
