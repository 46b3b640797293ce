//! The streak of failures, and when it last grew.

use super::clock;
use crate::sync::{AtomicU64, Ordering};

/// Counts consecutive failures, at most [`MOST`], one less for each tau that has passed since the last.
///
/// The lower 4 bits are the count, the upper 60 the time of the last failure; zero is no streak. The word is complete in
/// itself, hence relaxed accesses.
#[derive(Debug)]
pub(super) struct Failures(AtomicU64);

const COUNT_BITS: u32 = 4;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const MOST: u64 = 10;
/// How long a member is left alone after one failure, in nanoseconds.
const PAUSE: u64 = 1_000_000_000;

impl Failures {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Tells whether there is no streak, as nearly always.
    #[inline]
    pub(super) fn are_none(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    pub(super) fn project(&self, now: u64, tau: u64) -> u32 {
        match self.0.load(Ordering::Relaxed) {
            0 => 0,
            word => u32::try_from(projected(word, now, tau)).unwrap_or(0),
        }
    }

    /// Tells whether the last failure of a streak is so long ago that its member is worth one attempt: [`PAUSE`] after one
    /// failure, twice that after each further one, at most tau.
    pub(super) fn is_due(&self, now: u64, tau: u64) -> bool {
        match self.0.load(Ordering::Relaxed) {
            0 => false,
            word => age(word, now) >= tau.min(PAUSE << (word & COUNT_MASK).saturating_sub(1)),
        }
    }

    pub(super) fn add(&self, now: u64, tau: u64) {
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
            let count = (projected(word, now, tau) + 1).min(MOST);
            Some(now << COUNT_BITS | count)
        });
    }

    pub(super) fn reset(&self) {
        if !self.are_none() {
            self.0.store(0, Ordering::Relaxed);
        }
    }
}

fn projected(word: u64, now: u64, tau: u64) -> u64 {
    (word & COUNT_MASK).saturating_sub(age(word, now) / tau.max(1))
}

fn age(word: u64, now: u64) -> u64 {
    clock::forward(now.wrapping_sub(word >> COUNT_BITS), 64 - COUNT_BITS)
}
