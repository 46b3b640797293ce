//! What became of one host's requests.

use std::cmp::Ordering;

use crate::health::OutcomeCounts;

/// A success rate of one.
pub(super) const WHOLE: u64 = 1_000_000;

/// Counts the requests of one host within the time that is judged, and how many of them succeeded.
///
/// Failures and overloads count as not succeeded; cancelled attempts should not be counted at all.
///
/// ```
/// use poise::health::{OutcomeCounts, OutlierSample};
///
/// let sample = OutlierSample::from(OutcomeCounts::new(90, 8, 2));
/// assert_eq!(sample, OutlierSample::new(90, 100));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OutlierSample {
    successes: u64,
    requests: u64,
}

impl OutlierSample {
    /// Makes a sample; no more than all requests can have succeeded.
    #[must_use]
    pub const fn new(successes: u64, requests: u64) -> Self {
        Self { successes: if successes < requests { successes } else { requests }, requests }
    }

    /// Returns how many requests succeeded.
    #[must_use]
    pub const fn successes(&self) -> u64 {
        self.successes
    }

    /// Returns how many requests there were.
    #[must_use]
    pub const fn requests(&self) -> u64 {
        self.requests
    }

    /// Returns how many requests did not succeed.
    #[must_use]
    pub const fn failures(&self) -> u64 {
        self.requests - self.successes
    }

    /// Returns the success rate in millionths, rounded down; equal rates give equal numbers. No request is no failure.
    pub(super) fn rate(&self) -> u64 {
        let scaled = u128::from(self.successes) * u128::from(WHOLE);
        scaled.checked_div(self.requests.into()).and_then(|rate| rate.try_into().ok()).unwrap_or(WHOLE)
    }

    /// Tells whether at least `share` millionths of the requests failed.
    pub(super) fn fails(&self, share: u64) -> bool {
        u128::from(self.failures()) * u128::from(WHOLE) >= u128::from(share) * u128::from(self.requests)
    }

    /// Compares two success rates exactly; both had requests.
    pub(super) fn cmp_rate(&self, other: &Self) -> Ordering {
        let ours = u128::from(self.successes) * u128::from(other.requests);
        ours.cmp(&(u128::from(other.successes) * u128::from(self.requests)))
    }
}

impl From<OutcomeCounts> for OutlierSample {
    fn from(counts: OutcomeCounts) -> Self {
        Self::new(counts.successes(), counts.total())
    }
}
