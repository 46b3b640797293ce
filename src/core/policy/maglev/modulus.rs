//! Remainders by a divisor that is known beforehand.

use std::hint::select_unpredictable;

use crate::core::rng::upper;

/// Takes remainders without a division, which would be the slowest step of a pick.
///
/// Source: P. Barrett, "Implementing the Rivest Shamir and Adleman public key encryption algorithm on a standard digital signal
/// processor", CRYPTO '86. The quotient by the rounded reciprocal is the exact one or one less, so what is left is the remainder,
/// or that and the divisor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Modulus {
    divisor: u64,
    /// `(2^64 - 1) / divisor`, rounded down: less than `2^64 / divisor` by one at most.
    reciprocal: u64,
}

impl Modulus {
    /// Makes the modulus of a divisor that is not zero.
    pub(super) const fn new(divisor: u64) -> Self {
        Self { divisor, reciprocal: u64::MAX / divisor }
    }

    /// Returns `number mod divisor`.
    #[inline]
    pub(super) fn of(self, number: u64) -> u64 {
        let quotient = upper(number, self.reciprocal);
        let left = number.wrapping_sub(quotient.wrapping_mul(self.divisor));
        select_unpredictable(left < self.divisor, left, left.wrapping_sub(self.divisor))
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
