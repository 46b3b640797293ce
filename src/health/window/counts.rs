//! Outcomes, counted.

use std::ops::Add;

use crate::core::Outcome;

/// Counts outcomes by kind. Cancelled attempts are none.
///
/// ```
/// use poise::health::OutcomeCounts;
///
/// let counts = OutcomeCounts::new(90, 8, 2);
/// assert_eq!((counts.total(), counts.errors()), (100, 10));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OutcomeCounts {
    successes: u64,
    failures: u64,
    overloads: u64,
}

impl OutcomeCounts {
    /// Makes counts of successes, failures and overloads.
    #[must_use]
    pub const fn new(successes: u64, failures: u64, overloads: u64) -> Self {
        Self { successes, failures, overloads }
    }

    /// Returns how often an endpoint did what it was asked.
    #[must_use]
    pub const fn successes(&self) -> u64 {
        self.successes
    }

    /// Returns how often it failed.
    #[must_use]
    pub const fn failures(&self) -> u64 {
        self.failures
    }

    /// Returns how often it refused because it had too much to do.
    #[must_use]
    pub const fn overloads(&self) -> u64 {
        self.overloads
    }

    /// Returns how often it was to blame, for a failure or an overload.
    #[must_use]
    pub const fn errors(&self) -> u64 {
        self.failures.saturating_add(self.overloads)
    }

    /// Returns how many outcomes there are.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.successes.saturating_add(self.errors())
    }

    /// Returns the same mixture of at most `most` outcomes, rounded to the nearest.
    #[must_use]
    pub(super) fn at_most(self, most: u64) -> Self {
        let total = self.total();
        if total <= most {
            return self;
        }
        // Errors first and then their kinds, so that roundings do not add up to more than the whole.
        let errors = share(self.errors(), most, total);
        let overloads = share(self.overloads, errors, self.errors());
        Self::new(most - errors, errors - overloads, overloads)
    }
}

/// Returns `part / whole` of `of`, rounded to the nearest; none of nothing. The numbers are those of a slice, which are small.
fn share(part: u64, of: u64, whole: u64) -> u64 {
    (2 * part * of + whole).checked_div(2 * whole).unwrap_or(0)
}

impl Add for OutcomeCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            successes: self.successes.saturating_add(other.successes),
            failures: self.failures.saturating_add(other.failures),
            overloads: self.overloads.saturating_add(other.overloads),
        }
    }
}

/// Counts outcomes one by one; cancelled ones are passed over.
impl FromIterator<Outcome> for OutcomeCounts {
    fn from_iter<I: IntoIterator<Item = Outcome>>(outcomes: I) -> Self {
        let one = |outcome| match outcome {
            Outcome::Success => Self::new(1, 0, 0),
            Outcome::Failure => Self::new(0, 1, 0),
            Outcome::Overload { .. } => Self::new(0, 0, 1),
            Outcome::Cancelled => Self::default(),
        };
        outcomes.into_iter().map(one).fold(Self::default(), Add::add)
    }
}
