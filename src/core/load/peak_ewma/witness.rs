//! The attempt whose age bounds the latency from below.

use super::clock;
use crate::sync::{AtomicU64, Ordering};

/// Names one attempt in flight and when it started: the first that starts while there is none.
///
/// The lower 12 bits are a generation, odd while there is a witness; the upper 52 bits are its start in units of 64 ns.
/// A token is the whole word, so the end of an earlier witness cannot dismiss a later one that started at the same time.
///
/// The word is stored and never exchanged, which would cost each attempt as much as all the rest of it. Of attempts that
/// race for the place the last one has it, and whoever has it leaves it free: no witness outlives its attempt. At worst one
/// that lost the race, or whose word a late dismissal took for its own, hangs unseen until the next attempt, which is a
/// witness again.
#[derive(Debug)]
pub(super) struct Witness(AtomicU64);

/// What the witness carries; no other attempt has one.
pub(super) type Token = Option<std::num::NonZeroU64>;

const GENERATION_BITS: u32 = 12;
const GENERATION_MASK: u64 = (1 << GENERATION_BITS) - 1;
const UNIT_SHIFT: u32 = 6;

impl Witness {
    pub(super) fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Makes the attempt that starts now the witness, if there is none.
    #[inline]
    pub(super) fn call(&self, now: u64) -> Token {
        // Acquire, and release below: they carry on the release of the dismissal before it.
        let word = self.0.load(Ordering::Acquire);
        if is_present(word) {
            return None;
        }
        let next = (now >> UNIT_SHIFT) << GENERATION_BITS | next_generation(word);
        self.0.store(next, Ordering::Release);
        std::num::NonZeroU64::new(next)
    }

    /// Dismisses the witness that holds `token`, if it still is the witness.
    #[inline]
    pub(super) fn dismiss(&self, token: Token) {
        let Some(token) = token else { return };
        if self.0.load(Ordering::Relaxed) == token.get() {
            // Release, with the acquire in `age`: who no longer sees the witness sees the estimate that it left behind.
            self.0.store(next_generation(token.get()), Ordering::Release);
        }
    }

    /// Dismisses the witness, whoever it is.
    pub(super) fn dismiss_any(&self) {
        self.dismiss(
            std::num::NonZeroU64::new(self.0.load(Ordering::Relaxed)).filter(|word| is_present(word.get())),
        );
    }

    /// Returns the age of the witness in nanoseconds, zero when there is none.
    #[inline]
    pub(super) fn age(&self, now: u64) -> u64 {
        let word = self.0.load(Ordering::Acquire);
        if !is_present(word) {
            return 0;
        }
        let units = (now >> UNIT_SHIFT).wrapping_sub(word >> GENERATION_BITS);
        clock::forward(units, 64 - GENERATION_BITS) << UNIT_SHIFT
    }
}

#[inline]
fn is_present(word: u64) -> bool {
    word & 1 == 1
}

#[inline]
fn next_generation(word: u64) -> u64 {
    word.wrapping_add(1) & GENERATION_MASK
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_witness_does_not_dismiss_one_that_started_at_the_same_time() {
        let witness = Witness::new();
        let first = witness.call(640);
        witness.dismiss(first);
        let second = witness.call(640);
        assert!(second.is_some());
        witness.dismiss(first);
        assert_eq!(witness.age(1_280), 640, "the second still stands");
        witness.dismiss(second);
        assert_eq!(witness.age(1_280), 0);
    }

    #[test]
    fn generations_wrap() {
        let witness = Witness::new();
        for turn in 0..5_000 {
            let token = witness.call(64 * turn);
            assert!(
                token.is_some() && witness.call(64 * turn).is_none(),
                "one witness at a time in turn {turn}"
            );
            witness.dismiss(token);
        }
    }
}
