//! The own zone first.

mod aware;
mod callers;
mod table;

pub use self::aware::{ZoneAware, ZoneDecision};
