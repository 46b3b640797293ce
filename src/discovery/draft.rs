//! The next state of a membership while it is made.

use std::hash::Hash;
use std::sync::Arc;

use super::snapshot::Index;
use super::{Change, DirectoryError, Discovered, Effect, Revision, Snapshot};
use crate::core::{Attributes, Status};

/// Collects changes on top of a state that stays as it is.
///
/// Giving the draft up undoes them all. Records are copied, keys and backends never are: the first effective change
/// copies the records, the first that adds or lets go of a member also the index.
pub(super) struct Draft<'a, K, B> {
    base: &'a Snapshot<K, B>,
    /// The members of this draft, or nothing while they are those of the base. Who is gone leaves a hole, so that
    /// positions hold until the draft is finished.
    slots: Option<Vec<Option<Discovered<K, B>>>>,
    /// Names exactly the slots that are no holes.
    index: Arc<Index<K>>,
}

/// What can be wrong with one change, wherever it stands.
#[derive(Clone, Copy)]
pub(super) enum Fault {
    UnknownKey,
    NotDraining,
}

impl Fault {
    pub(super) fn at(self, change: usize) -> DirectoryError {
        match self {
            Self::UnknownKey => DirectoryError::UnknownKey { change },
            Self::NotDraining => DirectoryError::NotDraining { change },
        }
    }
}

impl<'a, K: Eq + Hash, B> Draft<'a, K, B> {
    pub(super) fn new(base: &'a Snapshot<K, B>) -> Self {
        Self { base, slots: None, index: Arc::clone(base.index()) }
    }

    pub(super) fn is_effective(&self) -> bool {
        self.slots.is_some()
    }

    pub(super) fn make(&mut self, change: Change<K, B>) -> Result<Effect, Fault> {
        match change {
            Change::Upsert { key, backend, attributes } => Ok(self.upsert(key, backend, attributes)),
            Change::Amend { key, attributes } => self.amend(&key, attributes),
            Change::Remove { key } => Ok(self.remove(&key)),
            Change::FinishDrain { key } => self.finish_drain(&key),
        }
    }

    pub(super) fn upsert(&mut self, key: K, backend: B, attributes: Attributes) -> Effect {
        self.reconcile(key, backend, attributes, |_, _| false).1
    }

    /// Upserts unless the member is the same endpoint already, and tells its position.
    pub(super) fn reconcile(
        &mut self,
        key: K,
        backend: B,
        attributes: Attributes,
        mut same: impl FnMut(&B, &B) -> bool,
    ) -> (usize, Effect) {
        match self.find(&key) {
            Some((position, member)) if same(member.backend(), &backend) => {
                (position, self.set_attributes(position, attributes))
            }
            Some((position, member)) => {
                let renewed = member.clone().with_backend(Arc::new(backend)).with_attributes(attributes);
                self.set(position, Some(renewed));
                (position, Effect::Replaced)
            }
            None => (self.push(Discovered::new(key, Arc::new(backend), attributes)), Effect::Added),
        }
    }

    pub(super) fn amend(&mut self, key: &K, attributes: Attributes) -> Result<Effect, Fault> {
        let (position, _) = self.find(key).ok_or(Fault::UnknownKey)?;
        Ok(self.set_attributes(position, attributes))
    }

    pub(super) fn remove(&mut self, key: &K) -> Effect {
        self.index.get(key).copied().map_or(Effect::Unchanged, |position| self.retire(position))
    }

    /// Makes the member at this position drain.
    pub(super) fn retire(&mut self, position: usize) -> Effect {
        let Some(member) = self.member(position).filter(|member| !member.is_draining()) else {
            return Effect::Unchanged;
        };
        let draining = member.attributes().clone().with_status(Status::Draining);
        self.set_attributes(position, draining);
        Effect::Draining
    }

    pub(super) fn finish_drain(&mut self, key: &K) -> Result<Effect, Fault> {
        let (position, member) = self.find(key).ok_or(Fault::UnknownKey)?;
        if !member.is_draining() {
            return Err(Fault::NotDraining);
        }
        self.set(position, None);
        Arc::make_mut(&mut self.index).remove(key);
        Ok(Effect::Removed)
    }

    /// Closes the holes and makes the state.
    pub(super) fn finish(mut self, revision: Revision) -> Snapshot<K, B> {
        let members = match self.slots.take() {
            Some(slots) => {
                self.renumber(&slots);
                slots.into_iter().flatten().collect()
            }
            None => self.base.members().into(),
        };
        Snapshot::from_parts(revision, members, self.index)
    }

    fn renumber(&mut self, slots: &[Option<Discovered<K, B>>]) {
        if slots.iter().all(Option::is_some) {
            return;
        }
        let mut members = 0;
        let places: Vec<usize> = slots
            .iter()
            .map(|slot| {
                let place = members;
                members += usize::from(slot.is_some());
                place
            })
            .collect();
        for position in Arc::make_mut(&mut self.index).values_mut() {
            *position = places[*position];
        }
    }

    fn find(&self, key: &K) -> Option<(usize, &Discovered<K, B>)> {
        let position = *self.index.get(key)?;
        Some((position, self.member(position)?))
    }

    fn member(&self, position: usize) -> Option<&Discovered<K, B>> {
        match &self.slots {
            Some(slots) => slots.get(position)?.as_ref(),
            None => self.base.members().get(position),
        }
    }

    fn set_attributes(&mut self, position: usize, attributes: Attributes) -> Effect {
        match self.member(position) {
            Some(member) if *member.attributes() != attributes => {
                let amended = member.clone().with_attributes(attributes);
                self.set(position, Some(amended));
                Effect::Amended
            }
            _ => Effect::Unchanged,
        }
    }

    fn push(&mut self, member: Discovered<K, B>) -> usize {
        let key = Arc::clone(member.shared_key());
        let slots = self.slots_mut();
        let position = slots.len();
        slots.push(Some(member));
        Arc::make_mut(&mut self.index).insert(key, position);
        position
    }

    fn set(&mut self, position: usize, member: Option<Discovered<K, B>>) {
        if let Some(slot) = self.slots_mut().get_mut(position) {
            *slot = member;
        }
    }

    fn slots_mut(&mut self) -> &mut Vec<Option<Discovered<K, B>>> {
        let base = self.base;
        self.slots.get_or_insert_with(|| base.iter().cloned().map(Some).collect())
    }
}
