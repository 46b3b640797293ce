//! A fixed histogram of durations.

use std::time::Duration;

use crate::sync::{AtomicU64, Ordering};

/// Each power of two is divided into so many buckets: a quantile is at most an eighth too high.
const SUB_BUCKETS: usize = 8;
const SUB_BITS: u32 = SUB_BUCKETS.trailing_zeros();
/// From one microsecond to about an hour and a quarter; what is longer counts as that.
const POWERS: usize = 30;
const BUCKETS: usize = (POWERS + 1) * SUB_BUCKETS;

/// Counts durations in buckets of a few percent, in constant memory, from any thread.
pub(crate) struct Histogram {
    buckets: Box<[AtomicU64; BUCKETS]>,
}

impl Histogram {
    pub(crate) fn new() -> Self {
        Self { buckets: Box::new(std::array::from_fn(|_| AtomicU64::new(0))) }
    }

    #[inline]
    pub(crate) fn record(&self, duration: Duration) {
        self.record_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX), 1);
    }

    /// Counts a duration as if it had been so many.
    #[inline]
    pub(crate) fn record_nanos(&self, nanos: u64, times: u64) {
        // A statistic: no ordering.
        self.buckets[bucket_of(nanos)].fetch_add(times, Ordering::Relaxed);
    }

    /// Returns the counts of all buckets, from the shortest durations to the longest.
    pub(crate) fn counts(&self) -> impl Iterator<Item = u64> {
        self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed))
    }
}

/// Returns the upper bound of the bucket in which the given part of the durations, counted from the shortest, ends; none
/// without durations.
pub(crate) fn quantile(counts: &[u64], part: f64) -> Option<Duration> {
    let total = counts.iter().fold(0u64, |total, count| total.saturating_add(*count));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between zero and the total")]
    let wanted = ((total as f64 * part).ceil() as u64).clamp(1, total.max(1));
    let mut seen = 0u64;
    let bucket = counts.iter().position(|count| {
        seen = seen.saturating_add(*count);
        seen >= wanted
    });
    bucket.map(upper_bound)
}

#[inline]
fn bucket_of(nanos: u64) -> usize {
    let micros = nanos / 1_000;
    if micros < SUB_BUCKETS as u64 {
        return usize::try_from(micros).unwrap_or(0);
    }
    let power = micros.ilog2() - SUB_BITS;
    let within = usize::try_from(micros >> power).unwrap_or(SUB_BUCKETS) - SUB_BUCKETS;
    ((power as usize + 1) * SUB_BUCKETS + within).min(BUCKETS - 1)
}

fn upper_bound(bucket: usize) -> Duration {
    let (power, within) = (bucket / SUB_BUCKETS, (bucket % SUB_BUCKETS) as u64);
    if power == 0 {
        return Duration::from_micros(within + 1);
    }
    Duration::from_micros((SUB_BUCKETS as u64 + within + 1) << (power - 1))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{BUCKETS, Histogram, bucket_of, quantile, upper_bound};
    use std::time::Duration;

    #[test]
    fn every_duration_is_within_its_bucket() {
        let mut micros = 0u64;
        while micros < 1 << 32 {
            let duration = Duration::from_micros(micros);
            let bucket = bucket_of(micros * 1_000);
            assert!(duration < upper_bound(bucket), "{micros} us is below the bound of its bucket");
            assert!(
                bucket == 0 || duration >= upper_bound(bucket - 1),
                "{micros} us is above the one before"
            );
            micros += 1 + micros / 5;
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_at_most_an_eighth_too_high() {
        let histogram = Histogram::new();
        assert_eq!(quantile(&histogram.counts().collect::<Vec<_>>(), 0.5), None);
        (1..=1000).for_each(|millis| histogram.record(Duration::from_millis(millis)));
        let counts: Vec<_> = histogram.counts().collect();
        for (part, exact) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = quantile(&counts, part).unwrap().as_secs_f64() * 1000.0;
            assert!((exact..=exact * 1.13).contains(&found), "{found} ms for {part}");
        }
    }
}
