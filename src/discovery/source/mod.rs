//! Membership from a source: a stream of answers that may fail, repeat itself and lie.
//!
//! Resolvers, watches and control planes answer with full sets or with changes: an [`Update`], or an error. An [`Intake`]
//! decides what an answer may do to a [`Directory`](super::Directory), by nothing but the answer and the time, and [`drive`]
//! feeds it from a stream.

mod departures;
mod drive;
mod error;
mod gate;
mod intake;
mod policy;
mod set;
mod status;

pub use self::drive::{SourceClock, drive};
pub use self::error::SourceError;
pub use self::intake::{Intake, Taken};
pub use self::policy::{EmptyAnswer, SourcePolicy};
pub use self::set::{FullSet, Update};
pub use self::status::{SourceReport, SourceStatus};
