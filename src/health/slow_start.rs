//! Members that have just started, or come back, get their share little by little.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::core::delegate::delegate_candidate;
use crate::core::{Candidate, Now};
use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// Says how fast a member gets its whole share.
///
/// `t` after its start a member gets `max(minimum, (t / window)^(1 / aggression))` of its weight, and all of it from the
/// end of the window on (Envoy's slow start). `t` counts from a millisecond.
///
/// | parameter | unit, range | default |
/// |---|---|---|
/// | window | more than zero | given |
/// | [aggression](Self::with_aggression): above 1 the share grows fast at first, below 1 slowly | above zero, finite | 1: in a line |
/// | [minimum](Self::with_minimum) | fraction, above 0 to 1 | 0.1 |
///
/// # Examples
///
/// ```
/// use poise::health::SlowStartConfig;
/// use std::time::Duration;
///
/// let config = SlowStartConfig::new(Duration::from_secs(10))?;
/// assert_eq!(config.part_after(Duration::ZERO), 0.1);
/// assert_eq!(config.part_after(Duration::from_secs(5)), 0.5);
/// assert_eq!(config.part_after(Duration::from_secs(10)), 1.0);
/// # Ok::<(), poise::health::SlowStartConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlowStartConfig {
    window: Duration,
    aggression: f64,
    minimum: f64,
}

impl SlowStartConfig {
    const SHORTEST: Duration = Duration::from_millis(1);

    /// Lets the share grow over `window`.
    ///
    /// # Errors
    ///
    /// [`ZeroWindow`](SlowStartConfigError::ZeroWindow).
    pub const fn new(window: Duration) -> Result<Self, SlowStartConfigError> {
        if window.is_zero() {
            return Err(SlowStartConfigError::ZeroWindow);
        }
        Ok(Self { window, aggression: 1.0, minimum: 0.1 })
    }

    /// Sets how fast the share grows at first.
    ///
    /// # Errors
    ///
    /// [`InvalidAggression`](SlowStartConfigError::InvalidAggression) when it is not above zero and finite.
    pub fn with_aggression(self, aggression: f64) -> Result<Self, SlowStartConfigError> {
        if aggression > 0.0 && aggression.is_finite() {
            Ok(Self { aggression, ..self })
        } else {
            Err(SlowStartConfigError::InvalidAggression)
        }
    }

    /// Sets the share that a member gets from the start.
    ///
    /// # Errors
    ///
    /// [`InvalidMinimum`](SlowStartConfigError::InvalidMinimum) when it is not above 0 and at most 1.
    pub fn with_minimum(self, minimum: f64) -> Result<Self, SlowStartConfigError> {
        if minimum > 0.0 && minimum <= 1.0 {
            Ok(Self { minimum, ..self })
        } else {
            Err(SlowStartConfigError::InvalidMinimum)
        }
    }

    /// Returns the time after which a member has its whole share.
    #[must_use]
    pub const fn window(&self) -> Duration {
        self.window
    }

    /// Returns the part of its weight, in `(0, 1]`, that a member gets this long after its start.
    #[must_use]
    pub fn part_after(&self, elapsed: Duration) -> f32 {
        if elapsed >= self.window {
            return 1.0;
        }
        let progress = elapsed.max(Self::SHORTEST).as_secs_f64() / self.window.as_secs_f64();
        let part = progress.powf(self.aggression.recip()).clamp(self.minimum, 1.0);
        #[expect(clippy::cast_possible_truncation, reason = "a part of one: only digits are lost")]
        let part = part as f32;
        part.max(f32::MIN_POSITIVE)
    }
}

/// Says what is wrong with a [`SlowStartConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SlowStartConfigError {
    /// The window is zero.
    ZeroWindow,
    /// The aggression is not above zero, or not finite.
    InvalidAggression,
    /// The minimum is not above 0 and at most 1.
    InvalidMinimum,
}

impl fmt::Display for SlowStartConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ZeroWindow => "the window of a slow start is zero",
            Self::InvalidAggression => "the aggression of a slow start is not a finite number above zero",
            Self::InvalidMinimum => "the minimum of a slow start is not a fraction above 0 and up to 1",
        })
    }
}

impl Error for SlowStartConfigError {}

/// Lets a candidate ramp up when it becomes eligible: for the first time, and each time that it comes back.
///
/// It is a candidate that is in everything the one that it wraps, but for its [`ramp`](Candidate::ramp). Every policy gives it
/// the part of its weight that it has reached, from tables that stay as they are: policies that go by chance or in turn give
/// it that part of its picks, those that go by a key that part of its keys, each of which comes to it once and stays, and
/// those that go by load take its load for that much greater.
///
/// Whoever keeps the pool calls [`observe`](Self::observe) when the candidate may have changed, as after each
/// notification of a health signal. As long as nobody has seen it eligible it does not ramp.
///
/// # Complexity
///
/// A ramp costs one atomic load beside that of the candidate, and a power while it lasts.
///
/// # Examples
///
/// ```
/// use poise::core::{Backend, Candidate, Now};
/// use poise::health::{ActiveHealth, ActiveHealthConfig, HealthChecked, SlowStart, SlowStartConfig};
/// use std::time::{Duration, Instant};
///
/// let checked = HealthChecked::new(Backend::new("a"), ActiveHealth::new(ActiveHealthConfig::default()));
/// let slow = SlowStart::new(checked, SlowStartConfig::new(Duration::from_secs(10))?);
/// let start = Instant::now();
/// let at = |seconds| Now::at(start + Duration::from_secs(seconds));
///
/// slow.observe(&at(0));
/// assert_eq!(slow.ramp(&at(4)), 0.4);
///
/// slow.candidate().health().force_unhealthy(&at(20));
/// slow.observe(&at(20));
/// slow.candidate().health().lift(&at(30));
/// slow.observe(&at(30));
/// assert_eq!(slow.ramp(&at(32)), 0.2, "it is back");
/// # Ok::<(), poise::health::SlowStartConfigError>(())
/// ```
#[derive(Debug)]
pub struct SlowStart<C> {
    candidate: C,
    ramp: Ramp,
}

impl<C> SlowStart<C> {
    /// Wraps a candidate.
    pub fn new(candidate: C, config: SlowStartConfig) -> Self {
        Self { candidate, ramp: Ramp::new(config) }
    }

    /// Returns the candidate.
    pub const fn candidate(&self) -> &C {
        &self.candidate
    }

    /// Returns the configuration.
    pub const fn config(&self) -> &SlowStartConfig {
        &self.ramp.config
    }

    /// Unwraps the candidate.
    pub fn into_inner(self) -> C {
        self.candidate
    }

    /// Starts the ramp now, whether or not the candidate is eligible.
    pub fn restart(&self, now: &Now) {
        self.ramp.restart(now);
    }
}

impl<C: Candidate> SlowStart<C> {
    /// Looks at the candidate, and starts the ramp if it was not eligible the last time and is now.
    pub fn observe(&self, now: &Now) {
        self.ramp.observe(self.candidate.is_eligible(now), now);
    }
}

impl<C: Candidate> Candidate for SlowStart<C> {
    type Id = C::Id;
    type Data = C::Data;
    type Load = C::Load;

    delegate_candidate!(self => self.candidate, except: ramp);

    fn ramp(&self, now: &Now) -> f32 {
        // A product of two parts may be too small to be told from nothing.
        (self.candidate.ramp(now) * self.ramp.part(now)).max(f32::MIN_POSITIVE)
    }
}

/// Remembers when one member became eligible, for whoever keeps it beside the member.
#[derive(Debug)]
pub(crate) struct Ramp {
    config: SlowStartConfig,
    is_eligible: AtomicBool,
    /// When it was last seen to become eligible, as [`Now::nanos`].
    start: AtomicU64,
}

impl Ramp {
    /// Stands for no start: 292 years from the first instant that this process asked about.
    const NEVER: u64 = 1 << 63;

    pub(crate) fn new(config: SlowStartConfig) -> Self {
        Self { config, is_eligible: AtomicBool::new(false), start: AtomicU64::new(Self::NEVER) }
    }

    fn restart(&self, now: &Now) {
        // Relaxed, here and below: one number, from which nothing else follows.
        self.start.store(now.nanos(), Ordering::Relaxed);
    }

    /// Takes note of whether the member is eligible, and starts the ramp if it was not the last time and is now.
    pub(crate) fn observe(&self, is_eligible: bool, now: &Now) {
        if is_eligible == self.is_eligible.load(Ordering::Relaxed) {
            return;
        }
        // Of two who see it return, one starts the ramp.
        if !self.is_eligible.swap(is_eligible, Ordering::Relaxed) && is_eligible {
            self.restart(now);
        }
    }

    /// Returns the part of its weight that the member gets now.
    pub(crate) fn part(&self, now: &Now) -> f32 {
        let start = self.start.load(Ordering::Relaxed);
        if start == Self::NEVER {
            return 1.0;
        }
        // The difference wraps as the numbers do; a clock that went back has not moved yet.
        let elapsed = u64::try_from(now.nanos().wrapping_sub(start).cast_signed()).unwrap_or(0);
        self.config.part_after(Duration::from_nanos(elapsed))
    }
}
