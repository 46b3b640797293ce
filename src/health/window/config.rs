//! The bounds of a window.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::slice::Slice;

/// How many parts the age of a window is divided into.
pub(super) const SLICES: usize = 16;
const SLICES_U32: u32 = 16;

/// Holds the bounds of an [`OutcomeWindow`](crate::health::OutcomeWindow).
///
/// | parameter | range | default |
/// |---|---|---|
/// | [age](Self::with_age) at which an outcome loses its say | at least 16 ms | 10 s |
/// | [count](Self::with_count) of outcomes that have a say at once | 16 to 32,752 | 16,000 |
///
/// # Examples
///
/// ```
/// use poise::health::WindowConfig;
/// use std::time::Duration;
///
/// let config = WindowConfig::default().with_age(Duration::from_secs(30))?.with_count(3_200)?;
/// assert_eq!(config.age(), Duration::from_secs(30));
/// # Ok::<(), poise::health::WindowConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowConfig {
    age: Duration,
    count: u32,
}

impl Default for WindowConfig {
    fn default() -> Self {
        Self { age: Duration::from_secs(10), count: 16_000 }
    }
}

impl WindowConfig {
    /// The shortest age.
    pub const MIN_AGE: Duration = Duration::from_millis(SLICES as u64);
    /// The largest count.
    pub const MAX_COUNT: u32 = SLICES_U32 * Slice::MOST_CAP;

    /// Sets the age at which an outcome loses its say, to a sixteenth: outcomes leave in groups of a sixteenth of it.
    ///
    /// # Errors
    ///
    /// [`WindowConfigError::AgeTooShort`] below [`MIN_AGE`](Self::MIN_AGE).
    pub const fn with_age(self, age: Duration) -> Result<Self, WindowConfigError> {
        if age.as_nanos() < Self::MIN_AGE.as_nanos() {
            return Err(WindowConfigError::AgeTooShort);
        }
        Ok(Self { age, ..self })
    }

    /// Sets how many outcomes have a say at once: each sixteenth of the age at most a sixteenth of them.
    ///
    /// Where more happened, they count in proportion. So a burst within one sixteenth does not outvote the others, and no
    /// rate of requests shortens the time over which is judged.
    ///
    /// # Errors
    ///
    /// [`WindowConfigError::CountTooSmall`] below 16, [`CountTooLarge`](WindowConfigError::CountTooLarge) above
    /// [`MAX_COUNT`](Self::MAX_COUNT).
    pub const fn with_count(self, count: u32) -> Result<Self, WindowConfigError> {
        if count < SLICES_U32 {
            return Err(WindowConfigError::CountTooSmall);
        }
        if count > Self::MAX_COUNT {
            return Err(WindowConfigError::CountTooLarge);
        }
        Ok(Self { count, ..self })
    }

    /// Returns the age at which an outcome loses its say.
    #[must_use]
    pub const fn age(&self) -> Duration {
        self.age
    }

    /// Returns how many outcomes have a say at once.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Returns the length of a slice in nanoseconds.
    pub(super) fn slice(&self) -> u64 {
        u64::try_from(self.age.as_nanos() / SLICES as u128).unwrap_or(u64::MAX)
    }

    /// Returns how many outcomes of a slice have a say.
    pub(super) fn cap(&self) -> u64 {
        u64::from(self.count) / SLICES as u64
    }
}

/// Says what is wrong with a [`WindowConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowConfigError {
    /// The age is below 16 milliseconds.
    AgeTooShort,
    /// The count is below 16.
    CountTooSmall,
    /// The count is above 32,752.
    CountTooLarge,
}

impl fmt::Display for WindowConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::AgeTooShort => "the age of a window is below 16 milliseconds",
            Self::CountTooSmall => "the count of a window is below 16",
            Self::CountTooLarge => "the count of a window is above 32752",
        })
    }
}

impl Error for WindowConfigError {}
