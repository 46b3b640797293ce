//! When a host is an outlier.

use std::error::Error;
use std::fmt;

use super::sample::WHOLE;

/// Holds the thresholds of an [`OutlierDetector`](crate::health::OutlierDetector).
///
/// | parameter | range | default |
/// |---|---|---|
/// | [deviations](Self::with_deviations) below the mean, in thousandths exact | 0 to 1,000 | 1.9 |
/// | [gap](Self::with_gap) below the mean, in points of 100 | 0 to 100 | 10 |
/// | [hosts](Self::with_min_hosts) that are compared | at least 2 | 5 |
/// | [requests](Self::with_min_requests) of each of them | at least 1 | 100 |
/// | [failure percentage](Self::with_failure_percentage) where there are fewer hosts | above 0 to 100 | 85 |
/// | requests of a host for that | at least 1 | 50 |
///
/// The defaults are Envoy's and those of gRPC's proposal A50, but for the gap: the deviations alone would flag about three
/// of a hundred hosts that are equally good, again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutlierConfig {
    /// In thousandths.
    pub(super) deviations: u64,
    /// In millionths.
    pub(super) gap: u64,
    pub(super) min_hosts: usize,
    pub(super) min_requests: u64,
    /// In millionths.
    pub(super) failing: u64,
    pub(super) failing_requests: u64,
}

impl Default for OutlierConfig {
    fn default() -> Self {
        Self {
            deviations: 1_900,
            gap: WHOLE / 10,
            min_hosts: 5,
            min_requests: 100,
            failing: WHOLE / 100 * 85,
            failing_requests: 50,
        }
    }
}

impl OutlierConfig {
    /// Sets how many standard deviations of the group a success rate must lie below its mean.
    ///
    /// One of `n` hosts is never more than `sqrt(n - 1)` deviations from the mean, so a group of four or fewer cannot have an
    /// outlier by 1.9.
    ///
    /// # Errors
    ///
    /// [`OutlierConfigError::InvalidDeviations`] when it is not within 0 to 1,000, or NaN.
    pub fn with_deviations(self, deviations: f64) -> Result<Self, OutlierConfigError> {
        let deviations = scaled(deviations, 1_000.0, 1_000.0).ok_or(OutlierConfigError::InvalidDeviations)?;
        Ok(Self { deviations, ..self })
    }

    /// Sets how many points of a hundred a success rate must lie below the mean besides; 0 asks for none.
    ///
    /// # Errors
    ///
    /// [`OutlierConfigError::InvalidGap`] when it is not within 0 to 100, or NaN.
    pub fn with_gap(self, points: f64) -> Result<Self, OutlierConfigError> {
        let gap = scaled(points, 100.0, 10_000.0).ok_or(OutlierConfigError::InvalidGap)?;
        Ok(Self { gap, ..self })
    }

    /// Sets how many hosts with enough requests it takes to compare them.
    ///
    /// # Errors
    ///
    /// [`OutlierConfigError::TooFewHosts`] below 2.
    pub const fn with_min_hosts(self, hosts: usize) -> Result<Self, OutlierConfigError> {
        if hosts < 2 {
            return Err(OutlierConfigError::TooFewHosts);
        }
        Ok(Self { min_hosts: hosts, ..self })
    }

    /// Sets how many requests a host must have had to be compared.
    ///
    /// # Errors
    ///
    /// [`OutlierConfigError::ZeroRequests`].
    pub const fn with_min_requests(self, requests: u64) -> Result<Self, OutlierConfigError> {
        if requests == 0 {
            return Err(OutlierConfigError::ZeroRequests);
        }
        Ok(Self { min_requests: requests, ..self })
    }

    /// Sets from which percentage of failed requests, over how many, a host is an outlier where too few can be compared.
    ///
    /// # Errors
    ///
    /// [`OutlierConfigError::InvalidPercentage`] when `percent` is not above 0 and at most 100;
    /// [`ZeroRequests`](OutlierConfigError::ZeroRequests).
    pub fn with_failure_percentage(self, percent: f64, requests: u64) -> Result<Self, OutlierConfigError> {
        let failing = scaled(percent, 100.0, 10_000.0).filter(|failing| *failing > 0);
        let failing = failing.ok_or(OutlierConfigError::InvalidPercentage)?;
        if requests == 0 {
            return Err(OutlierConfigError::ZeroRequests);
        }
        Ok(Self { failing, failing_requests: requests, ..self })
    }
}

/// Turns a number from 0 to `most` into so many parts of it, rounded to the nearest.
fn scaled(number: f64, most: f64, parts: f64) -> Option<u64> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within 0 and a million")]
    (0.0..=most).contains(&number).then(|| (number * parts).round() as u64)
}

/// Says what is wrong with an [`OutlierConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutlierConfigError {
    /// The deviations are not within 0 to 1,000.
    InvalidDeviations,
    /// The gap is not within 0 to 100 points.
    InvalidGap,
    /// Fewer than two hosts cannot be compared.
    TooFewHosts,
    /// A host without requests cannot be judged.
    ZeroRequests,
    /// The failure percentage is not above 0 and at most 100.
    InvalidPercentage,
}

impl fmt::Display for OutlierConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::InvalidDeviations => "the deviations are not within 0 to 1000",
            Self::InvalidGap => "the gap is not within 0 to 100 points",
            Self::TooFewHosts => "the number of hosts to compare is below 2",
            Self::ZeroRequests => "the number of requests to judge by is zero",
            Self::InvalidPercentage => "the failure percentage is not above 0 and at most 100",
        })
    }
}

impl Error for OutlierConfigError {}
