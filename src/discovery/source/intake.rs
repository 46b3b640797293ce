//! From answers to a directory.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Instant;

use super::departures::Departures;
use super::gate::{Gate, Verdict};
use super::{FullSet, SourceError, SourcePolicy, SourceStatus, Update};
use crate::core::Now;
use crate::discovery::{Applied, Change, Directory, DirectoryError};

/// Turns the answers of a source into changes of a directory; it waits for nothing, and time is an argument.
///
/// [`drive`](super::drive) feeds it from a stream. A control loop of one's own calls [`answer`](Self::answer) with whatever
/// the source says, and [`tick`](Self::tick) at the instant that [`due`](Self::due) names.
///
/// 1. **The last good set stays.** An error changes no member. It is in the [`SourceStatus`], which others can read, and
///    what comes later applies.
/// 2. **Changes need something to change.** After an error, and at the start, what the source has is not known: changes are
///    refused until there was a full set. [`SourcePolicy::with_changes_first`] lets a source start with changes.
/// 3. **Empty is not believed at once.** A full set of nobody obeys an [`EmptyAnswer`](super::EmptyAnswer): by default it is
///    kept off for a grace period, which starts with the first such answer and ends with any other, an error among them.
///    Changes that follow it are changes of nobody, so that together they are a full set. A batch of changes that takes
///    everybody away says so in so many words, and is applied.
/// 4. **Repetitions cost nothing.** Where a set names a key more than once, the endpoint counts that changes the member
///    least, and else the first. No order of a set rebuilds a member.
/// 5. **Who leaves drains for a while.** A member that the source takes away stays as a draining one for
///    [`SourcePolicy::with_drain`], and is let go then.
///
/// # Examples
///
/// ```
/// use poise::core::{Backend, Now};
/// use poise::discovery::{Change, Directory, Intake, SourceError, SourcePolicy, Taken, Update};
/// use std::io;
///
/// let directory = Directory::new();
/// let reader = directory.reader();
/// let mut intake = Intake::new(directory, SourcePolicy::default(), Backend::is_same_endpoint);
/// let now = Now::lazy();
///
/// intake.answer(Ok(Update::full([("a", Backend::new(1)), ("b", Backend::new(2))])), &now)?;
/// assert!(intake.answer(Err(io::Error::other("unreachable")), &now).is_err());
/// assert_eq!(reader.load().len(), 2, "the last good set stays");
///
/// let refused = intake.answer(Ok(Update::changes([Change::Remove { key: "a" }])), &now).unwrap_err();
/// assert!(matches!(*refused, SourceError::NeedsFullSet), "what the source has now is not known");
///
/// let empty = intake.answer(Ok(Update::full::<(&str, Backend<i32>)>([])), &now)?;
/// assert_eq!((empty, reader.load().len()), (Taken::KeptOff, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Intake<K, B, E, F> {
    directory: Directory<K, B>,
    same: F,
    gate: Gate,
    departures: Departures<K>,
    status: SourceStatus<E>,
}

/// Tells what became of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Taken {
    /// The directory has it.
    Applied(Applied),
    /// It was empty, and is not believed yet.
    KeptOff,
}

impl<K, B, E, F> Intake<K, B, E, F>
where
    K: Clone + Eq + Hash,
    F: FnMut(&B, &B) -> bool,
{
    /// Makes the intake of a directory; `same` tells whether two backends of one key are the same endpoint, as for
    /// [`Directory::replace`].
    #[must_use]
    pub fn new(directory: Directory<K, B>, policy: SourcePolicy, same: F) -> Self {
        let (gate, departures) = (Gate::new(policy), Departures::new(policy.drain()));
        let status = SourceStatus::new();
        status.note(|report| report.stands(gate.is_synced(), gate.keeps_empty_off()));
        Self { directory, same, gate, departures, status }
    }

    /// Takes what the source says.
    ///
    /// # Errors
    ///
    /// [`SourceError`] says why it was not applied: the directory is as it was, and changes are refused until there was a
    /// full set. The [status](Self::status) has it too.
    ///
    /// # Complexity
    ///
    /// O(n + m) for n members and an answer of m.
    pub fn answer(
        &mut self,
        answer: Result<Update<K, B>, E>,
        now: &Now,
    ) -> Result<Taken, Arc<SourceError<E>>> {
        match answer {
            Ok(update) => self.take(update, now).map_err(|error| self.fail(error, now)),
            Err(error) => Err(self.fail(SourceError::Failed(error), now)),
        }
    }

    /// Notes that the source has failed, whatever the reason.
    pub fn fail(&mut self, error: SourceError<E>, now: &Now) -> Arc<SourceError<E>> {
        let error = Arc::new(error);
        self.gate.failed();
        self.status.note(|report| report.failed(Arc::clone(&error), now));
        self.show();
        error
    }

    /// Does what is due by now: applies an empty answer whose grace is over, and lets go of members whose drain is over.
    ///
    /// # Errors
    ///
    /// [`SourceError::Refused`] when there is no further revision.
    pub fn tick(&mut self, now: &Now) -> Result<(), Arc<SourceError<E>>> {
        let done = self.advance(now).map_err(SourceError::Refused);
        done.map_err(|error| self.fail(error, now))
    }

    /// Returns when [`tick`](Self::tick) has something to do, if it will.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.gate.due().into_iter().chain(self.departures.due()).min()
    }

    /// Returns a handle by which others see how the source does.
    #[must_use]
    pub fn status(&self) -> SourceStatus<E> {
        self.status.clone()
    }

    /// Returns the directory.
    #[must_use]
    pub fn directory(&self) -> &Directory<K, B> {
        &self.directory
    }

    /// Gives the directory back.
    #[must_use]
    pub fn into_directory(self) -> Directory<K, B> {
        self.directory
    }

    fn take(&mut self, update: Update<K, B>, now: &Now) -> Result<Taken, SourceError<E>> {
        match update {
            Update::Full(set) => self.take_set(set, now),
            Update::Changes(changes) => match self.gate.changes() {
                Verdict::Refuse => Err(SourceError::NeedsFullSet),
                Verdict::Collect => {
                    let set = FullSet::from_changes(changes).map_err(SourceError::Refused)?;
                    self.take_set(set, now)
                }
                Verdict::Apply | Verdict::Keep => {
                    self.make(changes, now).map(Taken::Applied).map_err(SourceError::Refused)
                }
            },
        }
    }

    fn take_set(&mut self, set: FullSet<K, B>, now: &Now) -> Result<Taken, SourceError<E>> {
        let taken = match self.gate.full(set.is_empty(), self.has_members(), now) {
            Verdict::Keep => {
                self.status.note(super::SourceReport::kept_off);
                Taken::KeptOff
            }
            _ => Taken::Applied(self.replace(set, now).map_err(SourceError::Refused)?),
        };
        self.show();
        Ok(taken)
    }

    fn replace(&mut self, set: FullSet<K, B>, now: &Now) -> Result<Applied, DirectoryError> {
        let (named, set, duplicates) = set.dedupe(&self.directory.snapshot(), &mut self.same);
        let applied = self.directory.replace_with(set.into_endpoints(), &mut self.same)?;
        self.departures.after_set(&self.directory.snapshot(), |key| named.contains_key(key), now);
        self.status.note(|report| report.applied(duplicates, now));
        Ok(applied)
    }

    fn make(&mut self, changes: Vec<Change<K, B>>, now: &Now) -> Result<Applied, DirectoryError> {
        let touched: Vec<(K, bool)> = changes
            .iter()
            .map(|change| (change.key().clone(), matches!(change, Change::Remove { .. })))
            .collect();
        let applied = self.directory.apply(changes)?;
        self.departures.after_changes(&self.directory.snapshot(), &touched, now);
        self.status.note(|report| report.applied(0, now));
        self.show();
        Ok(applied)
    }

    fn advance(&mut self, now: &Now) -> Result<(), DirectoryError> {
        if self.gate.is_due(now) {
            self.gate.full(true, true, now);
            self.replace(FullSet::empty(), now)?;
            self.show();
        }
        if self.departures.due().is_some_and(|due| now.has_reached(due)) {
            let departures = &self.departures;
            self.directory.finish_drained_where(|member| departures.is_over(member.key(), now))?;
            self.departures.forget_the_gone(&self.directory.snapshot());
        }
        Ok(())
    }

    /// Tells whether there is anybody whom an empty answer would take away.
    fn has_members(&self) -> bool {
        !self.directory.snapshot().iter().all(crate::discovery::Discovered::is_draining)
    }

    fn show(&self) {
        self.status.note(|report| report.stands(self.gate.is_synced(), self.gate.keeps_empty_off()));
    }
}

impl<K, B, E, F> fmt::Debug for Intake<K, B, E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Intake")
            .field("directory", &self.directory)
            .field("gate", &self.gate)
            .finish_non_exhaustive()
    }
}
