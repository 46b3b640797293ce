//! How long requests took lately.

use std::time::{Duration, Instant};

use crate::core::histogram::{Histogram, quantile};
use crate::core::striped::{STRIPES, stripe};
use crate::sync::{AtomicU64, Mutex, Ordering, lock};

/// Into how many parts the window is divided.
const PARTS: usize = 10;
const PART: Duration = Duration::from_secs(3);
const WINDOW: Duration = Duration::from_secs(30);
/// How long an answer is good.
const FRESH: Duration = Duration::from_millis(100);
const UNKNOWN: u64 = u64::MAX;

/// Times requests, and tells within which time a part of those of the last half minute was answered.
///
/// Counts only grow, each thread's in a histogram of its own; the window is what they have grown by since they were written
/// down half a minute ago. The answer is worked out by one caller ten times a second, and read by all others.
pub(super) struct LatencyWindow {
    quantile: f64,
    min_samples: u64,
    start: Instant,
    stripes: [Histogram; STRIPES],
    /// In nanoseconds.
    answer: AtomicU64,
    /// Until when the answer is good, in nanoseconds since the start.
    until: AtomicU64,
    parts: Mutex<Parts>,
}

/// What the counts were at the start of each part of the window.
struct Parts {
    counts: [Vec<u64>; PARTS],
    /// The part that is under way, and when it began, since the start.
    newest: usize,
    began: Duration,
    /// Used by whoever works out an answer, so that it need not be allocated again.
    sums: Vec<u64>,
}

impl LatencyWindow {
    pub(super) fn new(quantile: f64, min_samples: u64, now: Instant) -> Self {
        let stripes: [Histogram; STRIPES] = std::array::from_fn(|_| Histogram::new());
        let zeros: Vec<u64> = stripes[0].counts().map(|_| 0).collect();
        Self {
            quantile,
            min_samples,
            start: now,
            stripes,
            answer: AtomicU64::new(UNKNOWN),
            until: AtomicU64::new(0),
            parts: Mutex::new(Parts {
                counts: std::array::from_fn(|_| zeros.clone()),
                newest: 0,
                began: Duration::ZERO,
                sums: zeros,
            }),
        }
    }

    pub(super) fn record(&self, latency: Duration) {
        self.stripes[stripe()].record(latency);
    }

    /// Returns the answer that was worked out last.
    pub(super) fn latest(&self) -> Option<Duration> {
        // Complete in itself: no ordering.
        let nanos = self.answer.load(Ordering::Relaxed);
        (nanos != UNKNOWN).then(|| Duration::from_nanos(nanos))
    }

    /// Returns the quantile, or nothing while there are too few samples.
    pub(super) fn quantile(&self, now: Instant) -> Option<Duration> {
        let elapsed = now.saturating_duration_since(self.start);
        let until = self.until.load(Ordering::Relaxed);
        if nanos(elapsed) >= until {
            let next = nanos(elapsed.saturating_add(FRESH));
            // Whoever comes first works it out.
            if self.until.compare_exchange(until, next, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                let answer = lock(&self.parts).work_out(self, elapsed);
                self.answer.store(answer.map_or(UNKNOWN, nanos), Ordering::Relaxed);
                return answer;
            }
        }
        self.latest()
    }
}

impl Parts {
    fn work_out(&mut self, window: &LatencyWindow, elapsed: Duration) -> Option<Duration> {
        self.sums.fill(0);
        for stripe in &window.stripes {
            self.sums.iter_mut().zip(stripe.counts()).for_each(|(sum, count)| *sum = sum.wrapping_add(count));
        }
        while elapsed.saturating_sub(self.began) >= PART {
            self.newest = (self.newest + 1) % PARTS;
            self.counts[self.newest].clone_from(&self.sums);
            self.began += PART;
            // When nobody has looked for longer than the window, all of it begins now.
            self.began = self.began.max(elapsed.saturating_sub(WINDOW));
        }
        let oldest = &self.counts[(self.newest + 1) % PARTS];
        self.sums.iter_mut().zip(oldest).for_each(|(sum, before)| *sum = sum.wrapping_sub(*before));
        let samples = self.sums.iter().fold(0_u64, |samples, count| samples.saturating_add(*count));
        if samples < window.min_samples { None } else { quantile(&self.sums, window.quantile) }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
