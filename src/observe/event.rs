//! What observers hear.
//!
//! Fields may be added to every event, so that whoever makes one uses its constructor and whoever reads one names the fields
//! that it wants.

use std::time::Duration;

use super::PickVerdict;
use crate::core::{ExclusionCounts, Outcome, Phase, PickError, Selection};

/// Tells what a pick came to.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PickEvent<'a> {
    /// What it came to, as a dimension.
    pub verdict: PickVerdict,
    /// What the policy chose, when it was the policy that was observed.
    pub selection: Option<Selection>,
    /// Why the policy chose nobody, when it was the policy that refused.
    pub error: Option<PickError>,
    /// The name of the endpoint, when somebody was chosen whose name is known.
    pub endpoint: Option<&'a str>,
}

impl<'a> PickEvent<'a> {
    /// Tells what a policy answered.
    #[must_use]
    pub fn of(result: &Result<Selection, PickError>) -> Self {
        Self { verdict: PickVerdict::of(result), selection: result.ok(), error: result.err(), endpoint: None }
    }

    /// Tells what a pick came to when there is no more to say.
    #[must_use]
    pub const fn new(verdict: PickVerdict) -> Self {
        Self { verdict, selection: None, error: None, endpoint: None }
    }

    /// Names the endpoint that was chosen.
    #[must_use]
    pub const fn at(self, endpoint: &'a str) -> Self {
        Self { endpoint: Some(endpoint), ..self }
    }

    /// Adds why the policy chose nobody.
    #[must_use]
    pub const fn caused_by(self, error: PickError) -> Self {
        Self { error: Some(error), ..self }
    }

    /// Returns how many candidates each reason excluded, when that is why nobody was chosen.
    #[must_use]
    pub const fn exclusions(&self) -> Option<&ExclusionCounts> {
        match &self.error {
            Some(PickError::NoEligible(counts) | PickError::PanicRejected(counts)) => Some(counts),
            _ => None,
        }
    }
}

/// Tells how an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptEvent<'a> {
    /// How far it had come.
    pub phase: Phase,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub elapsed: Duration,
    /// The name of the endpoint, when it is known.
    pub endpoint: Option<&'a str>,
}

impl<'a> AttemptEvent<'a> {
    /// Tells how an attempt ended.
    #[must_use]
    pub const fn new(phase: Phase, outcome: Outcome, elapsed: Duration) -> Self {
        Self { phase, outcome, elapsed, endpoint: None }
    }

    /// Names the endpoint.
    #[must_use]
    pub const fn at(self, endpoint: &'a str) -> Self {
        Self { endpoint: Some(endpoint), ..self }
    }
}

/// Tells that an endpoint failed before it was handed a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadinessEvent<'a> {
    /// The name of the endpoint, when it is known.
    pub endpoint: Option<&'a str>,
    /// Whether no attempt was under way there: nothing else tells of it, and no request failed by it.
    pub isolated: bool,
}

impl<'a> ReadinessEvent<'a> {
    /// Tells of an endpoint whose name is not known.
    #[must_use]
    pub const fn new() -> Self {
        Self { endpoint: None, isolated: false }
    }

    /// Tells of an endpoint with a name.
    #[must_use]
    pub const fn at(endpoint: &'a str) -> Self {
        Self { endpoint: Some(endpoint), ..Self::new() }
    }

    /// Says that no attempt was under way there.
    #[must_use]
    pub const fn isolated(self) -> Self {
        Self { isolated: true, ..self }
    }
}

/// Tells whether a request may be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryEvent {
    /// Whether the budget had something left.
    pub granted: bool,
}

impl RetryEvent {
    /// Tells that a request is tried again.
    #[must_use]
    pub const fn granted() -> Self {
        Self { granted: true }
    }

    /// Tells that a request would have been tried again, but the budget was spent.
    #[must_use]
    pub const fn denied() -> Self {
        Self { granted: false }
    }
}

/// Says what became of a hedge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HedgeVerdict {
    /// The request was sent to a second endpoint.
    Sent,
    /// It was not, because the budget was spent.
    Denied,
    /// The second endpoint had the answer first.
    Won,
}

/// Tells that a request that takes long was to be sent to a second endpoint, or that the second had the answer first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HedgeEvent<'a> {
    /// What became of it.
    pub verdict: HedgeVerdict,
    /// The name of the second endpoint, when it is told.
    pub endpoint: Option<&'a str>,
}

impl<'a> HedgeEvent<'a> {
    /// Tells what became of a hedge.
    #[must_use]
    pub const fn new(verdict: HedgeVerdict) -> Self {
        Self { verdict, endpoint: None }
    }

    /// Names the second endpoint.
    #[must_use]
    pub const fn at(self, endpoint: &'a str) -> Self {
        Self { endpoint: Some(endpoint), ..self }
    }
}

/// Tells that a membership took effect, and what it took the place of.
///
/// Several balancers may tell the same observer, each with a membership of its own: a sum over all of them changes by the
/// difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MembershipEvent {
    /// Its revision.
    pub revision: u64,
    /// The number of members that can be dispatched to.
    pub members: usize,
    /// The number of members whose service could not be built.
    pub unbuilt: usize,
    /// [`members`](Self::members) of what was in effect before.
    pub members_before: usize,
    /// [`unbuilt`](Self::unbuilt) of what was in effect before.
    pub unbuilt_before: usize,
}

impl MembershipEvent {
    /// Tells of a first membership whose services could all be built.
    #[must_use]
    pub const fn new(revision: u64, members: usize) -> Self {
        Self { revision, members, unbuilt: 0, members_before: 0, unbuilt_before: 0 }
    }

    /// Sets the number of members whose service could not be built.
    #[must_use]
    pub const fn with_unbuilt(self, unbuilt: usize) -> Self {
        Self { unbuilt, ..self }
    }

    /// Sets what was in effect before: [`members`](Self::members) and [`unbuilt`](Self::unbuilt) of `previous`.
    #[must_use]
    pub const fn in_place_of(self, previous: &Self) -> Self {
        Self { members_before: previous.members, unbuilt_before: previous.unbuilt, ..self }
    }
}

/// Tells that requests fail at once from now on because nobody has been eligible for too long, or no longer do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailFastEvent {
    /// Whether requests fail at once now.
    pub on: bool,
}

impl FailFastEvent {
    /// Tells that requests fail at once from now on.
    #[must_use]
    pub const fn started() -> Self {
        Self { on: true }
    }

    /// Tells that requests no longer fail at once.
    #[must_use]
    pub const fn ended() -> Self {
        Self { on: false }
    }
}

/// Tells that code of the user panicked and that the panic was contained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PanicEvent {
    /// Which code: one of a few fixed words.
    pub what: &'static str,
}

impl PanicEvent {
    /// Tells which code panicked.
    #[must_use]
    pub const fn new(what: &'static str) -> Self {
        Self { what }
    }
}

/// Tells that a balancer ended, and what it leaves that was told before.
///
/// Whoever keeps a sum over several balancers takes this off. Attempts that are under way still end afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClosedEvent {
    /// The number of members that could be dispatched to.
    pub members: usize,
    /// The number of members whose service could not be built.
    pub unbuilt: usize,
    /// Whether requests failed at once.
    pub failing_fast: bool,
    /// Whether it was in panic.
    pub panicking: bool,
}

impl ClosedEvent {
    /// Tells that a balancer ended while `last` was in effect.
    #[must_use]
    pub const fn new(last: &MembershipEvent) -> Self {
        Self { members: last.members, unbuilt: last.unbuilt, failing_fast: false, panicking: false }
    }

    /// Says that requests failed at once.
    #[must_use]
    pub const fn while_failing_fast(self) -> Self {
        Self { failing_fast: true, ..self }
    }

    /// Says that it was in panic.
    #[must_use]
    pub const fn while_panicking(self) -> Self {
        Self { panicking: true, ..self }
    }
}
