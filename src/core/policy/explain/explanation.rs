//! A choice with its reasons.

use super::Reason;
use crate::core::Selection;

/// Says what a policy would choose, and how it would come to it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explanation {
    /// The candidate; none when a policy does not say without choosing.
    pub selection: Option<Selection>,
    /// One reason for each policy, the outermost first.
    pub reasons: Vec<Reason>,
}

impl Explanation {
    /// Says what would be chosen, for this reason.
    #[must_use]
    pub fn new(selection: Selection, reason: Reason) -> Self {
        Self { selection: Some(selection), reasons: vec![reason] }
    }

    /// Says that a policy does not say.
    #[must_use]
    pub fn untold() -> Self {
        Self { selection: None, reasons: vec![Reason::Untold] }
    }

    /// Adds the reason of a policy around this one.
    #[must_use]
    pub fn within(mut self, reason: Reason) -> Self {
        self.reasons.insert(0, reason);
        self
    }
}
