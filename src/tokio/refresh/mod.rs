//! Membership from a source that has to be asked.
//!
//! A [`Refresh`] asks for the full set, again and again, and keeps a directory as the answers say; the crate's `discovery`
//! decides what an answer may do: errors and, for a while, empty answers keep the last good set.

mod config;
mod error;
mod handle;
mod run;
mod schedule;
mod signal;

pub use self::config::Refresh;
pub use self::error::RefreshError;
pub use self::handle::Refreshed;
pub use self::signal::{RefreshHint, RefreshPush};
