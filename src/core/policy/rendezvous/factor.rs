//! How far above its share a member may be loaded.

use std::error::Error;
use std::fmt;

/// Holds a factor above one, in parts of 2^-20, so that bounds are computed without rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Factor(u32);

const ONE: u32 = 1 << 20;
const MAX: f64 = 1_000.0;

/// Reports a factor that bounds nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum BoundedLoadError {
    /// The factor is not above one, so not every request could be placed, or it is not a number.
    NotAboveOne {
        /// The factor that was asked for.
        factor: f64,
    },
    /// The factor is above 1,000.
    TooLarge {
        /// The factor that was asked for.
        factor: f64,
    },
}

impl fmt::Display for BoundedLoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAboveOne { factor } => write!(f, "a load factor of {factor}: it must be above 1"),
            Self::TooLarge { factor } => write!(f, "a load factor of {factor}: it must be at most {MAX}"),
        }
    }
}

impl Error for BoundedLoadError {}

impl Factor {
    /// Rounds up, so that a factor above one stays above one.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be at most 1,000 * 2^20"
    )]
    pub(super) fn new(factor: f64) -> Result<Self, BoundedLoadError> {
        if factor > MAX {
            Err(BoundedLoadError::TooLarge { factor })
        } else if factor > 1.0 {
            Ok(Self((factor * f64::from(ONE)).ceil() as u32))
        } else {
            Err(BoundedLoadError::NotAboveOne { factor })
        }
    }

    /// Returns the least whole number that is not below `factor * (total + 1) * weight / weights`.
    ///
    /// The product of 32, 64 and 32 bits fits, as `total + 1` is taken to be at most `u64::MAX`.
    #[inline]
    pub(super) fn cap(self, total: u64, weight: u32, weights: u64) -> u64 {
        // Mostly half as wide a division does.
        let narrow = || {
            let prospective =
                total.checked_add(1)?.checked_mul(u64::from(self.0))?.checked_mul(weight.into())?;
            Some(prospective.div_ceil(weights.max(1).checked_mul(ONE.into())?))
        };
        narrow().unwrap_or_else(|| self.cap_of_many(total, weight, weights))
    }

    #[cold]
    fn cap_of_many(self, total: u64, weight: u32, weights: u64) -> u64 {
        let prospective = u128::from(self.0) * u128::from(total.saturating_add(1)) * u128::from(weight);
        let cap = prospective.div_ceil(u128::from(weights.max(1)) * u128::from(ONE));
        u64::try_from(cap).unwrap_or(u64::MAX)
    }
}

impl Default for Factor {
    /// Five quarters.
    fn default() -> Self {
        Self(ONE + ONE / 4)
    }
}

#[cfg(test)]
mod tests {
    use super::{BoundedLoadError, Factor, ONE};

    #[test]
    fn caps_are_exact() {
        let factor = Factor::new(1.25).expect("above one");
        assert_eq!(factor, Factor::default());
        assert_eq!([0, 3, 4, 7, 8].map(|total| factor.cap(total, 1, 4)), [1, 2, 2, 3, 3]);
        assert_eq!(factor.cap(31, 1, 4), 10, "an exact quotient is not rounded up");
        assert_eq!(factor.cap(99, 3, 4), 94, "93.75");
        assert_eq!(factor.cap(u64::MAX, u32::MAX, 1), u64::MAX);
        assert_eq!(factor.cap(u64::MAX, 1, u64::MAX), 2);
        assert_eq!(
            Factor::new(1_000.0).expect("at most").cap(u64::MAX, u32::MAX, u64::MAX),
            4_294_967_295_000
        );
    }

    #[test]
    fn the_least_factor_above_one_stays_above_one() {
        assert_eq!(Factor::new(1.0 + f64::EPSILON), Ok(Factor(ONE + 1)));
    }

    #[test]
    fn factors_that_bound_nothing_are_refused() {
        for factor in [1.0, 0.0, -2.0, f64::NEG_INFINITY, f64::NAN] {
            assert!(matches!(Factor::new(factor), Err(BoundedLoadError::NotAboveOne { .. })), "{factor}");
        }
        for factor in [1_000.001, f64::INFINITY] {
            assert_eq!(Factor::new(factor), Err(BoundedLoadError::TooLarge { factor }));
        }
    }
}
