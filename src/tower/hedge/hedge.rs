//! When a request that takes long is sent a second time.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// Configures when a balancer sends a request that takes long to a second endpoint, without giving up on the first.
///
/// The first success is the answer, and the other attempt is cancelled, which counts as such and not as a failure. A failure
/// waits for the other attempt. A request is hedged at most once, to a member that it has not been sent to; with
/// nobody else there is no hedge. Hedges and retries draw on one [`RetryBudget`](crate::tower::RetryBudget), a token each, and count
/// together for the number of attempts of a [`Retry`](crate::tower::Retry). To set the budget without retries, give
/// `Retry::attempts(1)?.with_budget(..)`.
///
/// The time runs from when the request was handed to its endpoint. It is a fixed one ([`Hedge::after`]), or a quantile
/// of the time that requests took lately ([`Hedge::after_quantile`]): over the last half minute, to an eighth too long at
/// most, so that fewer are hedged than the quantile leaves out where all take about as long. Attempts that were cancelled, or
/// failed, after more than that time count with the time that they had taken, so that hedges do not make the slow ones vanish
/// from the quantile. A [`HedgeDelay`](super::HedgeDelay) is this decision alone.
///
/// Where more requests are slow than the quantile leaves out, it is the time of the slow ones, and hedges come late: then a
/// lower quantile or a fixed delay serves better.
///
/// | setting | range | default |
/// |---|---|---|
/// | quantile | above 0, below 1 | 0.95 |
/// | samples that it takes | 1 and more | 100 |
/// | least delay of a quantile | | 1 ms |
///
/// Source: J. Dean and L. A. Barroso, "The tail at scale", Communications of the ACM 56(2), 2013.
///
/// ```
/// use poise::tower::Hedge;
/// use std::time::Duration;
///
/// let slowest_of_a_hundred = Hedge::after_quantile(0.99)?.with_min_samples(1_000);
/// let fixed = Hedge::after(Duration::from_millis(10));
/// assert!(Hedge::after_quantile(1.0).is_err());
/// # Ok::<(), poise::tower::HedgeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hedge {
    pub(super) when: When,
}

/// What the delay is taken from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum When {
    After(Duration),
    Quantile { quantile: f64, min_samples: u64, least: Duration },
}

impl Hedge {
    /// Hedges the slowest twentieth of the requests.
    #[must_use]
    pub const fn new() -> Self {
        let least = Duration::from_millis(1);
        Self { when: When::Quantile { quantile: 0.95, min_samples: 100, least } }
    }

    /// Hedges requests that take longer than this.
    #[must_use]
    pub const fn after(delay: Duration) -> Self {
        Self { when: When::After(delay) }
    }

    /// Hedges requests that take longer than this part of the requests took lately.
    ///
    /// # Errors
    ///
    /// [`HedgeError::Quantile`] when it is not a number between 0 and 1, both excluded.
    pub fn after_quantile(quantile: f64) -> Result<Self, HedgeError> {
        if !(quantile > 0.0 && quantile < 1.0) {
            return Err(HedgeError::Quantile);
        }
        Ok(Self::new().changed(|wanted, _, _| *wanted = quantile))
    }

    /// Hedges nothing until so many requests have been timed within the last half minute. A fixed delay needs none; zero is
    /// taken for one.
    #[must_use]
    pub fn with_min_samples(self, samples: u32) -> Self {
        self.changed(|_, min_samples, _| *min_samples = u64::from(samples.max(1)))
    }

    /// Hedges nothing earlier than after `delay`, whatever the quantile. It does nothing to a fixed delay.
    #[must_use]
    pub fn with_least_delay(self, delay: Duration) -> Self {
        self.changed(|_, _, least| *least = delay)
    }

    fn changed(mut self, change: impl FnOnce(&mut f64, &mut u64, &mut Duration)) -> Self {
        if let When::Quantile { quantile, min_samples, least } = &mut self.when {
            change(quantile, min_samples, least);
        }
        self
    }
}

impl Default for Hedge {
    fn default() -> Self {
        Self::new()
    }
}

/// Reports a setting of a [`Hedge`] out of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HedgeError {
    /// A quantile that is not between 0 and 1.
    Quantile,
}

impl fmt::Display for HedgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the quantile of a hedge must be above 0 and below 1")
    }
}

impl Error for HedgeError {}
