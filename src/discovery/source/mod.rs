//! Membership from a source: a stream of answers that may fail, repeat itself and lie.
//!
//! Resolvers, watches and control planes answer with full sets or with changes: an [`Update`], or an error. An [`Intake`]
//! decides what an answer may do to a [`Directory`](super::Directory), by nothing but the answer and the time, and [`drive`]
//! feeds it from a stream.
//!
//! 1. **The last good set stays.** An error changes no member. It is in the [`SourceStatus`], which others can read, and
//!    what comes later applies.
//! 2. **Changes need something to change.** After an error, and at the start, what the source has is not known: changes are
//!    refused until there was a full set. [`SourcePolicy::with_changes_first`] lets a source start with changes.
//! 3. **Empty is not believed at once.** A full set of nobody obeys an [`EmptyAnswer`]: by default it is kept off for a grace
//!    period, which starts with the first such answer and ends with any other, an error among them. Changes that follow it
//!    are changes of nobody, so that together they are a full set. A batch of changes that takes everybody away says so in
//!    so many words, and is applied.
//! 4. **Repetitions cost nothing.** Where a set names a key more than once, the endpoint counts that changes the member
//!    least, and else the first. No order of a set rebuilds a member.
//! 5. **Who leaves drains for a while.** A member that the source takes away stays as a draining one for
//!    [`SourcePolicy::with_drain`], and is let go then.

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
