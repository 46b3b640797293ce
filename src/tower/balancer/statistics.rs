//! What has happened at an endpoint so far.

use crate::core::Outcome;
use crate::core::histogram::Histogram;
use crate::sync::{AtomicU64, Ordering};

/// Counts attempts by how they went, and how long they took.
#[repr(C, align(64))]
pub(super) struct Statistics {
    pub(super) picks: AtomicU64,
    /// How long answers took, good and bad ones.
    pub(super) latency: Histogram,
    pub(super) failures: AtomicU64,
    pub(super) overloads: AtomicU64,
    pub(super) cancelled: AtomicU64,
}

/// How many attempts were answered, and how many of the answers were no success.
#[derive(Clone, Copy)]
pub(super) struct Answers {
    pub(super) answered: u64,
    pub(super) failed: u64,
}

impl Answers {
    /// Returns what an attempt adds that ended so.
    pub(super) fn of(outcome: Outcome) -> Self {
        Self { answered: u64::from(outcome != Outcome::Cancelled), failed: u64::from(outcome.is_error()) }
    }
}

impl Statistics {
    pub(super) fn new() -> Self {
        Self {
            picks: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            overloads: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
            latency: Histogram::new(),
        }
    }

    #[inline]
    pub(super) fn ended(&self, outcome: Outcome, elapsed: u64) {
        let counter = match outcome {
            // What was answered and did not fail.
            Outcome::Success => None,
            Outcome::Failure => Some(&self.failures),
            Outcome::Overload { .. } => Some(&self.overloads),
            Outcome::Cancelled => Some(&self.cancelled),
        };
        // With `in_flight`, as the order of the histogram: whoever counts sees this, or is told of it.
        if let Some(counter) = counter {
            counter.fetch_add(1, Ordering::SeqCst);
        }
        if outcome != Outcome::Cancelled {
            self.latency.record_nanos(elapsed);
        }
    }

    /// Counts what was answered so far. There are as many failures as those answers had, or more, whose answers are not
    /// counted yet.
    pub(super) fn answers(&self) -> Answers {
        let answered = self.latency.counts().sum();
        let [failures, overloads] =
            [&self.failures, &self.overloads].map(|count| count.load(Ordering::SeqCst));
        Answers { answered, failed: failures + overloads }
    }

    /// Counts the attempts that have started and not ended, of which so many were answered by the latency.
    ///
    /// Ends are read before picks, so that an attempt that ends meanwhile does not make their difference negative.
    pub(super) fn in_flight(&self, answered: u64) -> u64 {
        let ended = answered.saturating_add(self.cancelled.load(Ordering::SeqCst));
        self.picks.load(Ordering::SeqCst).saturating_sub(ended)
    }
}
