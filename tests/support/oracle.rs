//! Slow answers that are right by inspection: who is eligible, and why the others are not.

use poise::core::{Candidate, ExclusionCounts, View};

/// Counts the reasons of all candidates of the view.
pub(crate) fn counts<C: Candidate>(view: &View<'_, C>) -> ExclusionCounts {
    let mut counts = ExclusionCounts::default();
    (0..view.len()).for_each(|slot| counts.add(view.exclusions_at(slot)));
    counts
}

/// Lists the positions that may be chosen.
pub(crate) fn eligible<C: Candidate>(view: &View<'_, C>) -> Vec<usize> {
    let slots = (0..view.len()).filter(|slot| view.exclusions_at(*slot).is_empty());
    slots.map(|slot| view.position(slot)).collect()
}
