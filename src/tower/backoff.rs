//! How long to leave alone what failed.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::core::Rng;
use crate::core::spread::part;

/// Says how long to wait before something that failed is tried again.
///
/// The first pause is doubled with each failure that follows, up to the longest. Jitter shortens a pause by a random part
/// of up to the given fraction, so that what failed together does not come back together; no pause is ever longer than
/// without it. A jitter of 1, which is called full, spreads pauses over all of their bound and suits retries best.
///
/// Source: M. Brooker, "Exponential backoff and jitter", AWS Architecture Blog, 2015.
///
/// | setting | range | default |
/// |---|---|---|
/// | first and longest pause | more than zero, in order | 100 ms, 30 s |
/// | [jitter](Self::with_jitter) | 0 to 1 | 0.5 |
/// | [seed](Self::with_seed) | | none: other pauses in every process |
///
/// ```
/// use poise::tower::{Backoff, BackoffError};
/// use std::time::Duration;
///
/// let backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5))?.with_jitter(0.0)?;
/// assert_eq!(backoff.pause(1), Duration::from_millis(50));
/// assert_eq!(backoff.pause(3), Duration::from_millis(200));
/// assert_eq!(backoff.pause(u32::MAX), Duration::from_secs(5));
/// assert_eq!(backoff.with_jitter(2.0).unwrap_err(), BackoffError::Jitter);
/// # Ok::<(), BackoffError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    jitter: f64,
    rng: Rng,
}

impl Backoff {
    /// Makes pauses that grow from `first` to `longest`.
    ///
    /// # Errors
    ///
    /// [`BackoffError::Pauses`] when the first is zero or above the longest.
    pub fn new(first: Duration, longest: Duration) -> Result<Self, BackoffError> {
        if first.is_zero() || first > longest {
            return Err(BackoffError::Pauses);
        }
        Ok(Self { first, longest, ..Self::default() })
    }

    /// Sets the largest part by which a pause is shortened.
    ///
    /// # Errors
    ///
    /// [`BackoffError::Jitter`] when it is not from 0 to 1.
    pub fn with_jitter(self, jitter: f64) -> Result<Self, BackoffError> {
        if !(0.0..=1.0).contains(&jitter) {
            return Err(BackoffError::Jitter);
        }
        Ok(Self { jitter, ..self })
    }

    /// Makes the jitter reproducible.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { rng: Rng::seeded(seed), ..self }
    }

    /// Draws the pause after so many failures in a row; more than zero.
    #[must_use]
    pub fn pause(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        let pause = self.first.saturating_mul(1 << doublings).min(self.longest);
        let shortened = pause.saturating_sub(part(pause, self.jitter * self.rng.unit()));
        shortened.max(Duration::from_nanos(1))
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_millis(100),
            longest: Duration::from_secs(30),
            jitter: 0.5,
            rng: Rng::thread(),
        }
    }
}

/// Reports pauses that make no sense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackoffError {
    /// The first pause is zero or above the longest.
    Pauses,
    /// The jitter is not from 0 to 1.
    Jitter,
}

impl fmt::Display for BackoffError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pauses => "the first pause must be more than zero and not above the longest",
            Self::Jitter => "the jitter must be from 0 to 1",
        })
    }
}

impl Error for BackoffError {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn full(first: Duration, longest: Duration, seed: u64) -> Backoff {
        Backoff::new(first, longest).unwrap().with_jitter(1.0).unwrap().with_seed(seed)
    }

    #[test]
    fn full_jitter_spreads_pauses_over_all_of_a_bound_that_doubles_up_to_the_longest() {
        let backoff = full(10 * MILLISECOND, 35 * MILLISECOND, 7);
        for (failures, bound) in [(1, 10), (2, 20), (3, 35), (4, 35), (u32::MAX, 35)] {
            let bound = bound * MILLISECOND;
            let pauses: Vec<_> = (0..1_000).map(|_| backoff.pause(failures)).collect();
            assert!(pauses.iter().all(|pause| *pause <= bound), "pause {failures} is too long");
            assert!(pauses.iter().any(|pause| *pause > bound / 20 * 19), "pause {failures} is never long");
            assert!(pauses.iter().any(|pause| *pause < bound / 20), "pause {failures} is always long");
        }
    }

    #[test]
    fn extremes_neither_overflow_nor_panic() {
        assert!(full(Duration::MAX, Duration::MAX, 7).pause(u32::MAX) <= Duration::MAX);
    }

    #[test]
    fn the_same_seed_pauses_alike() {
        let pauses = |seed| {
            let backoff = full(1_000 * MILLISECOND, 9_000 * MILLISECOND, seed);
            (1..9).map(|failures| backoff.pause(failures)).collect::<Vec<_>>()
        };
        assert_eq!(pauses(7), pauses(7));
        assert_ne!(pauses(7), pauses(8));
    }
}
