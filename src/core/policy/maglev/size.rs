//! How many entries the table has.

use std::error::Error;
use std::fmt;

/// The size that a table has unless the user or the number of members asks for another.
pub(super) const DEFAULT: u32 = 65_537;
const MAX: u32 = 1 << 24;

/// Reports a table size that Maglev cannot use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MaglevError {
    /// The size is not a prime, so the permutations would not reach every entry.
    NotPrime {
        /// The size that was asked for.
        size: u32,
    },
    /// The size is above 16,777,216.
    TooLarge {
        /// The size that was asked for.
        size: u32,
    },
}

impl fmt::Display for MaglevError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPrime { size } => {
                write!(f, "a table of {size} entries: the size must be a prime above 2")
            }
            Self::TooLarge { size } => write!(f, "a table of {size} entries: the size must be at most {MAX}"),
        }
    }
}

impl Error for MaglevError {}

pub(super) fn check(size: u32) -> Result<u32, MaglevError> {
    if size > MAX {
        Err(MaglevError::TooLarge { size })
    } else if is_prime(size) {
        Ok(size)
    } else {
        Err(MaglevError::NotPrime { size })
    }
}

/// Chooses the size for a number of members when the user did not: the default, or for memberships that do not fit the first
/// prime above ten times their number, as far as the maximum allows.
pub(super) fn for_members(members: usize) -> u32 {
    let wanted = u32::try_from(members.saturating_mul(10)).unwrap_or(MAX);
    if members < DEFAULT as usize {
        return DEFAULT;
    }
    (wanted.min(MAX - 100)..=MAX).find(|size| is_prime(*size)).unwrap_or(DEFAULT)
}

fn is_prime(n: u32) -> bool {
    n > 2 && !n.is_multiple_of(2) && (3..).step_by(2).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}

#[cfg(test)]
mod tests {
    use super::{DEFAULT, MaglevError, check, for_members, is_prime};

    #[test]
    fn sizes_are_primes() {
        assert_eq!(check(7), Ok(7));
        assert_eq!(check(65_536), Err(MaglevError::NotPrime { size: 65_536 }));
        assert_eq!(check(2), Err(MaglevError::NotPrime { size: 2 }));
        assert_eq!(check(u32::MAX), Err(MaglevError::TooLarge { size: u32::MAX }));
    }

    #[test]
    fn large_memberships_get_larger_tables() {
        assert_eq!(for_members(60_000), DEFAULT);
        for members in [65_537, 70_000, 1_000_000] {
            let size = for_members(members);
            assert!(is_prime(size) && size as usize >= members * 10, "{members} members in {size} entries");
        }
        assert!(is_prime(for_members(usize::MAX)));
    }
}
