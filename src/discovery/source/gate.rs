//! What an answer may do.

use std::time::{Duration, Instant};

use super::{EmptyAnswer, SourcePolicy};
use crate::core::Now;

/// Decides about answers by nothing but their kind, their order and the time.
///
/// ```text
///              full set                 error, refused changes
///  Unsynced ---------------> Synced ------------------------> Unsynced
///                            |   ^
///   empty set, members there |   | full set, or changes that amount to one
///                            v   |
///                           Emptied ---- grace over: apply the empty set ----> Synced
/// ```
#[derive(Debug)]
pub(super) struct Gate {
    empty_answer: EmptyAnswer,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// What the source has now is not known, so that changes of it mean nothing.
    Unsynced,
    /// The directory has what the source has.
    Synced,
    /// The source has nobody, and the directory has those from before until the instant, if there is one.
    Emptied { until: Option<Instant> },
}

/// Tells what to do with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is applied as it is.
    Apply,
    /// It is kept off.
    Keep,
    /// These changes are changes of nobody: what they amount to is a full set.
    Collect,
    /// These changes are of a state that is not known.
    Refuse,
}

impl Gate {
    pub(super) fn new(policy: SourcePolicy) -> Self {
        let phase = if policy.takes_changes_first() { Phase::Synced } else { Phase::Unsynced };
        Self { empty_answer: policy.empty_answer(), phase }
    }

    pub(super) fn full(&mut self, is_empty: bool, has_members: bool, now: &Now) -> Verdict {
        if !is_empty || !has_members || self.takes_empty(now) {
            self.phase = Phase::Synced;
            return Verdict::Apply;
        }
        Verdict::Keep
    }

    /// Starts the grace period with the first empty answer, and tells whether it is over.
    fn takes_empty(&mut self, now: &Now) -> bool {
        let grace = match self.empty_answer {
            EmptyAnswer::KeepFor(grace) => grace,
            EmptyAnswer::Apply => Duration::ZERO,
            EmptyAnswer::Keep => Duration::MAX,
        };
        if !matches!(self.phase, Phase::Emptied { .. }) {
            self.phase = Phase::Emptied { until: now.instant().checked_add(grace) };
        }
        self.is_due(now)
    }

    pub(super) fn changes(&mut self) -> Verdict {
        match self.phase {
            Phase::Synced => Verdict::Apply,
            Phase::Emptied { .. } => Verdict::Collect,
            Phase::Unsynced => Verdict::Refuse,
        }
    }

    /// An error takes back that there is nobody.
    pub(super) fn failed(&mut self) {
        self.phase = Phase::Unsynced;
    }

    /// Tells whether the empty answer is to be applied now.
    pub(super) fn is_due(&self, now: &Now) -> bool {
        self.due().is_some_and(|until| now.has_reached(until))
    }

    pub(super) fn due(&self) -> Option<Instant> {
        match self.phase {
            Phase::Emptied { until } => until,
            Phase::Unsynced | Phase::Synced => None,
        }
    }

    pub(super) fn is_synced(&self) -> bool {
        self.phase != Phase::Unsynced
    }

    pub(super) fn keeps_empty_off(&self) -> bool {
        matches!(self.phase, Phase::Emptied { .. })
    }
}
