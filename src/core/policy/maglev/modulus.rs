//! Remainders by a divisor that is known beforehand.

/// Takes remainders without a division, which would be the slowest step of a pick.
///
/// Source: D. Lemire, O. Kaser and N. Kurz, "Faster remainder by direct computation", Software: Practice and Experience
/// 49(6), 2019: with 128 bits of the reciprocal, the remainder is exact for all 64-bit numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Modulus {
    divisor: u64,
    /// `2^128 / divisor`, rounded up; zero stands for `2^128`.
    reciprocal: u128,
}

impl Modulus {
    /// Makes the modulus of a divisor that is not zero.
    pub(super) const fn new(divisor: u64) -> Self {
        Self { divisor, reciprocal: (u128::MAX / divisor as u128).wrapping_add(1) }
    }

    /// Returns `number mod divisor`.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the halves of a number, and what is below the divisor"
    )]
    #[inline]
    pub(super) const fn of(self, number: u64) -> u64 {
        let fraction = self.reciprocal.wrapping_mul(number as u128);
        let low = ((fraction as u64 as u128) * (self.divisor as u128)) >> 64;
        let high = (fraction >> 64) * (self.divisor as u128);
        ((low + high) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::Modulus;

    #[test]
    fn remainders_are_those_of_a_division() {
        for divisor in [1, 2, 3, 7, 251, 65_537, 655_373, 16_777_213, u64::MAX / 2, u64::MAX] {
            let modulus = Modulus::new(divisor);
            let around = [0, 1, divisor - 1, divisor, divisor.wrapping_mul(3), u64::MAX - 1, u64::MAX];
            let scattered = (0..10_000u64).map(|at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            for number in around.into_iter().chain(scattered) {
                assert_eq!(modulus.of(number), number % divisor, "{number} mod {divisor}");
            }
        }
    }
}
