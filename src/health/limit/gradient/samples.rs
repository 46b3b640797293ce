//! The latencies of a round.

use crate::sync::{AtomicU64, Ordering};

/// Gathers latencies in one word, so that a sum never goes with the count of another round.
///
/// The lower 12 bits are the count, the upper 52 the sum in nanoseconds. A latency counts as at most 18 minutes, of which as
/// many as can be counted fit; those beyond that number are passed over, as the mean is well known by then.
#[derive(Debug)]
pub(super) struct Samples(AtomicU64);

const COUNT_BITS: u32 = 12;
const MOST: u64 = (1 << COUNT_BITS) - 1;
const LONGEST: u64 = (1 << 40) - 1;

impl Samples {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Adds a latency in nanoseconds.
    pub(super) fn add(&self, latency: u64) {
        // A statistic, complete in its word: no ordering.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
            (count(word) < MOST).then(|| word + (latency.min(LONGEST) << COUNT_BITS) + 1)
        });
    }

    pub(super) fn count(&self) -> u64 {
        count(self.0.load(Ordering::Relaxed))
    }

    /// Takes all and returns their mean in nanoseconds, at least one; none without any.
    pub(super) fn take(&self) -> Option<f64> {
        let word = self.0.swap(0, Ordering::Relaxed);
        let count = count(word);
        (count > 0).then(|| ((word >> COUNT_BITS) as f64 / count as f64).max(1.0))
    }
}

const fn count(word: u64) -> u64 {
    word & MOST
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{LONGEST, MOST, Samples};

    #[test]
    fn the_longest_latencies_fit_and_the_rest_is_passed_over() {
        let samples = Samples::new();
        for _ in 0..MOST + 10 {
            samples.add(u64::MAX);
        }
        assert_eq!(samples.count(), MOST);
        assert!((samples.take().unwrap() - LONGEST as f64).abs() < 1.0);
        assert_eq!((samples.count(), samples.take()), (0, None));
    }

    #[test]
    fn no_time_at_all_counts_as_a_nanosecond() {
        let samples = Samples::new();
        samples.add(0);
        assert_eq!(samples.take(), Some(1.0));
    }
}
