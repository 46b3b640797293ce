//! Slow answers that are right by inspection: who is eligible, and whose turn it is.

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

/// A turn that goes around, with one remembered claim.
pub(crate) struct Turns {
    pub(crate) next: usize,
    pub(crate) owed: Option<usize>,
}

impl Turns {
    pub(crate) fn pick<C: Candidate>(&mut self, view: &View<'_, C>) -> Option<usize> {
        let members = view.len();
        let can = |slot: &usize| view.exclusions_at(*slot).is_empty();
        let next = self.next % members.max(1);
        if let Some(owed) = self.owed.filter(|owed| *owed < members && can(owed)) {
            *self = Self { next, owed: None };
            return Some(view.position(owed));
        }
        let served = (next..members).chain(0..next).find(can)?;
        self.owed = if served == next { self.owed } else { Some(next) };
        self.next = (served + 1) % members;
        Some(view.position(served))
    }
}
