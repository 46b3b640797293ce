//! The exponential by which the past is forgotten.

/// Computes `exp(-ticks/tau)` as `2^-y` with `y` in fixed point: 12 bits of whole halvings above 52 bits of fraction.
///
/// The whole part becomes the exponent of a double, the fraction goes through a polynomial. Its form fixes both
/// ends, `1` and `1/2`, so that neighbouring halvings meet and the curve falls throughout; in between it is off by less than
/// one part in a hundred million, a fiftieth of what an estimate keeps. A policy measures two members per pick, and a
/// library's exponential costs more than all the rest of that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate(u64);

const FRACTION_BITS: u32 = 52;
const FRACTION_MASK: u64 = (1 << FRACTION_BITS) - 1;
/// Chebyshev interpolation of `(2^-f - 1 + f/2) / (f (1 - f))` over `0..=1`.
const BEND: [f64; 5] = [
    -0.193_147_158_463_873_04,
    0.047_078_219_616_403_065,
    -0.008_415_844_721_190_23,
    0.001_167_799_728_903_276_7,
    -0.000_109_446_143_259_048_64,
];

impl Rate {
    /// Takes the length of a tick and of tau, in the same unit.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and the cast saturates"
    )]
    pub(super) fn new(tick: u64, tau: u64) -> Self {
        let halvings_per_tick = tick as f64 / tau.max(1) as f64 * std::f64::consts::LOG2_E;
        Self((halvings_per_tick * (1_u64 << FRACTION_BITS) as f64) as u64)
    }

    /// Returns what is left of `value` after `ticks`: all after none, and zero but for rounding after very many.
    ///
    /// Whoever compares two waits for this, so its parts do not wait for each other.
    #[inline]
    pub(super) fn decayed(self, value: f64, ticks: u64) -> f64 {
        let halvings = ticks.saturating_mul(self.0);
        let whole = (halvings >> FRACTION_BITS).min(1000);
        let rest = f64::from_bits(1.0_f64.to_bits() | halvings & FRACTION_MASK) - 1.0;
        let square = rest * rest;
        let bend = (BEND[0] + BEND[1] * rest) + square * ((BEND[2] + BEND[3] * rest) + square * BEND[4]);
        let share = 1.0 - 0.5 * rest + (rest - square) * bend;
        let halved = value * f64::from_bits(1.0_f64.to_bits() - (whole << FRACTION_BITS));
        halved * share
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_exponential_to_a_part_in_a_hundred_million_and_always_falls() {
        let tau = 1_000_003;
        let rate = Rate::new(1, tau);
        let mut last = 1.0;
        for ticks in 0..30 * tau {
            let kept = rate.decayed(1.0, ticks);
            if ticks % 101 == 0 {
                let exact = (-(ticks as f64) / tau as f64).exp();
                assert!((kept / exact - 1.0).abs() < 1.0e-8, "{kept} instead of {exact} after {ticks}");
            }
            assert!(kept <= last, "it rose to {kept} after {ticks}");
            last = kept;
        }
    }

    #[test]
    fn its_ends_are_exact() {
        for tau in [1, 1 << 20, u64::MAX] {
            assert!((Rate::new(1 << 14, tau).decayed(1.0, 0) - 1.0).abs() < f64::EPSILON);
        }
        assert!(Rate::new(1, 1).decayed(1.0, u64::MAX) < 1.0e-300);
    }
}
