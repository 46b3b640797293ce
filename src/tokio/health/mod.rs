//! Probes on Tokio's clock.
//!
//! A [`TokioProbe`] asks one endpoint how it is. [`ActiveHealthRunner`] sends it whenever one is due; [`ProbeSet`] does so
//! for members that come and go. Both bound the whole of a probe by one deadline, end every reservation whatever happens
//! to them, and go on after a probe that panics.

mod attempt;
mod probe;
mod report;
mod runner;
mod set;

pub use self::probe::{TimeoutPolicy, TokioProbe};
pub use self::report::{ProbeEnd, ProbeEndCounts, ProbeReport};
pub use self::runner::ActiveHealthRunner;
pub use self::set::ProbeSet;
