//! How a circuit behaves.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::word::Word;

/// Holds the parameters of a circuit.
///
/// Only the first two have no default, because they depend on the traffic: three failures in a row mean one thing at a
/// request a minute and another at ten thousand a second.
///
/// | parameter | unit, range | default |
/// |---|---|---|
/// | failures in a row that open the circuit | 1 to 65,535 | given |
/// | cooldown, how long it stays open | more than zero; [`Duration::MAX`] is for ever | given |
/// | [growth](Self::with_growth) of the cooldown | a maximum, not below the cooldown | none: constant |
/// | [jitter](Self::with_jitter) of the cooldown | fraction, 0 to 1 | 0: exact |
/// | [successes to close](Self::with_successes_to_close) | at least 1 | 1 |
/// | [half-open permits](Self::with_half_open_permits) | 1 to 65,535 | 1 |
/// | [half-open deadline](Self::with_half_open_deadline) | more than zero | 30 s, or the cooldown if that is longer |
/// | [seed](Self::with_seed) of the jitter | any | random |
///
/// # Examples
///
/// ```
/// use poise::health::CircuitConfig;
/// use std::time::Duration;
///
/// let config = CircuitConfig::new(5, Duration::from_secs(1))?
///     .with_growth(Duration::from_secs(60))?
///     .with_jitter(0.2)?;
/// assert_eq!(config.failures(), 5);
/// # Ok::<(), poise::health::CircuitConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CircuitConfig {
    failures: u32,
    open_for: Duration,
    growth: Option<Duration>,
    jitter: f64,
    successes_to_close: u32,
    half_open_permits: u32,
    half_open_deadline: Option<Duration>,
    seed: Option<u64>,
}

impl CircuitConfig {
    const DEFAULT_HALF_OPEN_DEADLINE: Duration = Duration::from_secs(30);

    /// Makes a circuit that opens after `failures` in a row and stays open for exactly `open_for` each time.
    ///
    /// # Errors
    ///
    /// [`ZeroFailures`](CircuitConfigError::ZeroFailures), [`TooManyFailures`](CircuitConfigError::TooManyFailures)
    /// above 65,535, [`ZeroOpenFor`](CircuitConfigError::ZeroOpenFor).
    pub const fn new(failures: u32, open_for: Duration) -> Result<Self, CircuitConfigError> {
        if failures == 0 {
            return Err(CircuitConfigError::ZeroFailures);
        }
        if failures > Word::LIMIT {
            return Err(CircuitConfigError::TooManyFailures);
        }
        if open_for.is_zero() {
            return Err(CircuitConfigError::ZeroOpenFor);
        }
        Ok(Self {
            failures,
            open_for,
            growth: None,
            jitter: 0.0,
            successes_to_close: 1,
            half_open_permits: 1,
            half_open_deadline: None,
            seed: None,
        })
    }

    /// Lets the cooldown double each time a half-open probe fails, up to `max`; closing starts it anew.
    ///
    /// `max` also bounds what an overloaded endpoint can ask for: a trip whose last failure carries a `retry_after` lasts
    /// at least that long, but no longer than `max`. Without growth the cooldown is constant and no `retry_after` extends
    /// it.
    ///
    /// # Errors
    ///
    /// [`GrowthBelowOpenFor`](CircuitConfigError::GrowthBelowOpenFor).
    pub fn with_growth(mut self, max: Duration) -> Result<Self, CircuitConfigError> {
        if max < self.open_for {
            return Err(CircuitConfigError::GrowthBelowOpenFor);
        }
        self.growth = Some(max);
        Ok(self)
    }

    /// Draws each cooldown from `value * (1 - fraction)` to `value * (1 + fraction)`, evenly, so that circuits which
    /// opened together do not come back together.
    ///
    /// With growth the upper end is never above its maximum: the draw is even over what remains.
    ///
    /// # Errors
    ///
    /// [`InvalidJitter`](CircuitConfigError::InvalidJitter) when `fraction` is not within 0 to 1, or NaN.
    pub fn with_jitter(mut self, fraction: f64) -> Result<Self, CircuitConfigError> {
        if !(0.0..=1.0).contains(&fraction) {
            return Err(CircuitConfigError::InvalidJitter);
        }
        self.jitter = fraction;
        Ok(self)
    }

    /// Makes the jitter reproducible.
    ///
    /// Circuits with the same seed draw the same values: give each its own.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets how many half-open probes must succeed before the circuit closes.
    ///
    /// Successes stay counted over rounds that end without a decision, so a circuit closes however rare its traffic is; a
    /// failure ends the count.
    ///
    /// # Errors
    ///
    /// [`ZeroSuccesses`](CircuitConfigError::ZeroSuccesses).
    pub fn with_successes_to_close(mut self, successes: u32) -> Result<Self, CircuitConfigError> {
        if successes == 0 {
            return Err(CircuitConfigError::ZeroSuccesses);
        }
        self.successes_to_close = successes;
        Ok(self)
    }

    /// Sets how many half-open probes may be under way at once.
    ///
    /// # Errors
    ///
    /// [`ZeroPermits`](CircuitConfigError::ZeroPermits), [`TooManyPermits`](CircuitConfigError::TooManyPermits) above
    /// 65,535.
    pub fn with_half_open_permits(mut self, permits: u32) -> Result<Self, CircuitConfigError> {
        if permits == 0 {
            return Err(CircuitConfigError::ZeroPermits);
        }
        if permits > Word::LIMIT {
            return Err(CircuitConfigError::TooManyPermits);
        }
        self.half_open_permits = permits;
        Ok(self)
    }

    /// Sets how long a half-open round may take, from its first probe on.
    ///
    /// At the deadline a round without a decision is over: what its probes report later is ignored, and the circuit is
    /// open again for the same cooldown as before. It should be longer than the slowest good answer.
    ///
    /// # Errors
    ///
    /// [`ZeroHalfOpenDeadline`](CircuitConfigError::ZeroHalfOpenDeadline).
    pub fn with_half_open_deadline(mut self, deadline: Duration) -> Result<Self, CircuitConfigError> {
        if deadline.is_zero() {
            return Err(CircuitConfigError::ZeroHalfOpenDeadline);
        }
        self.half_open_deadline = Some(deadline);
        Ok(self)
    }

    /// Returns how many failures in a row open the circuit.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// Returns the cooldown of the first trip, before jitter.
    #[must_use]
    pub const fn open_for(&self) -> Duration {
        self.open_for
    }

    /// Returns the maximum to which the cooldown grows, if it does.
    #[must_use]
    pub const fn growth(&self) -> Option<Duration> {
        self.growth
    }

    /// Returns the fraction by which a cooldown may deviate.
    #[must_use]
    pub const fn jitter(&self) -> f64 {
        self.jitter
    }

    /// Returns the seed of the jitter, if one is set.
    #[must_use]
    pub const fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// Returns how many probes must succeed.
    #[must_use]
    pub const fn successes_to_close(&self) -> u32 {
        self.successes_to_close
    }

    /// Returns how many probes may be under way at once.
    #[must_use]
    pub const fn half_open_permits(&self) -> u32 {
        self.half_open_permits
    }

    /// Returns how long a half-open round may take.
    #[must_use]
    pub fn half_open_deadline(&self) -> Duration {
        self.half_open_deadline.unwrap_or_else(|| self.open_for.max(Self::DEFAULT_HALF_OPEN_DEADLINE))
    }
}

/// Says what is wrong with a [`CircuitConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CircuitConfigError {
    /// A circuit cannot open after no failure at all.
    ZeroFailures,
    /// More than 65,535 failures in a row were asked for.
    TooManyFailures,
    /// The cooldown is zero.
    ZeroOpenFor,
    /// The maximum of the cooldown is below its first value.
    GrowthBelowOpenFor,
    /// The jitter is not within 0 to 1.
    InvalidJitter,
    /// A circuit cannot close after no success at all.
    ZeroSuccesses,
    /// Without a permit a half-open circuit could never close.
    ZeroPermits,
    /// More than 65,535 permits were asked for.
    TooManyPermits,
    /// The deadline of a half-open round is zero.
    ZeroHalfOpenDeadline,
}

impl fmt::Display for CircuitConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ZeroFailures => "the number of failures that open the circuit is zero",
            Self::TooManyFailures => "the number of failures that open the circuit is above 65535",
            Self::ZeroOpenFor => "the time for which the circuit stays open is zero",
            Self::GrowthBelowOpenFor => "the longest time open is shorter than the first",
            Self::InvalidJitter => "the jitter is not a fraction from 0 to 1",
            Self::ZeroSuccesses => "the number of successes that close the circuit is zero",
            Self::ZeroPermits => "the number of half-open permits is zero",
            Self::TooManyPermits => "the number of half-open permits is above 65535",
            Self::ZeroHalfOpenDeadline => "the deadline of a half-open round is zero",
        })
    }
}

impl Error for CircuitConfigError {}
