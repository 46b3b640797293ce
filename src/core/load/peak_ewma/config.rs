//! Settings of the tracker.

use std::error::Error;
use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use super::PeakEwma;
use crate::core::Now;

/// Sets up a [`PeakEwma`].
///
/// | setting | default | meaning |
/// |---|---|---|
/// | [`with_decay`](Self::with_decay) | 10 s | the time in which the past loses all but 1/e of its say |
/// | [`with_initial_estimate`](Self::with_initial_estimate) | 30 ms | the latency to assume before anything is known |
/// | [`with_limit`](Self::with_limit) | none | how many attempts may be in flight |
///
/// The settings are a plain value: a factory keeps one and [builds](Self::build) from it for each member.
///
/// # Examples
///
/// ```
/// use poise::core::{Now, PeakEwma};
/// use std::time::Duration;
///
/// let config = PeakEwma::builder()
///     .with_decay(Duration::from_secs(5))?
///     .with_initial_estimate(Duration::from_millis(2))?
///     .with_limit(100)?;
/// let (west, east) = (config.build(), config.build());
/// assert_eq!(west.limit(), east.limit());
/// # Ok::<(), poise::core::PeakEwmaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "settings do nothing before they are built"]
pub struct PeakEwmaConfig {
    decay: Duration,
    initial_estimate: Duration,
    limit: Option<NonZeroU32>,
}

impl PeakEwmaConfig {
    /// The shortest decay.
    ///
    /// Estimates are dated to about 16 microseconds, which is fine beside a millisecond and too coarse for less.
    pub const MIN_DECAY: Duration = Duration::from_millis(1);

    /// Makes the default settings.
    pub const fn new() -> Self {
        Self { decay: Duration::from_secs(10), initial_estimate: Duration::from_millis(30), limit: None }
    }

    /// Sets the decay, tau: an estimate that is not renewed falls to 1/e in this time, and the penalty for failures halves.
    ///
    /// It also sets when a member that was slow, and that nobody tries, is worth a try again. With a latency of `c` where that
    /// of the others is `o`, that is `tau * ln(c / o)` after its last answer: with the default 32 seconds for answers that took
    /// half a second where `o` is 20 ms. With many answers a second, a tau of a second or two is enough. A member that
    /// *failed* is tried after a pause of its own, which is at most tau.
    ///
    /// # Errors
    ///
    /// [`PeakEwmaError::DecayTooShort`] below [`MIN_DECAY`](Self::MIN_DECAY).
    pub const fn with_decay(mut self, decay: Duration) -> Result<Self, PeakEwmaError> {
        if decay.as_nanos() < Self::MIN_DECAY.as_nanos() {
            return Err(PeakEwmaError::DecayTooShort);
        }
        self.decay = decay;
        Ok(self)
    }

    /// Sets the latency from which a tracker without peers starts.
    ///
    /// # Errors
    ///
    /// [`PeakEwmaError::ZeroInitialEstimate`] for zero, under which a newcomer would get all traffic.
    pub const fn with_initial_estimate(mut self, estimate: Duration) -> Result<Self, PeakEwmaError> {
        if estimate.is_zero() {
            return Err(PeakEwmaError::ZeroInitialEstimate);
        }
        self.initial_estimate = estimate;
        Ok(self)
    }

    /// Admits at most `limit` attempts at a time.
    ///
    /// # Errors
    ///
    /// [`PeakEwmaError::ZeroLimit`] for `0`.
    pub const fn with_limit(mut self, limit: u32) -> Result<Self, PeakEwmaError> {
        self.limit = NonZeroU32::new(limit);
        if self.limit.is_none() { Err(PeakEwmaError::ZeroLimit) } else { Ok(self) }
    }

    /// Builds a tracker whose initial estimate is dated by the system's clock.
    #[must_use]
    pub fn build(&self) -> PeakEwma {
        self.build_at(&Now::lazy())
    }

    /// Builds a tracker whose initial estimate is dated `now`, for callers that have a clock of their own.
    #[must_use]
    pub fn build_at(&self, now: &Now) -> PeakEwma {
        PeakEwma::from_config(self, now)
    }

    pub(super) fn decay(&self) -> Duration {
        self.decay
    }

    pub(super) fn initial_estimate(&self) -> Duration {
        self.initial_estimate
    }

    pub(super) fn limit(&self) -> Option<NonZeroU32> {
        self.limit
    }
}

impl Default for PeakEwmaConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// Says what is wrong with the settings of a [`PeakEwma`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeakEwmaError {
    /// The decay is zero, or shorter than [`PeakEwmaConfig::MIN_DECAY`].
    DecayTooShort,
    /// The initial estimate is zero.
    ZeroInitialEstimate,
    /// The limit is zero.
    ZeroLimit,
}

impl fmt::Display for PeakEwmaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DecayTooShort => "the decay must be at least a millisecond",
            Self::ZeroInitialEstimate => "the initial estimate must be more than zero",
            Self::ZeroLimit => "the limit of concurrent attempts must be at least 1",
        })
    }
}

impl Error for PeakEwmaError {}
