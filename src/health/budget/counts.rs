//! The word of a budget.

use super::BudgetKind;

/// Unpacks the word of a budget: three fields of 21 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) members: u32,
    pub(super) circuits: u32,
    pub(super) outliers: u32,
}

impl Counts {
    const WIDTH: u32 = 21;
    pub(super) const LIMIT: u32 = (1 << Self::WIDTH) - 1;

    pub(super) fn unpack(word: u64) -> Self {
        let field = |place: u32| u32::try_from(word >> (place * Self::WIDTH) & u64::from(Self::LIMIT));
        Self {
            circuits: field(0).unwrap_or(Self::LIMIT),
            outliers: field(1).unwrap_or(Self::LIMIT),
            members: field(2).unwrap_or(Self::LIMIT),
        }
    }

    pub(super) fn pack(self) -> u64 {
        u64::from(self.members) << (2 * Self::WIDTH)
            | u64::from(self.outliers) << Self::WIDTH
            | u64::from(self.circuits)
    }

    pub(super) const fn one(kind: BudgetKind) -> u64 {
        match kind {
            BudgetKind::Circuit => 1,
            BudgetKind::Outlier => 1 << Self::WIDTH,
        }
    }

    pub(super) const fn taken(self, kind: BudgetKind) -> u32 {
        match kind {
            BudgetKind::Circuit => self.circuits,
            BudgetKind::Outlier => self.outliers,
        }
    }

    /// Counts one more; a cap is never above the members, whose number fits, so this does too.
    pub(super) fn with_one_more(self, kind: BudgetKind) -> Self {
        Self::unpack(self.pack() + Self::one(kind))
    }
}
