//! Failover between levels.

mod config;
mod failover;
mod plan;
pub(super) mod table;

pub use self::config::{PanicMode, PriorityConfig, PriorityConfigError};
pub use self::failover::{PriorityDecision, PriorityFailover};
