//! When levels spill and when they panic.

use std::error::Error;
use std::fmt;

/// Says what to do when too few members of a level are healthy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PanicMode {
    /// Routes to every member of the level that is neither draining nor unavailable, sick or not.
    #[default]
    Route,
    /// Refuses with [`PickError::PanicRejected`](crate::core::PickError::PanicRejected).
    FailClosed,
}

/// Configures [`PriorityFailover`](super::PriorityFailover).
///
/// | setting | range | default |
/// |---|---|---|
/// | overprovisioning | 100 % and more | 140 % |
/// | panic threshold | 0 to 100 % | 50 % |
/// | panic mode | | [`PanicMode::Route`] |
///
/// ```
/// use poise::core::policy::PriorityConfig;
///
/// let config = PriorityConfig::default().with_overprovisioning_percent(120)?.with_panic_threshold_percent(0)?;
/// assert!(config.with_panic_threshold_percent(101).is_err());
/// # Ok::<(), poise::core::policy::PriorityConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityConfig {
    overprovisioning: u32,
    panic_threshold: u32,
    panic_mode: PanicMode,
}

impl Default for PriorityConfig {
    fn default() -> Self {
        Self { overprovisioning: 140, panic_threshold: 50, panic_mode: PanicMode::Route }
    }
}

impl PriorityConfig {
    /// Sets for how much more than its share of members a level can do the work of, in percent. With 140, a level spills to
    /// the next one when less than 100/140 of it is healthy.
    ///
    /// # Errors
    ///
    /// [`PriorityConfigError::Overprovisioning`] below 100.
    pub fn with_overprovisioning_percent(self, percent: u32) -> Result<Self, PriorityConfigError> {
        if percent < 100 {
            return Err(PriorityConfigError::Overprovisioning { percent });
        }
        Ok(Self { overprovisioning: percent, ..self })
    }

    /// Sets the part of a level that must be healthy, in percent, for it not to panic. Zero switches panic off.
    ///
    /// # Errors
    ///
    /// [`PriorityConfigError::PanicThreshold`] above 100.
    pub fn with_panic_threshold_percent(self, percent: u32) -> Result<Self, PriorityConfigError> {
        if percent > 100 {
            return Err(PriorityConfigError::PanicThreshold { percent });
        }
        Ok(Self { panic_threshold: percent, ..self })
    }

    /// Sets what a level in panic does.
    #[must_use]
    pub fn with_panic_mode(self, panic_mode: PanicMode) -> Self {
        Self { panic_mode, ..self }
    }

    pub(super) fn overprovisioning(&self) -> u32 {
        self.overprovisioning
    }

    pub(super) fn panic_threshold(&self) -> u32 {
        self.panic_threshold
    }

    pub(super) fn panic_mode(&self) -> PanicMode {
        self.panic_mode
    }
}

/// Reports a setting out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PriorityConfigError {
    /// Overprovisioning below 100 %.
    Overprovisioning {
        /// What was asked for.
        percent: u32,
    },
    /// A panic threshold above 100 %.
    PanicThreshold {
        /// What was asked for.
        percent: u32,
    },
}

impl fmt::Display for PriorityConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overprovisioning { percent } => write!(f, "overprovisioning of {percent} % is below 100 %"),
            Self::PanicThreshold { percent } => write!(f, "a panic threshold of {percent} % is above 100 %"),
        }
    }
}

impl Error for PriorityConfigError {}
