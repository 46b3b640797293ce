//! Why the parts that were asked had nobody.

use crate::core::{ExclusionCounts, PickError};

/// Adds up the refusals of the parts of one membership.
#[derive(Debug, Default)]
pub(in crate::core::policy) struct Refusals {
    counts: ExclusionCounts,
    panic: bool,
}

impl Refusals {
    /// Keeps the refusal of a part, after which the next one may be asked; any other error ends the pick.
    pub(in crate::core::policy) fn take<T>(
        &mut self,
        answer: Result<T, PickError>,
    ) -> Result<Option<T>, PickError> {
        match answer {
            Ok(found) => Ok(Some(found)),
            Err(PickError::NoEligible(counts)) => {
                self.counts.merge(&counts);
                Ok(None)
            }
            Err(PickError::PanicRejected(counts)) => {
                self.reject(&counts);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Keeps that a part serves nobody because it is in panic.
    pub(in crate::core::policy) fn reject(&mut self, counts: &ExclusionCounts) {
        self.counts.merge(counts);
        self.panic = true;
    }

    /// Returns the refusal of the whole membership.
    pub(in crate::core::policy) fn into_error(self) -> PickError {
        if self.panic { PickError::PanicRejected(self.counts) } else { PickError::NoEligible(self.counts) }
    }
}
