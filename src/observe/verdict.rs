//! What a pick came to, as a dimension.

use std::fmt;

use super::labels;
use crate::core::{PickError, Selection};

/// Says what a pick came to, with nothing of whom it concerned.
///
/// It has as many values as there are variants, so that it may be a label. [`PickEvent`](super::PickEvent) has the details.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PickVerdict {
    /// A candidate was chosen.
    Selected,
    /// A candidate was chosen over the verdicts of health.
    SelectedInPanic,
    /// Discovery had not said yet who the members are.
    Undiscovered,
    /// There were no candidates.
    Empty,
    /// Each candidate was excluded.
    NoEligible,
    /// Every candidate that could serve was at its limit of concurrent work.
    AtCapacity,
    /// The weights added up to more than the policy can count.
    WeightOverflow,
    /// Two candidates had the same identity.
    DuplicateIdentity,
    /// There were more candidates than the structure of the policy has places.
    CapacityExceeded,
    /// The topology contradicted itself.
    InconsistentTopology,
    /// So few candidates were healthy that the policy was told to serve nobody.
    PanicRejected,
    /// The policy chose somebody whom it was not offered.
    InvalidSelection,
    /// The balancer was closed.
    Closed,
}

impl PickVerdict {
    /// Every verdict.
    pub const ALL: [Self; 13] = [
        Self::Selected,
        Self::SelectedInPanic,
        Self::Undiscovered,
        Self::Empty,
        Self::NoEligible,
        Self::AtCapacity,
        Self::WeightOverflow,
        Self::DuplicateIdentity,
        Self::CapacityExceeded,
        Self::InconsistentTopology,
        Self::PanicRejected,
        Self::InvalidSelection,
        Self::Closed,
    ];

    /// Returns the verdict on what a policy answered.
    ///
    /// ```
    /// use poise::core::PickError;
    /// use poise::observe::PickVerdict;
    ///
    /// assert_eq!(PickVerdict::of(&Err(PickError::Empty)), PickVerdict::Empty);
    /// ```
    #[must_use]
    pub const fn of(result: &Result<Selection, PickError>) -> Self {
        match result {
            Ok(selection) if selection.is_panic() => Self::SelectedInPanic,
            Ok(_) => Self::Selected,
            Err(PickError::Empty) => Self::Empty,
            Err(PickError::NoEligible(_)) => Self::NoEligible,
            Err(PickError::WeightOverflow) => Self::WeightOverflow,
            Err(PickError::DuplicateIdentity { .. }) => Self::DuplicateIdentity,
            Err(PickError::CapacityExceeded { .. }) => Self::CapacityExceeded,
            Err(PickError::InconsistentTopology) => Self::InconsistentTopology,
            Err(PickError::PanicRejected(_)) => Self::PanicRejected,
        }
    }

    /// Tells whether a candidate was chosen.
    #[must_use]
    pub const fn is_selected(self) -> bool {
        matches!(self, Self::Selected | Self::SelectedInPanic)
    }
}

impl fmt::Display for PickVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(labels::verdict(*self))
    }
}
