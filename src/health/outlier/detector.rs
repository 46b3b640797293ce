//! The detector.

use crate::health::{BudgetConfig, BudgetKind};

use super::sample::WHOLE;
use super::{OutlierConfig, OutlierSample};

/// Finds the hosts of a group that fare worse than the others.
///
/// In a group with [enough hosts](OutlierConfig::with_min_hosts) that had enough requests each, a host is an outlier if its
/// success rate lies both the configured number of standard deviations (of the population, unweighted) and the configured
/// gap below the mean of the group. In a smaller group it is one if at least the configured percentage of its requests
/// failed. Hosts with fewer requests than that takes are not judged, and are no part of the mean.
///
/// Success rates are taken in millionths, rounded down. From there on all arithmetic is in whole numbers and every comparison
/// is exact: hosts that fare alike have no deviation, not one by rounding.
///
/// # Complexity
///
/// Linear in the hosts, and `k log k` in the outliers.
///
/// # Examples
///
/// ```
/// use poise::health::{BudgetConfig, OutlierCause, OutlierDetector, OutlierSample};
///
/// let group: Vec<_> = [100, 50, 100, 100, 100].map(|good| OutlierSample::new(good, 100)).into();
/// let caps = BudgetConfig::default().with_at_least_one();
///
/// // The mean is 90, the deviation 20, the threshold 90 - 1.9 * 20 = 52.
/// let outliers = OutlierDetector::default().detect(&group, &caps);
/// assert_eq!(outliers.len(), 1);
/// assert_eq!((outliers[0].index(), outliers[0].cause()), (1, OutlierCause::SuccessRate));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutlierDetector {
    config: OutlierConfig,
}

impl OutlierDetector {
    /// Makes a detector.
    #[must_use]
    pub const fn new(config: OutlierConfig) -> Self {
        Self { config }
    }

    /// Returns the outliers of a group, the worst first, and no more than the caps allow for a pool of that size: its
    /// largest [fraction](BudgetConfig::with_outliers) rounded down, at least one only [if so
    /// chosen](BudgetConfig::with_at_least_one), and never so many that fewer than the [members to
    /// stay](BudgetConfig::with_min_eligible) are left.
    #[must_use]
    pub fn detect(&self, samples: &[OutlierSample], caps: &BudgetConfig) -> Vec<Outlier> {
        let members = u32::try_from(samples.len()).unwrap_or(u32::MAX);
        let mut outliers = self.rank(samples);
        outliers.truncate(caps.cap(BudgetKind::Outlier, members) as usize);
        outliers
    }

    /// Returns all outliers of a group, the worst first: those with the lowest success rate, of equal ones the earlier.
    ///
    /// It is for those who [cap](crate::health::ExclusionBudget) as they go along.
    #[must_use]
    pub fn rank(&self, samples: &[OutlierSample]) -> Vec<Outlier> {
        let mut outliers = self.by_success_rate(samples).unwrap_or_else(|| self.by_percentage(samples));
        // Stable: of equal ones the earlier stays first.
        outliers.sort_by(|one, other| one.sample.cmp_rate(&other.sample));
        outliers
    }

    /// Returns the thresholds.
    #[must_use]
    pub const fn config(&self) -> &OutlierConfig {
        &self.config
    }

    /// Compares the hosts with each other, if there are enough of them.
    fn by_success_rate(&self, samples: &[OutlierSample]) -> Option<Vec<Outlier>> {
        let judged = || busy(samples, self.config.min_requests);
        let group = judged().fold(Group::default(), |group, (_, sample)| group.with(sample.rate()));
        if group.hosts < self.config.min_hosts as u128 {
            return None;
        }
        let outside = judged().filter(|(_, sample)| group.is_outside(sample.rate(), &self.config));
        Some(
            outside
                .map(|(index, sample)| Outlier { index, cause: OutlierCause::SuccessRate, sample })
                .collect(),
        )
    }

    /// Looks at each host for itself.
    fn by_percentage(&self, samples: &[OutlierSample]) -> Vec<Outlier> {
        busy(samples, self.config.failing_requests)
            .filter(|(_, sample)| sample.fails(self.config.failing))
            .map(|(index, sample)| Outlier { index, cause: OutlierCause::FailurePercentage, sample })
            .collect()
    }
}

/// Lists the hosts that had so many requests.
fn busy(samples: &[OutlierSample], requests: u64) -> impl Iterator<Item = (usize, OutlierSample)> + '_ {
    samples.iter().copied().enumerate().filter(move |(_, sample)| sample.requests() >= requests)
}

/// Sums up the success rates of a group.
#[derive(Default)]
struct Group {
    hosts: u128,
    rates: u128,
    squares: u128,
}

impl Group {
    fn with(self, rate: u64) -> Self {
        let rate = u128::from(rate);
        Self { hosts: self.hosts + 1, rates: self.rates + rate, squares: self.squares + rate * rate }
    }

    /// Tells whether a rate lies as far below the mean as it takes.
    ///
    /// With `n` hosts, sum `S` and sum of squares `Q`, the mean is `S/n` and the variance `(nQ - S^2)/n^2`. So `rate < mean - k
    /// sd` is `n rate < S` and `(S - n rate)^2 > k^2 (nQ - S^2)`: whole numbers, and no root. With two million hosts and a
    /// thousand deviations they have 122 bits; what has more than 128 is taken for so much that nobody is beyond it.
    fn is_outside(&self, rate: u64, config: &OutlierConfig) -> bool {
        let Some(below) = self.rates.checked_sub(self.hosts * u128::from(rate)) else { return false };
        let spread = self.hosts * self.squares - self.rates * self.rates;
        let deviations = u128::from(config.deviations);
        let reach = (deviations * deviations).saturating_mul(spread);
        let distance = below.saturating_mul(below).checked_mul(1_000 * 1_000);
        let is_far = distance.is_some_and(|distance| distance > reach);
        is_far && below >= self.hosts * u128::from(config.gap.min(WHOLE))
    }
}

/// Names a host that fares worse than it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outlier {
    index: usize,
    cause: OutlierCause,
    sample: OutlierSample,
}

impl Outlier {
    /// Returns its position among the samples.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// Returns what it stands out by.
    #[must_use]
    pub const fn cause(&self) -> OutlierCause {
        self.cause
    }

    /// Returns the sample that it was judged by.
    #[must_use]
    pub const fn sample(&self) -> OutlierSample {
        self.sample
    }
}

/// Says by what a host stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OutlierCause {
    /// Its success rate is far below that of its peers.
    SuccessRate,
    /// Most of its requests fail, in a group that is too small to compare.
    FailurePercentage,
}
