//! The own zone first.

mod aware;
mod callers;
pub(super) mod table;

pub use self::aware::{ZoneAware, ZoneDecision};
