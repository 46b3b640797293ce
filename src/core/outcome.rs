//! How an attempt ended.

use std::fmt;
use std::time::Duration;

/// Classifies how an attempt ended, without a word of any protocol.
///
/// One attempt has one outcome. Load trackers, circuits and observers learn from it.
///
/// ```
/// use poise::core::Outcome;
///
/// assert_eq!(Outcome::of::<_, &str>(Ok(())), Outcome::Success);
/// assert_eq!(Outcome::of::<(), _>(Err("refused")), Outcome::Failure);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The endpoint did what it was asked.
    Success,
    /// The endpoint failed.
    Failure,
    /// The endpoint refused because it has too much to do.
    Overload {
        /// How long the endpoint asks to be left alone.
        retry_after: Option<Duration>,
    },
    /// The caller lost interest before there was an answer. This says nothing bad of the endpoint and is never counted
    /// as a failure; the time that had passed is still a lower bound of its latency.
    Cancelled,
}

impl Outcome {
    /// An overload without a word on when to come back.
    pub const OVERLOAD: Self = Self::Overload { retry_after: None };

    /// Classifies a result in the plain way: `Ok` is a success, `Err` a failure.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers hand on the result of borrows that they matched"
    )]
    pub fn of<T, E>(result: Result<T, E>) -> Self {
        if result.is_ok() { Self::Success } else { Self::Failure }
    }

    /// Tells whether this is a success.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::Success
    }

    /// Tells whether the endpoint is to blame: a failure or an overload.
    #[must_use]
    pub fn is_error(self) -> bool {
        matches!(self, Self::Failure | Self::Overload { .. })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Overload { .. } => "overload",
            Self::Cancelled => "cancelled",
        })
    }
}
