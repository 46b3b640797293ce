//! What has happened at an endpoint so far.

use std::sync::OnceLock;

use crate::core::Outcome;
use crate::core::histogram::Histogram;
use crate::sync::{AtomicU64, Ordering};

/// Counts attempts by how they went, and how long they took.
///
/// Each request writes to it, and what several threads write goes from one processor to the other. So that is one line of
/// the cache; and the latency, which does not fit in, is written for one of several answers once there are many.
#[repr(C, align(64))]
pub(super) struct Statistics {
    picks: AtomicU64,
    answered: AtomicU64,
    failures: AtomicU64,
    overloads: AtomicU64,
    cancelled: AtomicU64,
    /// How long answers took, good and bad ones: all of the first, then one of several. It is large, and [made](Self::prepare)
    /// after the endpoints of a membership, so that these lie close together.
    latency: OnceLock<Histogram>,
}

/// The numbers of attempts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) picks: u64,
    pub(super) answered: u64,
    pub(super) failures: u64,
    pub(super) overloads: u64,
    pub(super) cancelled: u64,
}

impl Counts {
    /// Counts the attempts that have started and not ended.
    pub(super) const fn in_flight(&self) -> u64 {
        self.picks.saturating_sub(self.answered.saturating_add(self.cancelled))
    }

    pub(super) const fn answers(&self) -> Answers {
        Answers { answered: self.answered, failed: self.failures.saturating_add(self.overloads) }
    }
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
            answered: AtomicU64::new(0),
            latency: OnceLock::new(),
            failures: AtomicU64::new(0),
            overloads: AtomicU64::new(0),
            cancelled: AtomicU64::new(0),
        }
    }

    /// Makes place for what is written down of answers; before that they are counted alone.
    pub(super) fn prepare(&self) {
        self.latency.get_or_init(Histogram::new);
    }

    /// Counts a pick, unless there may be none: who sets what `is_refused` asks for and [counts](Self::counts) afterwards sees
    /// the pick, or is told of it by whoever is refused.
    #[inline]
    pub(super) fn picked(&self, is_refused: impl FnOnce() -> bool) -> bool {
        self.picks.fetch_add(1, Ordering::SeqCst);
        let is_refused = is_refused();
        if is_refused {
            self.picks.fetch_sub(1, Ordering::SeqCst);
        }
        !is_refused
    }

    /// Counts the end of an attempt that took so many nanoseconds.
    #[inline]
    pub(super) fn ended(&self, outcome: Outcome, elapsed: u64) {
        // In the one order of all: whoever counts sees this, or is told of it.
        let counter = match outcome {
            // What was answered and did not fail.
            Outcome::Success => None,
            Outcome::Failure => Some(&self.failures),
            Outcome::Overload { .. } => Some(&self.overloads),
            Outcome::Cancelled => {
                self.cancelled.fetch_add(1, Ordering::SeqCst);
                return;
            }
        };
        if let Some(counter) = counter {
            counter.fetch_add(1, Ordering::SeqCst);
        }
        let before = self.answered.fetch_add(1, Ordering::SeqCst);
        let times = times(before);
        if times > 0
            && let Some(latency) = self.latency.get()
        {
            latency.record_nanos(elapsed, times);
        }
    }

    /// Returns all counts. There are as many failures as the answers had, or more, whose answers are not counted yet.
    ///
    /// Ends are read before picks, so that an attempt that ends meanwhile does not make their difference negative.
    pub(super) fn counts(&self) -> Counts {
        let [answered, cancelled, failures, overloads, picks] =
            [&self.answered, &self.cancelled, &self.failures, &self.overloads, &self.picks]
                .map(|count| count.load(Ordering::SeqCst));
        Counts { picks, answered, failures, overloads, cancelled }
    }

    /// Returns how long answers took, as [counts](crate::core::histogram::quantile) of durations.
    pub(super) fn latency(&self) -> Vec<u64> {
        self.latency.get().into_iter().flat_map(Histogram::counts).collect()
    }
}

/// How many answers are taken down, each as it is.
const ALL: u64 = 4_096;
/// Of how many one is taken down afterwards.
const EACH: u64 = 8;

/// Returns how many answers one stands for that came after so many others.
///
/// It is one of each eight, at a place that is hashed anew for each, so that no period of the answers is that of the choice.
#[inline]
fn times(before: u64) -> u64 {
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    if before < ALL {
        return 1;
    }
    let block = (before / EACH).wrapping_mul(GOLDEN);
    let place = (block ^ block >> 32).wrapping_mul(GOLDEN) >> (u64::BITS - EACH.trailing_zeros());
    if before % EACH == place { EACH } else { 0 }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{ALL, Answers, EACH, Statistics, times};
    use crate::core::Outcome;
    use crate::core::histogram::quantile;
    use std::time::Duration;

    #[test]
    fn the_first_answers_count_one_by_one_and_later_ones_as_many_as_there_were() {
        assert!((0..ALL).all(|before| times(before) == 1));
        for from in [ALL, ALL + 77, 1 << 40, u64::MAX - 8_000] {
            let many: u64 = (from..from + 8_000).map(times).sum();
            assert!(many.abs_diff(8_000) <= 3 * EACH, "{many} for 8,000 from {from}");
        }
    }

    #[test]
    fn quantiles_hold_whatever_the_period_of_the_slow_ones() {
        // Those of Fibonacci are what the golden ratio alone would meet.
        for period in [2_u32, 3, 7, 8, 13, 16, 21, 50, 55, 64, 89] {
            let statistics = Statistics::new();
            statistics.prepare();
            for answer in 0..200_000 {
                let millis = if answer % period == 0 { 100 } else { 1 };
                assert!(statistics.picked(|| false));
                statistics.ended(Outcome::Success, millis * 1_000_000);
            }
            let (latency, counts) = (statistics.latency(), statistics.counts());
            assert_eq!((counts.answered, counts.in_flight()), (200_000, 0), "counts are exact");
            let slow = 1.0 / f64::from(period);
            let at = |part| quantile(&latency, part).unwrap();
            assert!(at(1.0 - slow * 1.1 - 0.001) < Duration::from_millis(2), "{period}");
            assert!(at(1.0 - slow * 0.9 + 0.001) > Duration::from_millis(99), "{period}");
        }
    }

    #[test]
    fn a_slow_answer_that_is_rarer_than_one_in_a_hundred_is_not_the_99th_percentile_at_any_time() {
        for period in [144, 233, 377, 610] {
            let statistics = Statistics::new();
            statistics.prepare();
            for answer in 1..=120_000 {
                let millis = if answer % period == 0 { 100 } else { 1 };
                statistics.ended(Outcome::Success, millis * 1_000_000);
                if answer % 1_000 == 0 {
                    let p99 = quantile(&statistics.latency(), 0.99).unwrap();
                    assert!(
                        p99 < Duration::from_millis(2),
                        "{p99:?} after {answer}, one of {period} being slow"
                    );
                }
            }
        }
    }

    #[test]
    fn overloads_are_failures_too_and_cancelled_attempts_are_no_answers() {
        let statistics = Statistics::new();
        for outcome in [Outcome::Success, Outcome::Failure, Outcome::OVERLOAD, Outcome::Cancelled] {
            statistics.ended(outcome, 1);
            let alone = Answers::of(outcome);
            assert_eq!(alone.answered == 0, outcome == Outcome::Cancelled, "{outcome}");
            assert_eq!(alone.failed, u64::from(outcome.is_error()), "{outcome}");
        }
        let Answers { answered, failed } = statistics.counts().answers();
        assert_eq!((answered, failed), (3, 2));
    }

    #[test]
    fn who_is_refused_is_not_counted() {
        let statistics = Statistics::new();
        assert!(!statistics.picked(|| true));
        assert_eq!(statistics.counts().picks, 0);
    }
}
