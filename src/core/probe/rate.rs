//! Fractional numbers of things per query.

const MILLIONTHS: f64 = 1e6;

/// Counts in millionths, so that a rate of a third stays one however many queries there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate(u64);

impl Rate {
    /// Makes a rate of a number of things per query that is not negative.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "callers check the range")]
    pub(super) const fn new(per_query: f64) -> Self {
        Self((per_query * MILLIONTHS + 0.5) as u64)
    }

    pub(super) fn per_query(self) -> f64 {
        self.0 as f64 / MILLIONTHS
    }

    /// Returns how many things are due after so many queries: never more than a whole one off, at any time.
    pub(super) fn after(self, queries: u64) -> u64 {
        u64::try_from(u128::from(self.0) * u128::from(queries) / 1_000_000).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::Rate;

    #[test]
    fn fractions_are_exact_in_the_long_run_and_even_in_the_short() {
        let due = |rate: f64, queries| Rate::new(rate).after(queries);
        assert_eq!([0, 1, 2, 3, 4].map(|queries| due(0.5, queries)), [0, 0, 1, 1, 2]);
        assert_eq!([1, 2, 3, 4].map(|queries| due(1.25, queries)), [1, 2, 3, 5]);
        assert_eq!(due(0.1, 1_000_000_000), 100_000_000);
        assert_eq!(due(0.0, u64::MAX), 0);
        assert_eq!(due(16.0, u64::MAX), u64::MAX, "it saturates");
    }
}
