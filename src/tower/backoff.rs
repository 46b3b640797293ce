//! How long to wait between attempts.

use std::time::Duration;

use super::RetryError;
use crate::core::Rng;

/// Waits between the attempts of one request: at random, up to a bound that doubles.
///
/// Before the `n`-th retry the wait is uniform between zero and `base * 2^(n - 1)`, and never longer than `cap`. The jitter is
/// full, so that clients that failed together do not come back together.
///
/// Source: M. Brooker, "Exponential backoff and jitter", AWS Architecture Blog, 2015.
///
/// ```
/// use poise::tower::{Backoff, Retry};
/// use std::time::Duration;
///
/// let backoff = Backoff::exponential(Duration::from_millis(10), Duration::from_millis(200))?;
/// let retry = Retry::attempts(3)?.with_backoff(backoff);
/// # Ok::<(), poise::tower::RetryError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Backoff {
    base: Duration,
    cap: Duration,
    rng: Rng,
}

impl Backoff {
    /// Waits up to `base` before the first retry, twice as long before each one that follows, and at most `cap`.
    ///
    /// # Errors
    ///
    /// [`RetryError::Backoff`] when `base` is zero or longer than `cap`.
    pub fn exponential(base: Duration, cap: Duration) -> Result<Self, RetryError> {
        if base.is_zero() || base > cap {
            return Err(RetryError::Backoff);
        }
        Ok(Self { base, cap, rng: Rng::thread() })
    }

    /// Draws the waits from a generator whose draws follow from `seed`.
    #[must_use]
    pub fn seeded(self, seed: u64) -> Self {
        Self { rng: Rng::seeded(seed), ..self }
    }

    /// Draws the wait before the retry with this number, of which the first is 1.
    pub(crate) fn draw(&self, retry: u32) -> Duration {
        let doublings = 2_u32.saturating_pow(retry.saturating_sub(1));
        self.base.saturating_mul(doublings).min(self.cap).mul_f64(self.rng.unit())
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn waits_are_spread_over_all_of_a_bound_that_doubles_up_to_the_cap() {
        let millis = Duration::from_millis;
        let backoff = Backoff::exponential(millis(10), millis(35)).unwrap().seeded(7);
        for (retry, bound) in [(1, 10), (2, 20), (3, 35), (4, 35), (u32::MAX, 35)] {
            let waits: Vec<_> = (0..1_000).map(|_| backoff.draw(retry)).collect();
            assert!(waits.iter().all(|wait| *wait < millis(bound)), "retry {retry} waits too long");
            assert!(
                waits.iter().any(|wait| *wait > millis(bound) / 20 * 19),
                "retry {retry} never waits long"
            );
            assert!(waits.iter().any(|wait| *wait < millis(bound) / 20), "retry {retry} always waits");
        }
    }

    #[test]
    fn extremes_neither_overflow_nor_panic() {
        let backoff = Backoff::exponential(Duration::MAX, Duration::MAX).unwrap().seeded(7);
        assert!(backoff.draw(u32::MAX) <= Duration::MAX);
    }

    #[test]
    fn the_same_seed_waits_alike() {
        let waits = |seed| {
            let backoff =
                Backoff::exponential(Duration::from_secs(1), Duration::from_secs(9)).unwrap().seeded(seed);
            (1..9).map(|retry| backoff.draw(retry)).collect::<Vec<_>>()
        };
        assert_eq!(waits(7), waits(7));
        assert_ne!(waits(7), waits(8));
    }
}
