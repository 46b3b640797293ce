//! Durations that many threads record.

use std::time::Duration;

use crate::core::histogram::Histogram;
use crate::core::striped::{STRIPES, stripe};

/// Histograms of the same shape, each thread with one of its own as far as there are enough.
pub(super) struct Latencies {
    stripes: [Histogram; STRIPES],
}

impl Latencies {
    pub(super) fn new() -> Self {
        Self { stripes: std::array::from_fn(|_| Histogram::new()) }
    }

    pub(super) fn record(&self, duration: Duration) {
        self.stripes[stripe()].record(duration);
    }

    /// Returns the counts of all buckets, from the shortest durations to the longest.
    pub(super) fn counts(&self) -> Vec<u64> {
        let [first, others @ ..] = &self.stripes;
        let mut sums: Vec<u64> = first.counts().collect();
        for other in others {
            sums.iter_mut().zip(other.counts()).for_each(|(sum, count)| *sum = sum.saturating_add(count));
        }
        sums
    }
}
