//! What can be wrong with an answer.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::discovery::DirectoryError;

/// Reports why an answer of a source was not applied; the members are what they were.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceError<E> {
    /// The source has failed.
    Failed(E),
    /// It did not answer in time.
    TimedOut(Duration),
    /// It sent changes of a state that is not known, because it is new or has failed since its last full set.
    NeedsFullSet,
    /// The directory has refused what it sent.
    Refused(DirectoryError),
}

impl<E: fmt::Display> fmt::Display for SourceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => write!(f, "the source has failed: {error}"),
            Self::TimedOut(limit) => write!(f, "the source did not answer within {limit:?}"),
            Self::NeedsFullSet => f.write_str("the source sent changes before a full set"),
            Self::Refused(error) => write!(f, "the answer of the source was refused: {error}"),
        }
    }
}

impl<E: Error + 'static> Error for SourceError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Failed(error) => Some(error),
            Self::Refused(error) => Some(error),
            Self::TimedOut(_) | Self::NeedsFullSet => None,
        }
    }
}
