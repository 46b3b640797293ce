//! A slow answer that is right by inspection: whose turn it is.

use poise::core::{Candidate, View};

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
