//! Where to look for eligible members.

use std::fmt;
use std::hint::select_unpredictable;
use std::slice;

use crate::sync::{AtomicU32, AtomicU64, Ordering};

use super::{Candidate, Exclusions, Now};

const BITS: usize = u64::BITS as usize;

/// Remembers which members of one membership are believed to be eligible.
///
/// It is a hint where to look, so that a pick among 10,000 members of which 98 % are excluded costs what a pick among
/// eight costs. The candidate's own word always decides, so a flip that was missed never selects an excluded member; and
/// after a few misses a pick falls back to one exact scan, so it never makes a pick fail. All it can do is keep a member idle
/// while others work.
///
/// Only what changes by transitions is kept ([`Exclusions::SLOW`]): the administrative state and the verdicts of health.
/// Whoever makes a transition calls [`set`](Self::set).
///
/// # Complexity
///
/// `set`, `contains`, `count` and a uniform draw take constant time. Of several threads that flip at the same time, one
/// may do the work of all; nobody waits.
///
/// ```
/// use poise::core::Eligibility;
///
/// let eligibility = Eligibility::new(3, |slot| slot != 1);
/// assert_eq!(eligibility.count(), 2);
/// assert!(eligibility.set(1, true));
/// assert!(!eligibility.set(1, true), "it was set already");
/// assert_eq!(eligibility.count(), 3);
/// ```
pub struct Eligibility {
    /// Bit `slot` of the concatenated words: the member is believed to be eligible.
    words: Box<[AtomicU64]>,
    /// A permutation of all slots, of which the first `count` are the eligible ones.
    dense: Box<[AtomicU32]>,
    /// The inverse of `dense`.
    places: Box<[AtomicU32]>,
    count: AtomicU32,
    /// Flips that are not yet in `dense`; who raises it from zero brings them in, its own and those that come meanwhile.
    pending: AtomicU32,
}

impl Eligibility {
    /// Makes the eligibility of `members` slots, asking `eligible` for each.
    ///
    /// Slots beyond `u32::MAX` are not kept; no membership is that large.
    pub fn new(members: usize, mut eligible: impl FnMut(usize) -> bool) -> Self {
        let members = members.min(u32::MAX as usize);
        let mut words = vec![0u64; members.div_ceil(BITS)];
        let (mut on, mut off) = (Vec::with_capacity(members), Vec::new());
        for slot in 0..members {
            if eligible(slot) {
                words[slot / BITS] |= bit(slot);
                on.push(slot);
            } else {
                off.push(slot);
            }
        }
        let count = on.len();
        on.append(&mut off);
        let mut places = vec![0u32; members];
        for (place, slot) in on.iter().enumerate() {
            places[*slot] = narrow(place);
        }
        Self {
            words: words.into_iter().map(AtomicU64::new).collect(),
            dense: on.into_iter().map(|slot| AtomicU32::new(narrow(slot))).collect(),
            places: places.into_iter().map(AtomicU32::new).collect(),
            count: AtomicU32::new(narrow(count)),
            pending: AtomicU32::new(0),
        }
    }

    /// Makes the eligibility of `candidates` as they are now.
    pub fn of<C: Candidate>(candidates: &[C], now: &Now) -> Self {
        Self::new(candidates.len(), |slot| candidates[slot].exclusions(now).only(Exclusions::SLOW).is_empty())
    }

    /// Records that the member at `slot` became eligible or ineligible, and tells whether that was news. A slot out of
    /// range is no news.
    pub fn set(&self, slot: usize, eligible: bool) -> bool {
        if slot >= self.len() {
            return false;
        }
        let word = &self.words[slot / BITS];
        let before = if eligible {
            word.fetch_or(bit(slot), Ordering::Relaxed)
        } else {
            word.fetch_and(!bit(slot), Ordering::Relaxed)
        };
        let changed = (before & bit(slot) != 0) != eligible;
        if changed {
            self.bring_in(slot);
        }
        changed
    }

    /// Tells whether the member at `slot` is believed to be eligible.
    #[must_use]
    #[inline]
    pub fn contains(&self, slot: usize) -> bool {
        slot < self.len() && self.words[slot / BITS].load(Ordering::Relaxed) & bit(slot) != 0
    }

    /// Returns how many members are believed to be eligible.
    #[must_use]
    #[inline]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed) as usize
    }

    /// Returns the number of slots.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.dense.len()
    }

    /// Tells whether there are no slots.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dense.is_empty()
    }

    /// Returns the slot at `place` of the permutation whose first [`count`](Self::count) entries are eligible.
    #[inline]
    pub(crate) fn nth(&self, place: usize) -> usize {
        self.dense[place].load(Ordering::Relaxed) as usize
    }

    /// Returns the first slot at or after `start`, without wrapping, that is believed to be eligible.
    #[inline]
    pub(crate) fn next_from(&self, start: usize) -> Option<usize> {
        next_set(&self.words, start)
    }

    /// Lists the slots that are believed to be eligible, ascending.
    #[inline]
    pub(crate) fn slots(&self) -> Slots<'_> {
        Slots { words: self.words.iter(), rest: 0, base: 0, next: 0 }
    }

    /// Returns the bits of the slots from 64 times `index` on.
    #[inline]
    pub(crate) fn word(&self, index: usize) -> u64 {
        self.words[index].load(Ordering::Relaxed)
    }

    fn bring_in(&self, slot: usize) {
        // Acquire and release hand the permutation from one worker to the next, and make the bit that was set before
        // this line visible to the worker that sees the raised counter.
        if self.pending.fetch_add(1, Ordering::AcqRel) != 0 {
            return;
        }
        self.place(slot);
        let mut seen = 1;
        while let Err(more) = self.pending.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Acquire) {
            seen = more;
            (0..self.len()).for_each(|slot| self.place(slot));
        }
    }

    /// Moves `slot` to the side of the permutation that its bit says. Only the one worker calls it.
    fn place(&self, slot: usize) {
        let count = self.count.load(Ordering::Relaxed);
        let place = self.places[slot].load(Ordering::Relaxed);
        match (self.contains(slot), place < count) {
            (true, false) => {
                self.swap(place, count);
                self.count.store(count + 1, Ordering::Relaxed);
            }
            (false, true) => {
                self.count.store(count - 1, Ordering::Relaxed);
                self.swap(place, count - 1);
            }
            _ => {}
        }
    }

    fn swap(&self, left: u32, right: u32) {
        let (a, b) = (&self.dense[left as usize], &self.dense[right as usize]);
        let (at_left, at_right) = (a.load(Ordering::Relaxed), b.load(Ordering::Relaxed));
        a.store(at_right, Ordering::Relaxed);
        b.store(at_left, Ordering::Relaxed);
        self.places[at_left as usize].store(right, Ordering::Relaxed);
        self.places[at_right as usize].store(left, Ordering::Relaxed);
    }
}

/// Lists slots, as long as they last in the order of their bits.
#[derive(Clone, Debug)]
pub(crate) struct Slots<'a> {
    words: slice::Iter<'a, AtomicU64>,
    /// What is left of the word that begins at `base`.
    rest: u64,
    base: usize,
    /// Where the next word begins.
    next: usize,
}

impl Iterator for Slots<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.rest == 0 {
            self.rest = self.words.next()?.load(Ordering::Relaxed);
            (self.base, self.next) = (self.next, self.next + BITS);
        }
        let slot = self.base + self.rest.trailing_zeros() as usize;
        self.rest &= self.rest - 1;
        Some(slot)
    }
}

impl fmt::Debug for Eligibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Eligibility").field("members", &self.len()).field("eligible", &self.count()).finish()
    }
}

/// Returns the first set bit at or after `start` in the concatenated words.
#[inline]
pub(crate) fn next_set(words: &[AtomicU64], start: usize) -> Option<usize> {
    let mut index = start / BITS;
    let mut word = words.get(index)?.load(Ordering::Relaxed) & (u64::MAX << (start % BITS));
    while word == 0 {
        index += 1;
        word = words.get(index)?.load(Ordering::Relaxed);
    }
    Some(index * BITS + word.trailing_zeros() as usize)
}

/// As [`next_set`], and without branches that nobody could foresee where one of the next 128 bits is set.
#[inline]
pub(crate) fn next_set_nearby(words: &[AtomicU64], start: usize) -> Option<usize> {
    let index = start / BITS;
    if let Some(words) = words.get(index..).and_then(<[_]>::first_chunk::<3>) {
        let [first, second, third] = words.each_ref().map(|word| word.load(Ordering::Relaxed));
        let first = first & (u64::MAX << (start % BITS));
        let (word, skipped) =
            (select_unpredictable(second != 0, second, third), select_unpredictable(second != 0, 1, 2));
        let word = select_unpredictable(first != 0, first, word);
        if word != 0 {
            let skipped = select_unpredictable(first != 0, 0, skipped);
            return Some((index + skipped) * BITS + word.trailing_zeros() as usize);
        }
    }
    next_set(words, start)
}

#[inline]
pub(crate) fn bit(slot: usize) -> u64 {
    1 << (slot % BITS)
}

/// Narrows a slot, which `new` has bounded.
fn narrow(slot: usize) -> u32 {
    u32::try_from(slot).unwrap_or(u32::MAX)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{next_set, next_set_nearby};
    use crate::sync::AtomicU64;

    #[test]
    fn the_next_bit_nearby_is_the_next_bit_wherever_it_is() {
        let lit = [0, 1, 1 << 31, 1 << 63];
        for len in 0..=5 {
            for pattern in 0..4_usize.pow(len) {
                let words: Vec<_> =
                    (0..len).map(|at| AtomicU64::new(lit[(pattern >> (2 * at)) % 4])).collect();
                for start in [0, 1, 31, 32, 63, 64, 65, 127, 128, 191, 192, 255, 256, 319, 320, 999] {
                    assert_eq!(next_set_nearby(&words, start), next_set(&words, start), "{words:x?} {start}");
                }
            }
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::Eligibility;
    use std::sync::Arc;

    fn settled(eligibility: &Eligibility) -> Vec<usize> {
        let mut slots: Vec<_> = (0..eligibility.count()).map(|place| eligibility.nth(place)).collect();
        slots.sort_unstable();
        slots
    }

    #[test]
    fn loom_racing_flips_all_arrive_in_the_permutation() {
        loom::model(|| {
            let eligibility = Arc::new(Eligibility::new(3, |_| true));
            let threads: Vec<_> = [0, 2]
                .map(|slot| {
                    let eligibility = Arc::clone(&eligibility);
                    loom::thread::spawn(move || eligibility.set(slot, false))
                })
                .into_iter()
                .collect();
            for thread in threads {
                assert!(thread.join().unwrap());
            }
            assert_eq!(settled(&eligibility), [1]);
        });
    }

    #[test]
    fn loom_a_reader_beside_a_flip_stays_in_bounds() {
        loom::model(|| {
            let eligibility = Arc::new(Eligibility::new(2, |_| true));
            let writer = Arc::clone(&eligibility);
            let thread = loom::thread::spawn(move || {
                writer.set(0, false);
                writer.set(0, true);
            });
            let count = eligibility.count();
            assert!((1..=2).contains(&count));
            assert!(eligibility.nth(count - 1) < 2);
            thread.join().unwrap();
            assert_eq!(settled(&eligibility), [0, 1]);
        });
    }
}
