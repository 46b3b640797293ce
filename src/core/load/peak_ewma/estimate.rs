//! The latency, and when it was last learned.

use super::clock;
use super::decay::Rate;
use crate::sync::{AtomicU64, Ordering};

/// Holds a latency and its date in one word, so that nobody ever pairs one with the date of another.
///
/// The upper 26 bits are the latency in nanoseconds, from 1 to 2^63, as the exponent and 20 leading fraction bits of a
/// double: one part in a million. The lower 38 bits are the date in [ticks](TICK_SHIFT) of 16.4 microseconds, modulo 52
/// days. Dates are compared by their signed difference, so an estimate counts as fresh again after 26 days without any
/// answer; that is no harm, as it is then the last that was known.
///
/// The word is complete in itself, hence relaxed accesses; the order towards the witness is the witness's business.
#[derive(Debug)]
pub(super) struct Estimate(AtomicU64);

const DATE_BITS: u32 = 38;
const DATE_MASK: u64 = (1 << DATE_BITS) - 1;
const TICK_SHIFT: u32 = 14;
const DROPPED_FRACTION_BITS: u32 = 32;
const ONE: u64 = 1.0_f64.to_bits();
const LONGEST: f64 = 9.0e18;
const HALF: u64 = 1 << (DROPPED_FRACTION_BITS - 1);

impl Estimate {
    pub(super) fn new(latency: f64, now: u64) -> Self {
        Self(AtomicU64::new(pack(encode(latency, HALF), now >> TICK_SHIFT)))
    }

    /// Returns how fast estimates decay with this tau, in nanoseconds.
    pub(super) fn rate(tau: u64) -> Rate {
        Rate::new(1 << TICK_SHIFT, tau)
    }

    /// Returns the latency in nanoseconds as it has decayed by `now`.
    #[inline]
    pub(super) fn project(&self, now: u64, rate: Rate) -> f64 {
        projected(self.0.load(Ordering::Relaxed), now, rate)
    }

    /// Learns the latency of a success: a higher one is believed at once, a lower one blends in.
    #[inline]
    pub(super) fn observe(&self, latency: f64, now: u64, rate: Rate) {
        let word = self.0.load(Ordering::Relaxed);
        let Some(next) = observed(word, latency, now, rate) else { return };
        if self.0.compare_exchange(word, next, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            self.observe_again(latency, now, rate);
        }
    }

    /// Observes when somebody else has just done so.
    #[cold]
    fn observe_again(&self, latency: f64, now: u64, rate: Rate) {
        self.update(|word| observed(word, latency, now, rate));
    }

    /// Learns that the latency is at least this, from an attempt whose caller gave up.
    pub(super) fn raise(&self, latency: f64, now: u64, rate: Rate) {
        self.update(|word| {
            (latency > projected(word, now, rate)).then(|| pack(encode(latency, HALF), later_date(word, now)))
        });
    }

    /// Keeps the estimate from decaying, and from falling below `latency`: a failure taught nothing of how long an answer
    /// takes.
    pub(super) fn hold(&self, latency: f64, now: u64) {
        self.update(|word| Some(pack(encode(latency.max(decode(word)), HALF), later_date(word, now))));
    }

    /// Forgets everything for a new latency.
    pub(super) fn reset(&self, latency: f64, now: u64) {
        self.0.store(pack(encode(latency, HALF), now >> TICK_SHIFT), Ordering::Relaxed);
    }

    fn update(&self, change: impl FnMut(u64) -> Option<u64>) {
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change);
    }
}

/// Returns what follows from a success, if that is anything new.
#[inline]
fn observed(word: u64, latency: f64, now: u64, rate: Rate) -> Option<u64> {
    let known = decode(word);
    let code = if latency > known {
        encode(latency, HALF)
    } else {
        let ticks = ticks_since(word, now);
        if ticks == 0 {
            return None;
        }
        encode(latency + rate.decayed(known - latency, ticks), dither(now))
    };
    Some(pack(code, later_date(word, now)))
}

#[inline]
fn projected(word: u64, now: u64, rate: Rate) -> f64 {
    rate.decayed(decode(word), ticks_since(word, now))
}

fn pack(code: u64, date: u64) -> u64 {
    code << DATE_BITS | date & DATE_MASK
}

/// Rounds a latency to the kept bits; `carry` in `0..2^32` is what is added below them before the rest is cut off.
fn encode(latency: f64, carry: u64) -> u64 {
    (latency.clamp(1.0, LONGEST).to_bits() - ONE + carry) >> DROPPED_FRACTION_BITS
}

#[inline]
fn decode(word: u64) -> f64 {
    f64::from_bits(((word >> DATE_BITS) << DROPPED_FRACTION_BITS) + ONE)
}

#[inline]
fn ticks_since(word: u64, now: u64) -> u64 {
    clock::forward((now >> TICK_SHIFT).wrapping_sub(word), DATE_BITS)
}

/// Dates never go back, so that a clock that does cannot make the same time decay twice.
fn later_date(word: u64, now: u64) -> u64 {
    if ticks_since(word, now) == 0 { word } else { now >> TICK_SHIFT }
}

/// A blend moves by less than the last kept bit when answers come fast. Rounding to the nearest would then never move, so
/// the carry is spread evenly over time, and many small steps add up to the right distance.
fn dither(now: u64) -> u64 {
    now.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> DROPPED_FRACTION_BITS
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_latency_survives_its_encoding_to_one_part_in_a_million() {
        for latency in [1.0, 1.5, 999.0, 3.0e7, 1.234_567_89e10, 8.99e18] {
            let back = decode(pack(encode(latency, HALF), DATE_MASK));
            assert!((back - latency).abs() <= latency * 2.0_f64.powi(-21), "{latency} became {back}");
        }
        assert!(
            (decode(pack(encode(0.0, HALF), 0)) - 1.0).abs() < f64::EPSILON,
            "the least latency is a nanosecond"
        );
        assert!(decode(pack(encode(f64::INFINITY, 2 * HALF - 1), 0)) < 9.3e18);
    }

    #[test]
    fn who_comes_second_learns_as_much() {
        let (now, rate) = (1 << 40, Estimate::rate(10_000_000_000));
        for latency in [2.0e6, 0.5e6] {
            let [alone, again] = [(); 2].map(|()| Estimate::new(1.0e6, 0));
            alone.observe(latency, now, rate);
            again.observe_again(latency, now, rate);
            let [alone, again] = [alone, again].map(|estimate| estimate.project(now, rate).to_bits());
            assert_eq!(alone, again, "of {latency} ns");
        }
    }

    #[test]
    fn many_small_blends_add_up_to_the_right_distance() {
        let rate = Estimate::rate(10_000_000_000);
        let estimate = Estimate::new(1.0e8, 0);
        let mut now = 0;
        for _ in 0..200_000 {
            now += 50_000;
            estimate.observe(0.99e8, now, rate);
        }
        let expected = 0.99e8 + 0.01e8 * (-1.0_f64).exp();
        let actual = estimate.project(now, rate);
        assert!((actual - expected).abs() < 1.0e-4 * expected, "{actual} instead of {expected}");
    }

    #[test]
    fn dates_wrap_without_a_jump() {
        let rate = Estimate::rate(10_000_000_000);
        let before = (DATE_MASK << TICK_SHIFT) - 1;
        let estimate = Estimate::new(1.0e6, before);
        let kept = estimate.project(before + 10_000_000_000, rate) / 1.0e6;
        assert!((kept - (-1.0_f64).exp()).abs() < 1.0e-5, "{kept}");
    }
}
