//! State, epoch and payload of a circuit in one word.

use std::fmt;

use crate::sync::{AtomicU64, Ordering};

/// Names the states that a word can hold. Whether a deadline has passed is not in it: that follows from the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Closed,
    Open,
    HalfOpen,
    ForcedOpen,
    ForcedClosed,
}

/// Returns the epoch that follows; after the last comes the first.
pub(super) const fn epoch_after(epoch: u64) -> u64 {
    Word::new(epoch.wrapping_add(1), Kind::Closed, 0).epoch()
}

/// Packs epoch, kind and payload.
///
/// ```text
///  63                                    19 18  16 15            0
/// | epoch                                  | kind | payload       |
/// ```
///
/// The payload counts the failures in a row while closed, and the free permits while half open.
///
/// An epoch has 45 bits. A late result could be taken for a new one only if exactly 2^45 transitions had passed while
/// it was under way. A transition takes a lock, say 20 ns: that is eight days of nothing but transitions on one
/// circuit; and since every second or third of them waits for a cooldown, with one of a millisecond it is more than
/// three centuries.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Word(u64);

impl Word {
    const KIND_SHIFT: u32 = 16;
    const EPOCH_SHIFT: u32 = 19;
    const PAYLOAD: u64 = (1 << Self::KIND_SHIFT) - 1;

    /// The largest count that fits in.
    pub(super) const LIMIT: u32 = u16::MAX as u32;

    pub(super) const START: Self = Self::new(0, Kind::Closed, 0);

    const fn new(epoch: u64, kind: Kind, payload: u16) -> Self {
        // The shift drops the bits above the epoch's width, so that the last epoch is followed by the first.
        Self(epoch << Self::EPOCH_SHIFT | (kind as u64) << Self::KIND_SHIFT | payload as u64)
    }

    pub(super) const fn epoch(self) -> u64 {
        self.0 >> Self::EPOCH_SHIFT
    }

    #[inline]
    pub(super) const fn kind(self) -> Kind {
        match self.0 >> Self::KIND_SHIFT & 0b111 {
            0 => Kind::Closed,
            1 => Kind::Open,
            2 => Kind::HalfOpen,
            3 => Kind::ForcedOpen,
            _ => Kind::ForcedClosed,
        }
    }

    pub(super) fn payload(self) -> u32 {
        u32::try_from(self.0 & Self::PAYLOAD).unwrap_or(Self::LIMIT)
    }

    /// Returns the word with another count, within the same epoch.
    pub(super) fn with_payload(self, count: u32) -> Self {
        Self::new(self.epoch(), self.kind(), u16::try_from(count).unwrap_or(u16::MAX))
    }

    /// Returns the first word of the next epoch.
    pub(super) fn next(self, kind: Kind) -> Self {
        Self::new(epoch_after(self.epoch()), kind, 0)
    }

    /// Tells whether everything is admitted, counted or not.
    #[inline]
    pub(super) const fn is_closed(self) -> bool {
        matches!(self.kind(), Kind::Closed | Kind::ForcedClosed)
    }

    /// Tells whether results of `epoch` still count towards tripping.
    pub(super) fn is_closed_in(self, epoch: u64) -> bool {
        self.epoch() == epoch && self.kind() == Kind::Closed
    }

    /// Tells whether it is closed in `epoch` and has seen no failure.
    #[inline]
    pub(super) fn is_untouched_in(self, epoch: u64) -> bool {
        self == Self::new(epoch, Kind::Closed, 0)
    }

    /// Tells whether every permit of the round is taken.
    pub(super) fn is_exhausted(self) -> bool {
        self.kind() == Kind::HalfOpen && self.payload() == 0
    }
}

impl fmt::Debug for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({}) in epoch {}", self.kind(), self.payload(), self.epoch())
    }
}

/// Shares a [`Word`].
///
/// Counts within a closed epoch are exchanged without the circuit's lock. Everything else, and every new epoch, is
/// written under it.
#[derive(Debug)]
pub(super) struct AtomicWord(AtomicU64);

impl AtomicWord {
    pub(super) fn new(word: Word) -> Self {
        Self(AtomicU64::new(word.0))
    }

    /// Acquire: whoever sees an epoch sees the deadlines that were published before it.
    #[inline]
    pub(super) fn load(&self) -> Word {
        Word(self.0.load(Ordering::Acquire))
    }

    /// Release: publishes the deadlines of the epoch with it.
    pub(super) fn store(&self, word: Word) {
        self.0.store(word.0, Ordering::Release);
    }

    /// Replaces `seen` by `next`, or returns what stands there instead. Orderings as for load and store.
    pub(super) fn exchange(&self, seen: Word, next: Word) -> Result<(), Word> {
        match self.0.compare_exchange(seen.0, next.0, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(()),
            Err(found) => Err(Word(found)),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Kind, Word};

    #[test]
    fn every_field_comes_back_as_it_was_put_in() {
        for kind in [Kind::Closed, Kind::Open, Kind::HalfOpen, Kind::ForcedOpen, Kind::ForcedClosed] {
            let word = Word::START.next(Kind::Open).next(kind).with_payload(Word::LIMIT);
            assert_eq!((word.epoch(), word.kind(), word.payload()), (2, kind, Word::LIMIT));
        }
    }

    #[test]
    fn the_last_epoch_is_followed_by_the_first() {
        let last = Word::new((1 << 45) - 1, Kind::Open, 7);
        assert_eq!(last.next(Kind::HalfOpen), Word::new(0, Kind::HalfOpen, 0));
    }

    #[test]
    fn a_count_beyond_the_width_saturates_and_touches_no_other_field() {
        let word = Word::START.next(Kind::Closed).with_payload(u32::MAX);
        assert_eq!((word.epoch(), word.kind(), word.payload()), (1, Kind::Closed, Word::LIMIT));
    }
}
