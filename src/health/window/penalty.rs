//! A window as a number.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::core::{AtCapacity, LoadMetric, LoadTracker, Now, Outcome};

use super::{OutcomeWindow, Penalized};

/// Holds what a [`PenaltyScore`] charges.
///
/// | parameter | range | default |
/// |---|---|---|
/// | [failure](Self::with_failure) | finite, at least 0 | 5 |
/// | [overload](Self::with_overload) | finite, at least 0 | 10 |
/// | [fewest samples](Self::with_min_samples) on which anything is charged | any | 20 |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PenaltyConfig {
    failure: f64,
    overload: f64,
    min_samples: u32,
}

impl Default for PenaltyConfig {
    fn default() -> Self {
        Self { failure: 5.0, overload: 10.0, min_samples: 20 }
    }
}

impl PenaltyConfig {
    /// Sets what an endpoint is charged that does nothing but fail.
    ///
    /// # Errors
    ///
    /// [`PenaltyConfigError::InvalidCharge`] when it is negative, infinite or not a number.
    pub fn with_failure(self, charge: f64) -> Result<Self, PenaltyConfigError> {
        Ok(Self { failure: checked(charge)?, ..self })
    }

    /// Sets what an endpoint is charged that refuses everything because of overload.
    ///
    /// # Errors
    ///
    /// As [`with_failure`](Self::with_failure).
    pub fn with_overload(self, charge: f64) -> Result<Self, PenaltyConfigError> {
        Ok(Self { overload: checked(charge)?, ..self })
    }

    /// Sets how many outcomes it takes before anything is charged, so that the first ones of a newcomer decide nothing.
    #[must_use]
    pub const fn with_min_samples(self, samples: u32) -> Self {
        Self { min_samples: samples, ..self }
    }
}

fn checked(charge: f64) -> Result<f64, PenaltyConfigError> {
    if charge.is_finite() && charge >= 0.0 { Ok(charge) } else { Err(PenaltyConfigError::InvalidCharge) }
}

/// Says what is wrong with a [`PenaltyConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PenaltyConfigError {
    /// A charge is negative, infinite or not a number.
    InvalidCharge,
}

impl fmt::Display for PenaltyConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a charge is not a finite number from 0 on")
    }
}

impl Error for PenaltyConfigError {}

/// Measures how badly an endpoint fared of late: the share of its failures and of its overloads, each times its charge.
///
/// It is zero without errors, and while the window has fewer outcomes than are [asked
/// for](PenaltyConfig::with_min_samples).
///
/// As a load by itself it makes policies prefer the endpoints that err least; as a tracker it records what it is told into
/// its window. [`over`](Self::over) multiplies it with another load, which is what most want.
///
/// # Examples
///
/// ```
/// use poise::core::{Now, Outcome};
/// use poise::health::{OutcomeWindow, PenaltyConfig, PenaltyScore};
/// use std::sync::Arc;
///
/// let window = Arc::new(OutcomeWindow::default());
/// let score = PenaltyScore::new(Arc::clone(&window), PenaltyConfig::default().with_min_samples(4));
/// let now = Now::lazy();
/// for outcome in [Outcome::Success, Outcome::Success, Outcome::Failure] {
///     window.record(outcome, &now);
/// }
/// assert_eq!(score.score(&now), 0.0, "three outcomes are too few");
/// window.record(Outcome::OVERLOAD, &now);
/// assert_eq!(score.score(&now), (5.0 + 10.0) / 4.0);
/// ```
#[derive(Clone, Debug)]
pub struct PenaltyScore {
    window: Arc<OutcomeWindow>,
    config: PenaltyConfig,
}

impl PenaltyScore {
    /// Charges what `window` holds.
    #[must_use]
    pub const fn new(window: Arc<OutcomeWindow>, config: PenaltyConfig) -> Self {
        Self { window, config }
    }

    /// Multiplies the score with a load.
    pub const fn over<L>(self, load: L) -> Penalized<L> {
        Penalized::new(self, load)
    }

    /// Returns the window, which others may look at as well.
    #[must_use]
    pub const fn window(&self) -> &Arc<OutcomeWindow> {
        &self.window
    }

    /// Returns the score at `now`: at least zero, at most the larger charge.
    #[must_use]
    pub fn score(&self, now: &Now) -> f64 {
        let counts = self.window.counts(now);
        let total = counts.total();
        if total == 0 || total < u64::from(self.config.min_samples) {
            return 0.0;
        }
        let failures = self.config.failure * (counts.failures() as f64 / total as f64);
        failures + self.config.overload * (counts.overloads() as f64 / total as f64)
    }
}

impl LoadMetric for PenaltyScore {
    fn measure(&self, now: &Now) -> f64 {
        self.score(now)
    }
}

/// Records outcomes, and admits everything.
impl LoadTracker for PenaltyScore {
    type Ticket = ();

    fn start(&self, _: &Now) -> Result<(), AtCapacity> {
        Ok(())
    }

    fn responded(&self, (): (), outcome: Outcome, now: &Now) {
        self.window.record(outcome, now);
    }

    fn release(&self, (): (), _: &Now) {}

    fn has_limit(&self) -> bool {
        false
    }
}
