//! Settings of a pool.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::pool::MOST;
use super::rate::Rate;

/// Sets up a [`ProbePool`](super::ProbePool).
///
/// | setting | range | default |
/// |---|---|---|
/// | [capacity](Self::with_capacity), answers that are kept | 2 to 16 | 16 |
/// | [age limit](Self::with_max_age) of an answer | more than zero | 1 s |
/// | [probes per query](Self::with_probes_per_query) | 0 to 16, fractions too | 3 |
/// | [removals per query](Self::with_removals_per_query) | 0 to 16, fractions too | 1 |
/// | [slack](Self::with_slack), the paper's delta | 0 to 1,000 | 1 |
/// | [quantile](Self::with_quantile) from which a server is hot, the paper's `Q_RIF` | 0 to 1 | 2^-0.25 = 0.84 |
/// | [seed](Self::with_seed) | any | random |
///
/// # Examples
///
/// ```
/// use poise::core::ProbeConfig;
///
/// let config = ProbeConfig::new();
/// assert!((config.reuse(100) - 1.316).abs() < 0.001, "the figure of the paper for a hundred members");
/// assert!(config.reuse(16).is_infinite(), "sixteen fresh answers of sixteen members are all there is to know");
/// # Ok::<(), poise::core::ProbeConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeConfig {
    capacity: usize,
    max_age: Duration,
    pub(super) probes: Rate,
    pub(super) removals: Rate,
    slack: f64,
    quantile: f64,
    seed: Option<u64>,
}

/// Rates above this fill or empty the largest pool at each query.
const HIGHEST_RATE: f64 = MOST as f64;
const MOST_SLACK: f64 = 1_000.0;

impl ProbeConfig {
    /// Makes the default settings.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            capacity: MOST,
            max_age: Duration::from_secs(1),
            probes: Rate::new(3.0),
            removals: Rate::new(1.0),
            slack: 1.0,
            // 2^-0.25
            quantile: 0.840_896_415_253_714_5,
            seed: None,
        }
    }

    /// Sets how many answers are kept.
    ///
    /// # Errors
    ///
    /// [`ProbeConfigError::Capacity`] when that is not 2 to 16.
    pub fn with_capacity(self, capacity: usize) -> Result<Self, ProbeConfigError> {
        if !(2..=MOST).contains(&capacity) {
            return Err(ProbeConfigError::Capacity);
        }
        Ok(Self { capacity, ..self })
    }

    /// Sets for how long an answer is believed.
    ///
    /// # Errors
    ///
    /// [`ProbeConfigError::ZeroAge`] for zero.
    pub fn with_max_age(self, max_age: Duration) -> Result<Self, ProbeConfigError> {
        if max_age.is_zero() { Err(ProbeConfigError::ZeroAge) } else { Ok(Self { max_age, ..self }) }
    }

    /// Sets how many members are probed for each query. A half is a probe for every other query.
    ///
    /// # Errors
    ///
    /// [`ProbeConfigError::Rate`] when it is not a number from 0 to 16.
    pub fn with_probes_per_query(self, probes: f64) -> Result<Self, ProbeConfigError> {
        Ok(Self { probes: rate(probes)?, ..self })
    }

    /// Sets how many answers are thrown away for each query, the oldest and the worst one in turn.
    ///
    /// # Errors
    ///
    /// [`ProbeConfigError::Rate`] when it is not a number from 0 to 16.
    pub fn with_removals_per_query(self, removals: f64) -> Result<Self, ProbeConfigError> {
        Ok(Self { removals: rate(removals)?, ..self })
    }

    /// Sets by what part more answers come in than go out, which lets the pool fill up.
    ///
    /// # Errors
    ///
    /// [`ProbeConfigError::Slack`] when it is not a number from 0 to 1,000.
    pub fn with_slack(self, slack: f64) -> Result<Self, ProbeConfigError> {
        if !(0.0..=MOST_SLACK).contains(&slack) {
            return Err(ProbeConfigError::Slack);
        }
        Ok(Self { slack, ..self })
    }

    /// Sets from which quantile of the requests in flight on a server is hot. With 0 all are, and only requests in flight
    /// count; with 1 none is, and only latency does.
    ///
    /// # Errors
    ///
    /// [`ProbeConfigError::Quantile`] when it is not a number from 0 to 1.
    pub fn with_quantile(self, quantile: f64) -> Result<Self, ProbeConfigError> {
        if !(0.0..=1.0).contains(&quantile) {
            return Err(ProbeConfigError::Quantile);
        }
        Ok(Self { quantile, ..self })
    }

    /// Makes what is decided by chance reproducible, in the order in which it is decided.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }

    /// Returns how many answers are kept.
    #[must_use]
    pub const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns for how long an answer is believed.
    #[must_use]
    pub const fn max_age(&self) -> Duration {
        self.max_age
    }

    /// Returns how many probes a query is worth.
    #[must_use]
    pub fn probes_per_query(&self) -> f64 {
        self.probes.per_query()
    }

    /// Returns how many answers a query throws away.
    #[must_use]
    pub fn removals_per_query(&self) -> f64 {
        self.removals.per_query()
    }

    /// Returns by what part more answers come in than go out.
    #[must_use]
    pub const fn slack(&self) -> f64 {
        self.slack
    }

    /// Returns the quantile from which on a server is hot.
    #[must_use]
    pub const fn quantile(&self) -> f64 {
        self.quantile
    }

    /// Returns the seed, if one is set.
    #[must_use]
    pub const fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// Returns for how many queries an answer is used among this many members:
    /// `max(1, (1 + slack) / ((1 - capacity / members) * probes - removals))`.
    ///
    /// When the denominator is not positive, probes replace answers of the same members or are too few, and no finite
    /// number of uses would keep the pool filled. The result is infinite then: answers end by age, removal or a newer one.
    #[must_use]
    pub fn reuse(&self, members: usize) -> f64 {
        let fresh = 1.0 - self.capacity as f64 / members.max(1) as f64;
        let gain = fresh * self.probes_per_query() - self.removals_per_query();
        if gain > 0.0 { ((1.0 + self.slack) / gain).max(1.0) } else { f64::INFINITY }
    }
}

fn rate(per_query: f64) -> Result<Rate, ProbeConfigError> {
    if (0.0..=HIGHEST_RATE).contains(&per_query) {
        Ok(Rate::new(per_query))
    } else {
        Err(ProbeConfigError::Rate)
    }
}

impl Default for ProbeConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// Says what is wrong with a [`ProbeConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProbeConfigError {
    /// The capacity is not 2 to 16.
    Capacity,
    /// The age limit is zero.
    ZeroAge,
    /// A rate per query is not a number from 0 to 16.
    Rate,
    /// The slack is not a number from 0 to 1,000.
    Slack,
    /// The quantile is not a number from 0 to 1.
    Quantile,
}

impl fmt::Display for ProbeConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Capacity => "a pool of probes keeps 2 to 16 answers",
            Self::ZeroAge => "the age limit of probes must be more than zero",
            Self::Rate => "a rate per query must be a number from 0 to 16",
            Self::Slack => "the slack of a pool of probes must be a number from 0 to 1000",
            Self::Quantile => "a quantile must be a number from 0 to 1",
        })
    }
}

impl Error for ProbeConfigError {}
