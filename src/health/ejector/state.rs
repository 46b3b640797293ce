//! Whether a member is ejected.

use std::fmt;
use std::time::Instant;

use crate::health::OutlierCause;

/// Names the state of an [`Ejection`](crate::health::Ejection).
///
/// ```text
///   +----+  outlier, and the budget has a slot   +---------+
///   | In |-------------------------------------->| Ejected |
///   +----+<--------------------------------------+---------+
///     ^           time is over, or left the pool
///     |
///     | lift       force_eject, force_return: from any state
///   +-----------------------------+
///   | ForcedOut          ForcedIn |
///   +-----------------------------+
/// ```
///
/// Every arrow starts a new epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EjectionState {
    /// It takes traffic.
    In,
    /// It was ejected. It objects until its time is over; the next turn of the ejector takes note of that.
    Ejected {
        /// What it stood out by.
        cause: OutlierCause,
        /// When it was ejected.
        since: Instant,
        /// When its time is over, which may be past; `None` is never.
        until: Option<Instant>,
    },
    /// The operator's word: it is out until that is lifted.
    ForcedOut,
    /// The operator's word: it is in, and is not ejected, until that is lifted.
    ForcedIn,
}

impl fmt::Display for EjectionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::In => "in",
            Self::Ejected { .. } => "ejected",
            Self::ForcedOut => "forced out",
            Self::ForcedIn => "forced in",
        })
    }
}
