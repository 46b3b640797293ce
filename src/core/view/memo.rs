//! What a pick has sampled already.

use crate::core::Exclusions;

/// How many samples are kept: after so many misses a pick falls back to an exact scan.
pub(crate) const SAMPLES: usize = 8;

/// Remembers the few candidates that a pick has sampled, so that none is sampled twice.
///
/// Slots are narrow because every pick clears a memo.
#[derive(Debug)]
pub(crate) struct Memo<const N: usize = SAMPLES> {
    slots: [u32; N],
    exclusions: [Exclusions; N],
    len: usize,
}

impl<const N: usize> Memo<N> {
    #[inline]
    pub(crate) const fn new() -> Self {
        Self { slots: [0; N], exclusions: [Exclusions::NONE; N], len: 0 }
    }

    /// Keeps the one sample that missed, if there was one.
    pub(crate) fn of_missed(missed: Option<(usize, Exclusions)>) -> Self {
        missed.map_or(Self::new(), |(slot, exclusions)| Self::of(slot, exclusions))
    }

    pub(crate) fn of(slot: usize, exclusions: Exclusions) -> Self {
        let mut memo = Self::new();
        memo.keep(slot, exclusions);
        memo
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.len >= N
    }

    /// Keeps a sample, unless it is full. A slot that is no `u32` is not kept; no membership is that large.
    #[inline]
    pub(crate) fn keep(&mut self, slot: usize, exclusions: Exclusions) {
        if let (Ok(slot), true) = (u32::try_from(slot), self.len < N) {
            self.slots[self.len] = slot;
            self.exclusions[self.len] = exclusions;
            self.len += 1;
        }
    }

    #[inline]
    pub(crate) fn get(&self, slot: usize) -> Option<Exclusions> {
        self.iter().find(|(at, _)| *at == slot).map(|(_, exclusions)| exclusions)
    }

    /// Returns a sampled candidate that was eligible.
    pub(crate) fn eligible(&self) -> Option<usize> {
        self.iter().find(|(_, exclusions)| exclusions.is_empty()).map(|(slot, _)| slot)
    }

    #[inline]
    fn iter(&self) -> impl Iterator<Item = (usize, Exclusions)> + '_ {
        let slots = self.slots.iter().map(|slot| *slot as usize);
        slots.zip(self.exclusions).take(self.len)
    }
}
