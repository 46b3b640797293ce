//! How long an attempt may take.

use std::task::{Context, Poll};

use super::conduct::Sleep;

/// The limit of the time of one attempt.
pub(super) enum Limit {
    /// Starts to run when it is polled: a future that nobody polls yet has not begun.
    Due,
    Running(Sleep),
    Never,
}

impl Limit {
    /// Is ready when the time is over. `start` starts to wait, if there is a limit.
    pub(super) fn poll(&mut self, start: impl FnOnce() -> Option<Sleep>, cx: &mut Context<'_>) -> Poll<()> {
        if matches!(self, Self::Due) {
            *self = start().map_or(Self::Never, Self::Running);
        }
        match self {
            Self::Running(sleep) => sleep.as_mut().poll(cx),
            _ => Poll::Pending,
        }
    }
}
