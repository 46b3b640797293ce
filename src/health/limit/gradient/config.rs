//! Settings of the limit.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Sets up a [`GradientLimit`](crate::health::GradientLimit).
///
/// | setting | range | default |
/// |---|---|---|
/// | [bounds](Self::with_bounds) of the limit | 1 to 1,000,000, the upper not below the lower | 1 and 200 |
/// | [initial limit](Self::with_initial) | within the bounds, moved there if not | 20 |
/// | [tolerance](Self::with_tolerance) of longer latencies | 1 to 100 | 1.5 |
/// | [round](Self::with_round), after which the limit is adjusted | more than zero | 100 ms |
/// | [longest hold](Self::with_longest_hold) that a member can ask for | any | 30 s |
///
/// # Examples
///
/// ```
/// use poise::core::Now;
/// use poise::health::{GradientConfig, GradientLimit, Limit};
///
/// let config = GradientConfig::default().with_bounds(4, 64)?.with_initial(10);
/// assert_eq!(GradientLimit::new(config, &Now::lazy()).limit(), 10);
/// # Ok::<(), poise::health::GradientConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradientConfig {
    min: u32,
    max: u32,
    initial: u32,
    pub(super) tolerance: f64,
    pub(super) round: Duration,
    pub(super) longest_hold: Duration,
}

impl Default for GradientConfig {
    fn default() -> Self {
        Self {
            min: 1,
            max: 200,
            initial: 20,
            tolerance: 1.5,
            round: Duration::from_millis(100),
            longest_hold: Duration::from_secs(30),
        }
    }
}

impl GradientConfig {
    /// The largest limit.
    pub const MAX_LIMIT: u32 = 1_000_000;

    /// Sets what the limit never falls below and never rises above.
    ///
    /// # Errors
    ///
    /// [`GradientConfigError::InvalidBounds`] when the lower is zero or above the upper, or the upper above
    /// [`MAX_LIMIT`](Self::MAX_LIMIT).
    pub const fn with_bounds(self, min: u32, max: u32) -> Result<Self, GradientConfigError> {
        if min == 0 || min > max || max > Self::MAX_LIMIT {
            return Err(GradientConfigError::InvalidBounds);
        }
        Ok(Self { min, max, ..self })
    }

    /// Sets the limit to begin with; it is moved within the bounds.
    #[must_use]
    pub const fn with_initial(self, limit: u32) -> Self {
        Self { initial: limit, ..self }
    }

    /// Sets how many times its usual latency a member may take before the limit falls.
    ///
    /// # Errors
    ///
    /// [`GradientConfigError::InvalidTolerance`] when it is not within 1 to 100, or NaN.
    pub fn with_tolerance(self, tolerance: f64) -> Result<Self, GradientConfigError> {
        if !(1.0..=100.0).contains(&tolerance) {
            return Err(GradientConfigError::InvalidTolerance);
        }
        Ok(Self { tolerance, ..self })
    }

    /// Sets how long latencies are gathered before they adjust the limit; there must be ten of them besides.
    ///
    /// # Errors
    ///
    /// [`GradientConfigError::ZeroRound`].
    pub const fn with_round(self, round: Duration) -> Result<Self, GradientConfigError> {
        if round.is_zero() {
            return Err(GradientConfigError::ZeroRound);
        }
        Ok(Self { round, ..self })
    }

    /// Sets the longest time for which a member that is overloaded can ask to be left alone; zero pays no regard to it.
    #[must_use]
    pub const fn with_longest_hold(self, hold: Duration) -> Self {
        Self { longest_hold: hold, ..self }
    }

    /// Returns the lower bound of the limit.
    #[must_use]
    pub const fn min(&self) -> u32 {
        self.min
    }

    /// Returns the upper bound of the limit.
    #[must_use]
    pub const fn max(&self) -> u32 {
        self.max
    }

    /// Returns the limit to begin with.
    #[must_use]
    pub fn initial(&self) -> u32 {
        self.initial.clamp(self.min, self.max)
    }
}

/// Says what is wrong with a [`GradientConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GradientConfigError {
    /// The lower bound is zero or above the upper one, or that is above a million.
    InvalidBounds,
    /// The tolerance is not within 1 to 100.
    InvalidTolerance,
    /// A round takes no time.
    ZeroRound,
}

impl fmt::Display for GradientConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::InvalidBounds => "the bounds of the limit are not 1 <= min <= max <= 1000000",
            Self::InvalidTolerance => "the tolerance is not within 1 to 100",
            Self::ZeroRound => "the time of a round is zero",
        })
    }
}

impl Error for GradientConfigError {}
