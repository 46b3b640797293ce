//! The caps of a budget.

use std::error::Error;
use std::fmt;

use super::BudgetKind;
use super::counts::Counts;

/// Holds the caps of an [`ExclusionBudget`](crate::health::ExclusionBudget).
///
/// | parameter | range | default |
/// |---|---|---|
/// | [circuits](Self::with_circuits) | fraction of the members, 0 to 1, rounded down | 0.5 |
/// | [outliers](Self::with_outliers) | fraction of the members, 0 to 1, rounded down | 0.1 |
/// | [at least one](Self::with_at_least_one) outlier, however small the pool | yes or no | no |
/// | [members left in](Self::with_min_eligible), which wins over all of them | any | 1 |
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetConfig {
    circuits: f64,
    outliers: f64,
    at_least_one: bool,
    min_eligible: u32,
}

impl Default for BudgetConfig {
    fn default() -> Self {
        Self { circuits: 0.5, outliers: 0.1, at_least_one: false, min_eligible: 1 }
    }
}

impl BudgetConfig {
    /// Sets the largest fraction of the members whose circuits may be open.
    ///
    /// # Errors
    ///
    /// [`BudgetConfigError`] when `fraction` is not within 0 to 1, or NaN.
    pub fn with_circuits(self, fraction: f64) -> Result<Self, BudgetConfigError> {
        Ok(Self { circuits: checked(fraction, BudgetKind::Circuit)?, ..self })
    }

    /// Sets the largest fraction of the members that may be ejected as outliers.
    ///
    /// # Errors
    ///
    /// [`BudgetConfigError`] when `fraction` is not within 0 to 1, or NaN.
    pub fn with_outliers(self, fraction: f64) -> Result<Self, BudgetConfigError> {
        Ok(Self { outliers: checked(fraction, BudgetKind::Outlier)?, ..self })
    }

    /// Allows one outlier also where the fraction comes to less than one.
    #[must_use]
    pub fn with_at_least_one(self) -> Self {
        Self { at_least_one: true, ..self }
    }

    /// Sets how many members always stay in, whatever the other caps allow.
    #[must_use]
    pub fn with_min_eligible(self, members: u32) -> Self {
        Self { min_eligible: members, ..self }
    }

    /// Returns how many of `members` may be out for this reason while nobody is out for another.
    #[must_use]
    pub fn cap(&self, kind: BudgetKind, members: u32) -> u32 {
        let share = match kind {
            BudgetKind::Circuit => floor(self.circuits, members),
            BudgetKind::Outlier => floor(self.outliers, members).max(u32::from(self.at_least_one)),
        };
        share.min(self.total(members))
    }

    /// Returns how many of `members` may be out for any reason.
    fn total(&self, members: u32) -> u32 {
        members.saturating_sub(self.min_eligible)
    }

    pub(super) fn allows(&self, kind: BudgetKind, counts: Counts) -> bool {
        counts.taken(kind) < self.cap(kind, counts.members)
            && counts.circuits + counts.outliers < self.total(counts.members)
    }
}

fn checked(fraction: f64, kind: BudgetKind) -> Result<f64, BudgetConfigError> {
    if (0.0..=1.0).contains(&fraction) { Ok(fraction) } else { Err(BudgetConfigError::InvalidFraction(kind)) }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a product of a fraction and a u32 lies within 0 and the latter"
)]
fn floor(fraction: f64, members: u32) -> u32 {
    // 0.29 of 100 is 29, although the product of the floating-point numbers is a little less.
    ((fraction * f64::from(members) + 1e-9) as u32).min(members)
}

/// Says what is wrong with a [`BudgetConfig`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BudgetConfigError {
    /// The cap for this kind is not a fraction from 0 to 1.
    InvalidFraction(BudgetKind),
}

impl fmt::Display for BudgetConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::InvalidFraction(kind) = self;
        f.write_str(match kind {
            BudgetKind::Circuit => "the cap on circuits is not a fraction from 0 to 1",
            BudgetKind::Outlier => "the cap on outliers is not a fraction from 0 to 1",
        })
    }
}

impl Error for BudgetConfigError {}
