//! What can be wrong with a refresh.

use std::error::Error;
use std::fmt;

/// Reports a configuration that makes no sense, or that there is no runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefreshError {
    /// The interval is zero.
    ZeroInterval,
    /// The jitter is not a fraction from 0 to 1.
    Jitter,
    /// The first pause is zero or longer than the longest.
    Backoff,
    /// The timeout is zero.
    ZeroTimeout,
    /// There is no Tokio runtime to spawn on.
    NoRuntime,
}

impl fmt::Display for RefreshError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ZeroInterval => "the interval must be more than zero",
            Self::Jitter => "the jitter must be from 0 to 1",
            Self::Backoff => "the first pause must be more than zero and not above the longest",
            Self::ZeroTimeout => "the timeout must be more than zero",
            Self::NoRuntime => "there is no Tokio runtime",
        })
    }
}

impl Error for RefreshError {}
