//! How an endpoint is probed.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Says whether an endpoint may be chosen of which no probe has decided anything yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum UnknownPolicy {
    /// It may: only what was found unhealthy is excluded. A prober that does not work then empties no pool.
    #[default]
    Allow,
    /// It may not, until it was found healthy.
    Deny,
}

/// Holds the parameters of active health.
///
/// | parameter | unit, range | default |
/// |---|---|---|
/// | [healthy threshold](Self::with_healthy_threshold): successes in a row that make an endpoint healthy | at least 1 | 2 |
/// | [unhealthy threshold](Self::with_unhealthy_threshold): failures in a row that make it unhealthy | at least 1 | 3 |
/// | [interval](Self::with_interval) from the start of one probe to that of the next | more than zero; [`Duration::MAX`] is one probe only | 10 s |
/// | [timeout](Self::with_timeout) of one probe, for whoever drives it | more than zero, below the interval; or [none](Self::without_timeout) | half the interval |
/// | [unknown policy](Self::with_unknown_policy) | | [`UnknownPolicy::Allow`] |
/// | [fast start](Self::with_fast_start): a first success counts at once | | off |
///
/// The defaults are those that proxies have settled on (Envoy: two and three in a row). The guide in
/// [`health::guide`](crate::health::guide) says how to choose others.
///
/// # Examples
///
/// ```
/// use poise::health::{ActiveHealthConfig, UnknownPolicy};
/// use std::time::Duration;
///
/// let config = ActiveHealthConfig::default()
///     .with_interval(Duration::from_secs(5))?
///     .with_timeout(Duration::from_secs(1))?
///     .with_unknown_policy(UnknownPolicy::Deny)
///     .with_fast_start();
/// assert_eq!(config.timeout(), Some(Duration::from_secs(1)));
/// # Ok::<(), poise::health::ActiveHealthConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActiveHealthConfig {
    healthy_threshold: u32,
    unhealthy_threshold: u32,
    interval: Duration,
    timeout: Timeout,
    unknown: UnknownPolicy,
    fast_start: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timeout {
    HalfTheInterval,
    Given(Duration),
    None,
}

impl Default for ActiveHealthConfig {
    fn default() -> Self {
        Self {
            healthy_threshold: 2,
            unhealthy_threshold: 3,
            interval: Duration::from_secs(10),
            timeout: Timeout::HalfTheInterval,
            unknown: UnknownPolicy::default(),
            fast_start: false,
        }
    }
}

impl ActiveHealthConfig {
    /// Sets how many probes in a row must succeed before an endpoint is healthy.
    ///
    /// # Errors
    ///
    /// [`ZeroHealthyThreshold`](ActiveHealthConfigError::ZeroHealthyThreshold).
    pub const fn with_healthy_threshold(mut self, threshold: u32) -> Result<Self, ActiveHealthConfigError> {
        if threshold == 0 {
            return Err(ActiveHealthConfigError::ZeroHealthyThreshold);
        }
        self.healthy_threshold = threshold;
        Ok(self)
    }

    /// Sets how many probes in a row must fail before an endpoint is unhealthy.
    ///
    /// # Errors
    ///
    /// [`ZeroUnhealthyThreshold`](ActiveHealthConfigError::ZeroUnhealthyThreshold).
    pub const fn with_unhealthy_threshold(mut self, threshold: u32) -> Result<Self, ActiveHealthConfigError> {
        if threshold == 0 {
            return Err(ActiveHealthConfigError::ZeroUnhealthyThreshold);
        }
        self.unhealthy_threshold = threshold;
        Ok(self)
    }

    /// Sets the time from the start of one probe to the start of the next.
    ///
    /// It also bounds a probe: one that has not ended when the next is due has lapsed, and decides nothing.
    ///
    /// # Errors
    ///
    /// [`ZeroInterval`](ActiveHealthConfigError::ZeroInterval), and
    /// [`TimeoutNotBelowInterval`](ActiveHealthConfigError::TimeoutNotBelowInterval) when a timeout was set that is not
    /// below it.
    pub fn with_interval(self, interval: Duration) -> Result<Self, ActiveHealthConfigError> {
        if interval.is_zero() {
            return Err(ActiveHealthConfigError::ZeroInterval);
        }
        Self { interval, ..self }.checked()
    }

    /// Sets how long a probe may take. What then happens to it is up to whoever drives it.
    ///
    /// # Errors
    ///
    /// [`ZeroTimeout`](ActiveHealthConfigError::ZeroTimeout), and
    /// [`TimeoutNotBelowInterval`](ActiveHealthConfigError::TimeoutNotBelowInterval).
    pub fn with_timeout(self, timeout: Duration) -> Result<Self, ActiveHealthConfigError> {
        if timeout.is_zero() {
            return Err(ActiveHealthConfigError::ZeroTimeout);
        }
        Self { timeout: Timeout::Given(timeout), ..self }.checked()
    }

    /// Leaves probes without a timeout of their own. One that hangs lapses after an interval and never counts, so an
    /// endpoint that stops answering is not found unhealthy unless the probe itself gives up.
    #[must_use]
    pub const fn without_timeout(mut self) -> Self {
        self.timeout = Timeout::None;
        self
    }

    /// Sets what holds until a probe has decided something.
    #[must_use]
    pub const fn with_unknown_policy(mut self, unknown: UnknownPolicy) -> Self {
        self.unknown = unknown;
        self
    }

    /// Lets one success make an endpoint healthy as long as nothing is known of it, whatever the threshold.
    #[must_use]
    pub const fn with_fast_start(mut self) -> Self {
        self.fast_start = true;
        self
    }

    /// Returns how many probes in a row must succeed.
    #[must_use]
    pub const fn healthy_threshold(&self) -> u32 {
        self.healthy_threshold
    }

    /// Returns how many probes in a row must fail.
    #[must_use]
    pub const fn unhealthy_threshold(&self) -> u32 {
        self.unhealthy_threshold
    }

    /// Returns the time from one probe to the next.
    #[must_use]
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// Returns how long a probe may take, if it is limited.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        match self.timeout {
            // Half of a single nanosecond would be none.
            Timeout::HalfTheInterval => Some((self.interval / 2).max(Duration::from_nanos(1))),
            Timeout::Given(timeout) => Some(timeout),
            Timeout::None => None,
        }
    }

    /// Returns what holds until a probe has decided something.
    #[must_use]
    pub const fn unknown_policy(&self) -> UnknownPolicy {
        self.unknown
    }

    /// Tells whether a first success counts at once.
    #[must_use]
    pub const fn has_fast_start(&self) -> bool {
        self.fast_start
    }

    fn checked(self) -> Result<Self, ActiveHealthConfigError> {
        match self.timeout {
            Timeout::Given(timeout) if timeout >= self.interval => {
                Err(ActiveHealthConfigError::TimeoutNotBelowInterval)
            }
            _ => Ok(self),
        }
    }
}

/// Says what is wrong with an [`ActiveHealthConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActiveHealthConfigError {
    /// An endpoint cannot become healthy by no success at all.
    ZeroHealthyThreshold,
    /// An endpoint cannot become unhealthy by no failure at all.
    ZeroUnhealthyThreshold,
    /// The interval is zero.
    ZeroInterval,
    /// The timeout is zero.
    ZeroTimeout,
    /// A probe could still be under way when the next one is due.
    TimeoutNotBelowInterval,
}

impl fmt::Display for ActiveHealthConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ZeroHealthyThreshold => "the number of successes that make an endpoint healthy is zero",
            Self::ZeroUnhealthyThreshold => "the number of failures that make an endpoint unhealthy is zero",
            Self::ZeroInterval => "the interval of probes is zero",
            Self::ZeroTimeout => "the timeout of a probe is zero",
            Self::TimeoutNotBelowInterval => {
                "the timeout of a probe is not below the interval from one probe to the next"
            }
        })
    }
}

impl Error for ActiveHealthConfigError {}
