//! How a balance follows a stream of snapshots.

use std::error::Error;
use std::fmt;
use std::num::NonZeroU32;

use crate::tower::timer::Clock;
use crate::tower::{Backoff, Timer};

/// Says what becomes of a balance whose publisher is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEndPolicy {
    /// It serves the last membership for as long as it lives.
    #[default]
    LastKnownGood,
    /// It takes no more requests once the last snapshot is in effect.
    FailClosed,
}

/// Says how a [`StreamingDiscoveryBalance`](super::StreamingDiscoveryBalance) follows its stream.
///
/// | setting | range | default |
/// |---|---|---|
/// | [update budget](Self::with_update_budget): snapshots that one poll may apply | at least 1 | 8 |
/// | [end](Self::with_end_policy) | [`StreamEndPolicy`] | the last known good membership |
/// | [failures](Self::report_failures) | an error of `poll_ready`, or reported and tried again | an error of `poll_ready` |
#[derive(Debug)]
pub struct StreamingConfig {
    pub(super) budget: NonZeroU32,
    pub(super) end: StreamEndPolicy,
    pub(super) retry: Option<(Backoff, Clock)>,
}

impl StreamingConfig {
    /// Makes the default configuration.
    #[must_use]
    pub fn new() -> Self {
        Self { budget: NonZeroU32::MIN.saturating_add(7), end: StreamEndPolicy::default(), retry: None }
    }

    /// Sets how many snapshots one poll may apply before it yields to other tasks.
    ///
    /// # Errors
    ///
    /// [`ZeroUpdateBudget`].
    pub fn with_update_budget(self, updates: u32) -> Result<Self, ZeroUpdateBudget> {
        NonZeroU32::new(updates).map(|budget| Self { budget, ..self }).ok_or(ZeroUpdateBudget)
    }

    /// Sets what happens when the publisher is gone.
    #[must_use]
    pub fn with_end_policy(self, end: StreamEndPolicy) -> Self {
        Self { end, ..self }
    }

    /// Goes on with the last good membership when a snapshot fails, tries that snapshot again after a pause, and a newer one
    /// at once.
    ///
    /// The failure is seen in [`failure`](super::StreamingDiscoveryBalance::failure). Without this it is an error of
    /// `poll_ready`, which most callers, such as `tower`'s `Buffer`, take for the end of the service.
    #[must_use]
    pub fn report_failures(self, backoff: Backoff, timer: impl Timer) -> Self {
        Self { retry: Some((backoff, Clock::new(timer))), ..self }
    }
}

impl Default for StreamingConfig {
    fn default() -> Self {
        Self::new()
    }
}

/// Reports a budget under which no snapshot could ever take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroUpdateBudget;

impl fmt::Display for ZeroUpdateBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a poll must be allowed to apply at least one snapshot")
    }
}

impl Error for ZeroUpdateBudget {}
