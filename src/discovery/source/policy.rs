//! What is believed of a source.

use std::time::Duration;

/// Says what an empty answer of a source does to members that are there.
///
/// A resolver that has lost its data answers like one whose service has no endpoints. Where there are no members to lose,
/// an empty answer is always applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmptyAnswer {
    /// It is applied when the source has said nothing else for so long.
    KeepFor(Duration),
    /// It is applied at once.
    Apply,
    /// It is never applied.
    Keep,
}

impl EmptyAnswer {
    /// How long an empty answer is kept off by default: one minute.
    pub const DEFAULT_GRACE: Duration = Duration::from_secs(60);
}

impl Default for EmptyAnswer {
    fn default() -> Self {
        Self::KeepFor(Self::DEFAULT_GRACE)
    }
}

/// Says how far a source is believed, and what becomes of members that it no longer names.
///
/// | parameter | default |
/// |---|---|
/// | [empty answer](Self::with_empty_answer) | [kept off](EmptyAnswer::KeepFor) for one minute |
/// | [drain](Self::with_drain), how long who has left stays as a draining member | 30 s |
/// | [first answer](Self::with_changes_first) | must be a full set |
///
/// ```
/// use poise::discovery::{EmptyAnswer, SourcePolicy};
///
/// let policy = SourcePolicy::default().with_empty_answer(EmptyAnswer::Apply);
/// assert_eq!(policy.empty_answer(), EmptyAnswer::Apply);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourcePolicy {
    empty_answer: EmptyAnswer,
    drain: Duration,
    changes_first: bool,
}

impl SourcePolicy {
    /// How long a member that has left drains by default: half a minute.
    pub const DEFAULT_DRAIN: Duration = Duration::from_secs(30);

    /// Sets what an empty answer does.
    #[must_use]
    pub fn with_empty_answer(self, empty_answer: EmptyAnswer) -> Self {
        Self { empty_answer, ..self }
    }

    /// Sets how long a member that the source took away stays as a draining one.
    ///
    /// Requests that run are not cut short when it ends; [`Duration::MAX`] leaves it to the source to say
    /// [`FinishDrain`](crate::discovery::Change::FinishDrain).
    #[must_use]
    pub fn with_drain(self, drain: Duration) -> Self {
        Self { drain, ..self }
    }

    /// Lets the first answer be changes of what the directory holds already, as from a source that announces one endpoint
    /// after another. After an error a full set is needed all the same.
    #[must_use]
    pub fn with_changes_first(self) -> Self {
        Self { changes_first: true, ..self }
    }

    /// Returns what an empty answer does.
    #[must_use]
    pub fn empty_answer(self) -> EmptyAnswer {
        self.empty_answer
    }

    /// Returns how long a member that has left drains.
    #[must_use]
    pub fn drain(self) -> Duration {
        self.drain
    }

    /// Tells whether the first answer may be changes.
    #[must_use]
    pub fn takes_changes_first(self) -> bool {
        self.changes_first
    }
}

impl Default for SourcePolicy {
    fn default() -> Self {
        Self { empty_answer: EmptyAnswer::default(), drain: Self::DEFAULT_DRAIN, changes_first: false }
    }
}
