//! How an ejector behaves.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::health::OutlierConfig;

/// Holds the parameters of an [`Ejector`](crate::health::Ejector).
///
/// | parameter | range | default |
/// |---|---|---|
/// | [interval](Self::with_interval) of the sweeps | more than zero | 10 s |
/// | [ejection](Self::with_ejection) the first time | more than zero | 30 s |
/// | the longest ejection | not below the first | 300 s |
/// | [outliers](Self::with_outliers): who is ejected | see there | see there |
///
/// The defaults are Envoy's. How many may be out at once is the [budget](crate::health::BudgetConfig)'s. Times beyond 146
/// years are taken for that.
///
/// # Examples
///
/// ```
/// use poise::health::EjectorConfig;
/// use std::time::Duration;
///
/// let config = EjectorConfig::default()
///     .with_interval(Duration::from_secs(1))?
///     .with_ejection(Duration::from_secs(5), Duration::from_secs(60))?;
/// assert_eq!(config.ejection_after(3), Duration::from_secs(15));
/// # Ok::<(), poise::health::EjectorConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EjectorConfig {
    interval: Duration,
    first: Duration,
    longest: Duration,
    outliers: OutlierConfig,
}

impl Default for EjectorConfig {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(10),
            first: Duration::from_secs(30),
            longest: Duration::from_secs(300),
            outliers: OutlierConfig::default(),
        }
    }
}

impl EjectorConfig {
    /// Sets how long after a sweep the next one is.
    ///
    /// Samples should cover about that time.
    ///
    /// # Errors
    ///
    /// [`EjectorConfigError::ZeroInterval`].
    pub const fn with_interval(self, interval: Duration) -> Result<Self, EjectorConfigError> {
        if interval.is_zero() {
            return Err(EjectorConfigError::ZeroInterval);
        }
        Ok(Self { interval, ..self })
    }

    /// Sets how long a member is ejected the first time, which is multiplied by how often it was, and the longest that
    /// this may grow to.
    ///
    /// # Errors
    ///
    /// [`EjectorConfigError::ZeroEjection`], [`LongestBelowFirst`](EjectorConfigError::LongestBelowFirst).
    pub fn with_ejection(self, first: Duration, longest: Duration) -> Result<Self, EjectorConfigError> {
        if first.is_zero() {
            return Err(EjectorConfigError::ZeroEjection);
        }
        if longest < first {
            return Err(EjectorConfigError::LongestBelowFirst);
        }
        Ok(Self { first, longest, ..self })
    }

    /// Sets who is an outlier.
    #[must_use]
    pub const fn with_outliers(self, outliers: OutlierConfig) -> Self {
        Self { outliers, ..self }
    }

    /// Returns how long after a sweep the next one is.
    #[must_use]
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// Returns who is an outlier.
    #[must_use]
    pub const fn outliers(&self) -> &OutlierConfig {
        &self.outliers
    }

    /// Returns how long the ejection is that is the `repeats`-th, counted from 1.
    #[must_use]
    pub fn ejection_after(&self, repeats: u32) -> Duration {
        self.first.saturating_mul(repeats.max(1)).min(self.longest)
    }

    /// Counts one more ejection. Beyond what reaches the longest time counting ends, so that it takes no longer to forget.
    pub(super) fn one_more(&self, repeats: u32) -> u32 {
        let is_longest = repeats > 0 && self.ejection_after(repeats) == self.longest;
        if is_longest { repeats } else { repeats.saturating_add(1) }
    }
}

/// Says what is wrong with an [`EjectorConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EjectorConfigError {
    /// The interval of the sweeps is zero.
    ZeroInterval,
    /// An ejection takes no time.
    ZeroEjection,
    /// The longest ejection is shorter than the first.
    LongestBelowFirst,
}

impl fmt::Display for EjectorConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ZeroInterval => "the interval of the sweeps is zero",
            Self::ZeroEjection => "the time of an ejection is zero",
            Self::LongestBelowFirst => "the longest ejection is shorter than the first",
        })
    }
}

impl Error for EjectorConfigError {}
