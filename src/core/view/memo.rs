//! What a pick has sampled already.

use crate::core::Exclusions;

/// How many samples are kept: after so many misses a pick falls back to an exact scan.
pub(crate) const SAMPLES: usize = 8;

/// Remembers the few candidates that a pick has sampled, so that none is sampled twice.
#[derive(Debug)]
pub(crate) struct Memo {
    samples: [(usize, Exclusions); SAMPLES],
    len: usize,
}

impl Memo {
    pub(crate) const fn new() -> Self {
        Self { samples: [(0, Exclusions::NONE); SAMPLES], len: 0 }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len == SAMPLES
    }

    /// Keeps a sample; the caller has asked [`Memo::is_full`] before.
    pub(crate) fn keep(&mut self, slot: usize, exclusions: Exclusions) {
        self.samples[self.len] = (slot, exclusions);
        self.len += 1;
    }

    pub(crate) fn get(&self, slot: usize) -> Option<Exclusions> {
        self.samples[..self.len].iter().find(|(at, _)| *at == slot).map(|(_, exclusions)| *exclusions)
    }

    /// Returns a sampled candidate that was eligible.
    pub(crate) fn eligible(&self) -> Option<usize> {
        self.samples[..self.len].iter().find(|(_, exclusions)| exclusions.is_empty()).map(|(slot, _)| *slot)
    }
}
