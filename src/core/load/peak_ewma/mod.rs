//! Load as latency times concurrency, quick to rise and slow to forget.
//!
//! [`PeakEwma`] is the tracker, [`PeakEwmaConfig`] its settings. Inside, each idea is one word that is complete in itself
//! and changed as a whole: the dated `estimate` of the latency, the dated streak of `failures`, and the `witness` whose
//! age bounds the latency from below. All of them and the settings fit one cache line. `clock` compares times that
//! wrap, and `decay` is the exponential.

mod clock;
mod config;
mod decay;
mod estimate;
mod failures;
mod tracker;
mod witness;

pub use self::config::{PeakEwmaConfig, PeakEwmaError};
pub use self::tracker::{PeakEwma, PeakEwmaTicket};
