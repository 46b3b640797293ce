//! The window.

use std::fmt;

use crate::core::{Now, Outcome};
use crate::sync::{AtomicU64, Ordering};

use super::config::SLICES;
use super::slice::{Kind, Slice};
use super::{OutcomeCounts, WindowConfig};

/// Counts the outcomes of the last seconds, by kind.
///
/// The window is bounded by age and by count. Its age is divided into sixteen slices, each of which counts what happened
/// in it. An outcome loses its say when its slice is sixteen slices ago. What a slice counts beyond its part of the count
/// has a say only [in proportion](WindowConfig::with_count). So what the window says depends on the course of the errors
/// and not on how many requests there are, provided that there are enough to tell.
///
/// A [cancelled](Outcome::Cancelled) attempt is passed over.
///
/// A clock that goes back starts the slices that it meets again anew; one that jumps ahead leaves the past behind. Slices
/// ahead of the time that is asked about do not count.
///
/// # Complexity
///
/// Recording is one exchange of a word, repeated only when another thread exchanged the same word meanwhile; reading is
/// sixteen loads. The window takes 160 bytes.
///
/// # Examples
///
/// ```
/// use poise::core::{Now, Outcome};
/// use poise::health::{OutcomeWindow, WindowConfig};
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let at = |seconds| Now::at(start + Duration::from_secs(seconds));
///
/// let window = OutcomeWindow::new(WindowConfig::default());
/// window.record(Outcome::Failure, &at(0));
/// window.record(Outcome::Success, &at(8));
/// window.record(Outcome::Cancelled, &at(8));
/// assert_eq!((window.counts(&at(9)).total(), window.counts(&at(9)).failures()), (2, 1));
/// assert_eq!(window.counts(&at(12)).failures(), 0, "ten seconds are over");
/// ```
pub struct OutcomeWindow {
    slices: [AtomicU64; SLICES],
    /// 2^64 by the length of a slice in nanoseconds.
    slices_per_nano: u64,
    config: WindowConfig,
}

impl OutcomeWindow {
    /// Makes an empty window.
    #[must_use]
    pub fn new(config: WindowConfig) -> Self {
        Self {
            slices: std::array::from_fn(|_| AtomicU64::new(0)),
            slices_per_nano: u64::MAX / config.slice(),
            config,
        }
    }

    /// Counts an outcome.
    #[inline]
    pub fn record(&self, outcome: Outcome, now: &Now) {
        let Some(kind) = Kind::of(outcome) else { return };
        let tick = self.tick(now);
        // A statistic, complete in its word: no ordering.
        let _ = self
            .place(tick)
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| Some(Slice(word).with(kind, tick).0));
    }

    /// Returns what has a say at `now`.
    #[must_use]
    pub fn counts(&self, now: &Now) -> OutcomeCounts {
        let (tick, cap) = (self.tick(now), self.config.cap());
        let slices = self.slices.iter().map(|word| Slice(word.load(Ordering::Relaxed)));
        slices
            .filter(|slice| slice.age(tick) < SLICES as u64)
            .fold(OutcomeCounts::default(), |sum, slice| sum + slice.counts().at_most(cap))
    }

    /// Forgets everything, for an endpoint that gets a fresh start.
    pub fn clear(&self) {
        for word in &self.slices {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the bounds.
    #[must_use]
    pub const fn config(&self) -> &WindowConfig {
        &self.config
    }

    /// Returns the number of the slice in which `now` lies; it grows with time also where that is negative.
    ///
    /// It multiplies where it could divide, which takes several times as long. Slices are longer by that, by a part in ten
    /// thousand million.
    #[inline]
    fn tick(&self, now: &Now) -> u64 {
        let product = u128::from(now.nanos() ^ 1 << 63) * u128::from(self.slices_per_nano);
        (product >> 64) as u64
    }

    #[inline]
    fn place(&self, tick: u64) -> &AtomicU64 {
        #[expect(clippy::cast_possible_truncation, reason = "less than the number of slices")]
        let place = (tick % SLICES as u64) as usize;
        &self.slices[place]
    }
}

impl Default for OutcomeWindow {
    fn default() -> Self {
        Self::new(WindowConfig::default())
    }
}

impl fmt::Debug for OutcomeWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutcomeWindow").field("config", &self.config).finish_non_exhaustive()
    }
}
