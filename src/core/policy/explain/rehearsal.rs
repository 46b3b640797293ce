//! A pick without a trace.

use std::cell::RefCell;

use super::{Explanation, Reason};
use crate::core::{Candidate, Exclusions, PickError, Policy, Prepare, Prepared, Selection, View};

/// Stands in for an inner policy while the one around it is explained: where it is to pick, it explains.
pub(in crate::core::policy) struct Rehearsal<'a, P> {
    policy: &'a P,
    explanation: RefCell<Option<Explanation>>,
}

impl<'a, P> Rehearsal<'a, P> {
    pub(in crate::core::policy) fn new(policy: &'a P) -> Self {
        Self { policy, explanation: RefCell::new(None) }
    }

    /// Returns what the policy said last, with the reason of the one around it.
    pub(in crate::core::policy) fn within(self, reason: Reason) -> Explanation {
        self.explanation.into_inner().unwrap_or_else(Explanation::untold).within(reason)
    }
}

impl<C, P: Prepare<C>> Prepare<C> for Rehearsal<'_, P> {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        self.policy.prepare(view, previous)
    }
}

impl<C, K: ?Sized, P: Policy<C, K>> Policy<C, K> for Rehearsal<'_, P> {
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        let explanation = self.policy.explain_from(view, key)?;
        // Whoever does not say is taken to find somebody, whom nobody looks at.
        let selection = explanation.selection.unwrap_or(Selection::new(usize::MAX));
        self.explanation.replace(Some(explanation));
        Ok(selection)
    }
}

/// Explains a policy by key that changes nothing when it picks.
pub(in crate::core::policy) fn explain_owner<C: Candidate, K: ?Sized>(
    policy: &impl Policy<C, K>,
    view: &View<'_, C>,
    key: &K,
) -> Result<Explanation, PickError> {
    let selection = policy.pick_from(view, key)?;
    let nothing = vec![Exclusions::NONE; view.candidates().len()];
    let owner = policy.pick_from(&view.with_everybody(&nothing), key)?.index();
    Ok(Explanation::new(selection, Reason::Key { owner, kept: owner == selection.index() }))
}
