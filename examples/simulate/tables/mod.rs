//! The tables, by what they are about.

pub(crate) mod changes;
pub(crate) mod faults;
pub(crate) mod prequal;
pub(crate) mod retries;
pub(crate) mod theory;

/// All that is random follows from this.
const SEED: u64 = 1;
