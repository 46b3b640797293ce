//! Membership from a source that has to be asked.
//!
//! A [`Refresh`] asks for the full set, again and again, and keeps a directory as the answers say; the crate's `discovery`
//! decides what an answer may do: errors and, for a while, empty answers keep the last good set.
//!
//! 1. **One at a time.** The source is asked again when it has answered or its time is over. An answer that was given up, or
//!    that was asked for before something newer came, is never seen.
//! 2. **Early when that helps, late when it must.** A [`RefreshHint`] moves the next start forward, within limits; errors
//!    move it back.
//! 3. **It ends with its readers.**

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
