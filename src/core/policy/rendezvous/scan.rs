//! The scan for scores that are high enough.

use std::iter::Empty;

use super::identity::Identify;
use super::score::score;

/// What is scanned.
#[derive(Clone)]
pub(super) enum Slots<I> {
    /// All slots below this one.
    All(usize),
    Those(I),
}

impl Slots<Empty<usize>> {
    #[inline]
    pub(super) const fn all(len: usize) -> Self {
        Self::All(len)
    }
}

impl<I: Iterator<Item = usize>> Slots<I> {
    #[inline]
    pub(super) fn for_each(self, visit: impl FnMut(usize)) {
        match self {
            Self::All(len) => (0..len).for_each(visit),
            Self::Those(slots) => slots.for_each(visit),
        }
    }
}

/// Calls `visit` with the scores for `key` of a few slots in a row, and the first of these slots, whenever one of the scores is
/// at least the floor: first `floor`, then what the last visit returned.
#[inline]
pub(super) fn scan<M: Identify>(
    key: u64,
    members: &M,
    slots: Slots<impl Iterator<Item = usize>>,
    mut floor: u64,
    mut visit: impl FnMut(usize, &[u64]) -> u64,
) {
    if let Slots::All(len) = slots
        && let Some(identities) = members.in_a_row()
    {
        return scan_row(key, &identities[..len], floor, visit);
    }
    slots.for_each(|slot| {
        let score = score(key, members.identity(slot));
        if score >= floor {
            floor = visit(slot, &[score]);
        }
    });
}

/// How many scores are computed before the first of them is compared.
const AT_ONCE: usize = 8;

/// Kept apart from its callers, so that all it needs stays in registers. A visit is rare.
#[inline(never)]
fn scan_row(key: u64, identities: &[u64], mut floor: u64, mut visit: impl FnMut(usize, &[u64]) -> u64) {
    let (chunks, rest) = identities.as_chunks::<AT_ONCE>();
    let mut slot = 0;
    for chunk in chunks {
        let scores = chunk.map(|identity| score(key, identity));
        if scores.iter().any(|score| *score >= floor) {
            floor = visit(slot, &scores);
        }
        slot += AT_ONCE;
    }
    for identity in rest {
        let score = score(key, *identity);
        if score >= floor {
            floor = visit(slot, &[score]);
        }
        slot += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{Slots, scan};
    use crate::core::policy::rendezvous::identity::Identify;
    use crate::core::policy::rendezvous::score::{score, spread};

    /// Keeps its hashes in a row if the flag says so.
    struct Row(Vec<u64>, bool);

    impl Identify for Row {
        fn identity(&self, slot: usize) -> u64 {
            self.0[slot]
        }

        fn in_a_row(&self) -> Option<&[u64]> {
            Some(&*self.0).filter(|_| self.1)
        }
    }

    /// Returns the slots that reach the floor among those that are visited, and their scores. The floor rises by `step`.
    fn visited(len: usize, key: u64, is_row: bool, mut floor: u64, step: u64) -> Vec<(usize, u64)> {
        let (members, mut seen) = (Row((1..=len as u64).map(spread).collect(), is_row), Vec::new());
        scan(key, &members, Slots::all(len), floor, |first, scores| {
            for (slot, found) in (first..).zip(scores) {
                assert_eq!(*found, score(key, members.identity(slot)));
                if *found >= floor {
                    floor = floor.saturating_add(step);
                    seen.push((slot, *found));
                }
            }
            floor
        });
        seen
    }

    #[test]
    fn a_row_is_scanned_as_single_slots_are_whatever_its_length_and_floor() {
        for len in 0..40 {
            for key in (0..50).map(spread) {
                for (floor, step) in [(0, 1 << 61), (1 << 62, 1 << 58), (3 << 62, 0), (u64::MAX, 0)] {
                    let slots = visited(len, key, false, floor, step);
                    assert_eq!(visited(len, key, true, floor, step), slots);
                }
            }
        }
    }

    #[test]
    fn everybody_reaches_the_floor_of_zero() {
        assert_eq!(visited(21, spread(7), true, 0, 0).len(), 21);
    }

    #[test]
    fn a_score_that_is_the_floor_reaches_it_wherever_it_stands() {
        let key = spread(70);
        for len in [1, 7, 8, 9, 21] {
            let highest = (1..=len as u64).map(|id| score(key, spread(id))).max().unwrap_or(0);
            for is_row in [false, true] {
                assert_eq!(visited(len, key, is_row, highest, 0).len(), 1, "{len}");
            }
        }
    }

    #[test]
    fn what_a_visit_returns_is_the_floor_from_then_on() {
        for is_row in [false, true] {
            let (members, mut visits) = (Row((1..=40).map(spread).collect(), is_row), 0);
            scan(spread(70), &members, Slots::all(40), 0, |_, _| {
                visits += 1;
                u64::MAX
            });
            assert_eq!(visits, 1);
        }
    }
}
