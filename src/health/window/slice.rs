//! One part of a window, in one word.

use crate::core::Outcome;

use super::OutcomeCounts;

/// Packs the number of a slice of time and what happened in it.
///
/// ```text
///  63            36 35         24 23        12 11         0
/// | tick           | overloads   | failures   | successes  |
/// ```
///
/// A tick is the number of the slice modulo 2^28. With slices of 0.6 seconds that is five years: only a word that nobody
/// touched for so long could be taken for a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice(pub(super) u64);

const WIDTH: u32 = 12;
const LIMIT: u64 = (1 << WIDTH) - 1;
const TICK_SHIFT: u32 = 3 * WIDTH;
const TICK_MASK: u64 = u64::MAX >> TICK_SHIFT;
/// The counts without the lowest bit of each, moved to where halves belong.
const HALVES: u64 = (LIMIT >> 1) * (1 | 1 << WIDTH | 1 << (2 * WIDTH));

impl Slice {
    /// What a slice still holds of a kind after its counts were halved: a cap beyond it would notice.
    pub(super) const MOST_CAP: u32 = 2_047;

    const fn new(tick: u64) -> Self {
        Self(tick << TICK_SHIFT)
    }

    /// Returns how many slices ago this one began, as of `tick`; those ahead are very long ago.
    pub(super) const fn age(self, tick: u64) -> u64 {
        tick.wrapping_sub(self.0 >> TICK_SHIFT) & TICK_MASK
    }

    /// Counts an outcome that happened in `tick`. The word starts anew if it is of another slice, before or after: whoever
    /// records says what time it is.
    #[must_use]
    pub(super) const fn with(self, outcome: Kind, tick: u64) -> Self {
        let current = if self.age(tick) == 0 { self } else { Self::new(tick) };
        let roomy = if current.count(outcome) == LIMIT { current.halved() } else { current };
        Self(roomy.0 + (1 << outcome.shift()))
    }

    pub(super) const fn counts(self) -> OutcomeCounts {
        OutcomeCounts::new(self.count(Kind::Success), self.count(Kind::Failure), self.count(Kind::Overload))
    }

    const fn count(self, kind: Kind) -> u64 {
        self.0 >> kind.shift() & LIMIT
    }

    /// Keeps the mixture to about one part in two thousand, and makes room.
    const fn halved(self) -> Self {
        Self(self.0 & TICK_MASK << TICK_SHIFT | self.0 >> 1 & HALVES)
    }
}

/// Names the outcomes that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Success,
    Failure,
    Overload,
}

impl Kind {
    /// Returns the kind of an outcome that says something of the endpoint.
    pub(super) const fn of(outcome: Outcome) -> Option<Self> {
        match outcome {
            Outcome::Success => Some(Self::Success),
            Outcome::Failure => Some(Self::Failure),
            Outcome::Overload { .. } => Some(Self::Overload),
            Outcome::Cancelled => None,
        }
    }

    const fn shift(self) -> u32 {
        self as u32 * WIDTH
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Kind, LIMIT, Slice, TICK_MASK};

    #[test]
    fn counts_that_are_full_are_halved_and_touch_no_other_field() {
        let mut slice = Slice::new(TICK_MASK);
        for _ in 0..LIMIT {
            slice = slice.with(Kind::Overload, TICK_MASK).with(Kind::Success, TICK_MASK);
        }
        slice = slice.with(Kind::Failure, TICK_MASK).with(Kind::Failure, TICK_MASK);
        let full = slice.counts();
        assert_eq!((full.successes(), full.failures(), full.overloads()), (LIMIT, 2, LIMIT));
        slice = slice.with(Kind::Overload, TICK_MASK);
        let half = slice.counts();
        assert_eq!((half.successes(), half.failures(), half.overloads()), (LIMIT / 2, 1, LIMIT / 2 + 1));
        assert!(half.total() >= u64::from(Slice::MOST_CAP));
        assert_eq!(slice.age(TICK_MASK), 0);
    }

    #[test]
    fn ticks_wrap_and_those_ahead_are_long_ago() {
        let last = Slice::new(TICK_MASK).with(Kind::Success, TICK_MASK);
        assert_eq!(last.age(TICK_MASK + 3), 3);
        assert!(last.age(TICK_MASK - 1) > 1 << 27);
        assert_eq!(last.with(Kind::Failure, 0).counts().total(), 1, "another slice starts anew");
    }
}
