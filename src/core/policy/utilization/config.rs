//! Settings of the weights.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Sets up [`UtilizationReports`](super::UtilizationReports).
///
/// | setting | range | default |
/// |---|---|---|
/// | [penalty](Self::with_error_penalty) for errors | 0 to 1,000,000 | 1 |
/// | [blackout](Self::with_blackout), for how long a member must have reported before its weight counts | any | 10 s |
/// | [expiry](Self::with_expiry), after which silence makes a weight void | more than zero | 180 s |
/// | [update period](Self::with_update_period), how often weights are read | more than zero | 1 s |
///
/// Source: gRPC A58, `weighted_round_robin`.
///
/// # Examples
///
/// ```
/// use poise::core::policy::UtilizationConfig;
/// use std::time::Duration;
///
/// let config = UtilizationConfig::new().with_blackout(Duration::ZERO).with_error_penalty(2.0)?;
/// assert_eq!(config.expiry(), Duration::from_secs(180));
/// # Ok::<(), poise::core::policy::UtilizationConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UtilizationConfig {
    error_penalty: f64,
    blackout: Duration,
    expiry: Duration,
    update_period: Duration,
}

const HIGHEST_PENALTY: f64 = 1e6;

impl UtilizationConfig {
    /// Makes the default settings.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            error_penalty: 1.0,
            blackout: Duration::from_secs(10),
            expiry: Duration::from_secs(180),
            update_period: Duration::from_secs(1),
        }
    }

    /// Sets how much utilisation it counts for when every request fails.
    ///
    /// # Errors
    ///
    /// [`UtilizationConfigError::Penalty`] when it is not a number from 0 to 1,000,000.
    pub fn with_error_penalty(self, penalty: f64) -> Result<Self, UtilizationConfigError> {
        if (0.0..=HIGHEST_PENALTY).contains(&penalty) {
            Ok(Self { error_penalty: penalty, ..self })
        } else {
            Err(UtilizationConfigError::Penalty)
        }
    }

    /// Sets for how long a member must have reported before its weight counts, so that one that has just started is not
    /// judged by its first requests.
    #[must_use]
    pub const fn with_blackout(self, blackout: Duration) -> Self {
        Self { blackout, ..self }
    }

    /// Sets after how long a silence the weight of a member is void.
    ///
    /// # Errors
    ///
    /// [`UtilizationConfigError::ZeroExpiry`] for zero.
    pub const fn with_expiry(self, expiry: Duration) -> Result<Self, UtilizationConfigError> {
        if expiry.is_zero() {
            return Err(UtilizationConfigError::ZeroExpiry);
        }
        Ok(Self { expiry, ..self })
    }

    /// Sets how often weights are read.
    ///
    /// # Errors
    ///
    /// [`UtilizationConfigError::ZeroPeriod`] for zero.
    pub const fn with_update_period(self, period: Duration) -> Result<Self, UtilizationConfigError> {
        if period.is_zero() {
            return Err(UtilizationConfigError::ZeroPeriod);
        }
        Ok(Self { update_period: period, ..self })
    }

    /// Returns how much utilisation it counts for when every request fails.
    #[must_use]
    pub const fn error_penalty(&self) -> f64 {
        self.error_penalty
    }

    /// Returns for how long a member must have reported before its weight counts.
    #[must_use]
    pub const fn blackout(&self) -> Duration {
        self.blackout
    }

    /// Returns after how long a silence the weight of a member is void.
    #[must_use]
    pub const fn expiry(&self) -> Duration {
        self.expiry
    }

    /// Returns how often weights are read.
    #[must_use]
    pub const fn update_period(&self) -> Duration {
        self.update_period
    }
}

impl Default for UtilizationConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// Says what is wrong with a [`UtilizationConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UtilizationConfigError {
    /// The penalty for errors is not a number from 0 to 1,000,000.
    Penalty,
    /// The expiry is zero.
    ZeroExpiry,
    /// The update period is zero.
    ZeroPeriod,
}

impl fmt::Display for UtilizationConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Penalty => "the penalty for errors must be a number from 0 to 1000000",
            Self::ZeroExpiry => "the expiry of reports must be more than zero",
            Self::ZeroPeriod => "the update period of weights must be more than zero",
        })
    }
}

impl Error for UtilizationConfigError {}
