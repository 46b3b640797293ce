//! The one writer of a membership.

use std::fmt;
use std::hash::Hash;

use super::draft::{Draft, Fault};
use super::{
    Applied, Change, DirectoryError, Discovered, Effect, Revision, Snapshot, SnapshotPublisher,
    SnapshotReader, snapshot_channel,
};
use crate::core::{Attributes, Candidate};

/// Keeps a membership and publishes each of its states.
///
/// A directory has one writer, who owns it, and any number of [readers](Self::reader), who see every effective call as
/// one new revision. Calls without effect publish nothing. Dropping the directory closes its readers, who keep the last
/// state. Where several tasks change it, a mutex makes them take turns; no call waits for anything.
///
/// Members stand in the order in which they were added; a replacement takes the place of what it replaces.
///
/// | call | allocation | attributes |
/// |---|---|---|
/// | [`upsert`](Self::upsert), [`upsert_with`](Self::upsert_with) | new | those given |
/// | [`amend`](Self::amend) | kept | those given |
/// | [`replace`](Self::replace), [`replace_with`](Self::replace_with) | kept if the same, else new | those given |
/// | [`remove`](Self::remove) | kept | the status becomes `Draining` |
/// | [`finish_drain`](Self::finish_drain), [`finish_drained_where`](Self::finish_drained_where) | let go | |
///
/// Draining is a state like any other: [`amend`](Self::amend) may make such a member ready again as the generation
/// that it is and [`upsert`](Self::upsert) as a new one, and [`finish_drain`](Self::finish_drain) lets go of it
/// whether it was removed or was given this status.
///
/// # Complexity
///
/// An effective call costs O(n) copies of small records, as readers get one coherent slice, and no copy of a key or a
/// backend. Many changes are best made in one [`apply`](Self::apply) or [`replace`](Self::replace).
///
/// # Examples
///
/// ```
/// use poise::core::Backend;
/// use poise::discovery::{Directory, Effect};
///
/// let mut directory = Directory::new();
/// let reader = directory.reader();
/// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
/// directory.upsert("b", Backend::new("10.0.0.2:80"))?;
/// assert_eq!(reader.load().len(), 2);
///
/// assert_eq!(directory.remove(&"a")?, Effect::Draining);
/// assert_eq!(reader.load().len(), 2, "who drains is still a member");
///
/// assert_eq!(directory.finish_drain(&"a")?, Effect::Removed);
/// assert_eq!(reader.load().len(), 1);
/// # Ok::<(), poise::discovery::DirectoryError>(())
/// ```
pub struct Directory<K, B> {
    publisher: SnapshotPublisher<K, B>,
}

impl<K, B> Directory<K, B> {
    /// Makes a directory of which nothing is known: [`Revision::ZERO`] and no members.
    #[must_use]
    pub fn new() -> Self {
        Self::resume(Snapshot::unknown())
    }

    /// Makes a directory that goes on from a state: with its members, their allocations and its revision.
    #[must_use]
    pub fn resume(snapshot: Snapshot<K, B>) -> Self {
        Self { publisher: snapshot_channel(snapshot).0 }
    }

    /// Returns the current state.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<K, B> {
        self.publisher.latest().clone()
    }

    /// Returns a reader, who sees the current state and all that follow.
    #[must_use]
    pub fn reader(&self) -> SnapshotReader<K, B> {
        self.publisher.reader()
    }

    /// Tells whether anybody can see what is published: a reader or a stream.
    #[must_use]
    pub fn has_readers(&self) -> bool {
        self.publisher.has_readers()
    }

    /// Returns the current revision, [`Revision::ZERO`] before the first publication.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.publisher.latest().revision()
    }

    /// Returns how many members there are, those that drain among them.
    #[must_use]
    pub fn len(&self) -> usize {
        self.publisher.latest().len()
    }

    /// Tells whether there are no members, not even one that drains.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.publisher.latest().is_empty()
    }
}

impl<K: Eq + Hash, B> Directory<K, B> {
    /// Returns the member with this key.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&Discovered<K, B>> {
        self.publisher.latest().get(key)
    }

    /// Adds a member, or gives it a new generation, with the attributes that the backend has itself.
    ///
    /// The backend gets a new allocation also when it equals the old one, so that a caller can always force a fresh
    /// start. Use [`amend`](Self::amend) for what is no new generation.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::RevisionsExhausted`].
    pub fn upsert(&mut self, key: K, backend: B) -> Result<Effect, DirectoryError>
    where
        B: Candidate,
    {
        let attributes = backend.attributes();
        self.upsert_with(key, backend, attributes)
    }

    /// Adds a member, or gives it a new generation, with these attributes.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::RevisionsExhausted`].
    pub fn upsert_with(
        &mut self,
        key: K,
        backend: B,
        attributes: Attributes,
    ) -> Result<Effect, DirectoryError> {
        self.change(|draft| Ok(draft.upsert(key, backend, attributes)))
    }

    /// Sets the attributes of a member and keeps its generation, and with that its service, load and health.
    ///
    /// Equal attributes are no change. A member that drains may be made ready again in this way: whoever amends has
    /// the last word.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::UnknownKey`], [`DirectoryError::RevisionsExhausted`].
    ///
    /// # Examples
    ///
    /// ```
    /// use poise::core::{Attributes, Weight};
    /// use poise::discovery::{Directory, Effect};
    ///
    /// let mut directory = Directory::new();
    /// directory.upsert_with("a", "10.0.0.1:80", Attributes::default())?;
    /// let before = directory.snapshot();
    /// directory.amend(&"a", Attributes::default().with_weight(Weight::new(3)?))?;
    ///
    /// let after = directory.snapshot();
    /// assert!(after.members()[0].same_generation(&before.members()[0]));
    /// assert_eq!(after.members()[0].attributes().weight().value(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn amend(&mut self, key: &K, attributes: Attributes) -> Result<Effect, DirectoryError> {
        self.change(|draft| draft.amend(key, attributes))
    }

    /// Makes a member drain: it finishes what it has and takes no new work until [`finish_drain`](Self::finish_drain).
    ///
    /// Removing again, or removing who is not there, is no change, as sources may say so twice.
    ///
    /// To stop a server without failing a request: remove it; wait until whoever dispatches to it has seen that and has nothing
    /// in flight there any more (`Builder::on_drained` of a balancer says so), and until bodies that were still being read had
    /// their time, unless attempts last until their end (`Balancer::guarded`); finish the drain; stop the server.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::RevisionsExhausted`].
    pub fn remove(&mut self, key: &K) -> Result<Effect, DirectoryError> {
        self.change(|draft| Ok(draft.remove(key)))
    }

    /// Lets a member go that drains.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::UnknownKey`], [`DirectoryError::NotDraining`], [`DirectoryError::RevisionsExhausted`].
    pub fn finish_drain(&mut self, key: &K) -> Result<Effect, DirectoryError> {
        self.change(|draft| draft.finish_drain(key))
    }

    /// Lets go, as one revision, of all members that drain and that `is_done` names.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::RevisionsExhausted`].
    ///
    /// # Examples
    ///
    /// ```
    /// use poise::core::Attributes;
    /// use poise::discovery::Directory;
    ///
    /// let mut directory = Directory::new();
    /// for (key, connections) in [("a", 0), ("b", 2), ("c", 0)] {
    ///     directory.upsert_with(key, connections, Attributes::default())?;
    /// }
    /// directory.remove(&"a")?;
    /// directory.remove(&"b")?;
    /// let applied = directory.finish_drained_where(|member| **member.backend() == 0)?;
    /// assert_eq!(applied.removed(), 1, "b has work, c does not drain");
    /// # Ok::<(), poise::discovery::DirectoryError>(())
    /// ```
    pub fn finish_drained_where<F>(&mut self, mut is_done: F) -> Result<Applied, DirectoryError>
    where
        F: FnMut(&Discovered<K, B>) -> bool,
    {
        let base = self.publisher.latest().clone();
        let done = base.iter().filter(|member| member.is_draining() && is_done(member)).map(Discovered::key);
        self.batch(false, |draft| {
            done.enumerate()
                .map(|(place, key)| draft.finish_drain(key).map_err(|fault| fault.at(place)))
                .collect()
        })
    }

    /// Makes all changes of a batch, or none, as one revision.
    ///
    /// Each change finds what those before it left. The first batch that succeeds publishes also when it is empty or
    /// without effect: from then on the membership is known, if only to be empty.
    ///
    /// # Errors
    ///
    /// [`DirectoryError::UnknownKey`] and [`DirectoryError::NotDraining`] name the change that failed;
    /// [`DirectoryError::RevisionsExhausted`].
    ///
    /// # Examples
    ///
    /// ```
    /// use poise::core::Backend;
    /// use poise::discovery::{Change, Directory, DirectoryError};
    ///
    /// let mut directory = Directory::new();
    /// let applied = directory.apply([
    ///     Change::upsert("a", Backend::new("10.0.0.1:80")),
    ///     Change::upsert("b", Backend::new("10.0.0.2:80")),
    /// ])?;
    /// assert_eq!((applied.added(), applied.revision().value()), (2, 1));
    ///
    /// let refused = directory.apply([Change::Remove { key: "a" }, Change::FinishDrain { key: "b" }]);
    /// assert_eq!(refused, Err(DirectoryError::NotDraining { change: 1 }));
    /// assert_eq!(directory.revision().value(), 1, "nothing has changed");
    /// # Ok::<(), DirectoryError>(())
    /// ```
    pub fn apply<I>(&mut self, changes: I) -> Result<Applied, DirectoryError>
    where
        I: IntoIterator<Item = Change<K, B>>,
    {
        self.batch(true, |draft| {
            let changes = changes.into_iter().enumerate();
            changes.map(|(place, change)| draft.make(change).map_err(|fault| fault.at(place))).collect()
        })
    }

    fn change<F>(&mut self, change: F) -> Result<Effect, DirectoryError>
    where
        F: FnOnce(&mut Draft<'_, K, B>) -> Result<Effect, Fault>,
    {
        self.transact(false, |draft| change(draft).map_err(|fault| fault.at(0)))
    }

    pub(super) fn batch<F>(&mut self, makes_known: bool, batch: F) -> Result<Applied, DirectoryError>
    where
        F: FnOnce(&mut Draft<'_, K, B>) -> Result<Vec<Effect>, DirectoryError>,
    {
        let effects = self.transact(makes_known, batch)?;
        Ok(Applied::new(self.revision(), effects))
    }

    /// Runs `edit` on a draft and publishes it when it succeeds and has an effect.
    ///
    /// `makes_known` tells that a first call is an effect in itself.
    fn transact<T, F>(&mut self, makes_known: bool, edit: F) -> Result<T, DirectoryError>
    where
        F: FnOnce(&mut Draft<'_, K, B>) -> Result<T, DirectoryError>,
    {
        let base = self.publisher.latest();
        let mut draft = Draft::new(base);
        let result = edit(&mut draft)?;
        if draft.is_effective() || (makes_known && base.revision() == Revision::ZERO) {
            let revision = base.revision().next().ok_or(DirectoryError::RevisionsExhausted)?;
            let next = draft.finish(revision);
            self.publisher.advance(next);
        }
        Ok(result)
    }
}

impl<K, B> Default for Directory<K, B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, B> fmt::Debug for Directory<K, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Directory")
            .field("revision", &self.revision())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}
