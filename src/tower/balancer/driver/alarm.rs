//! One sleep for all that is due at some time.

use std::task::{Context, Poll};
use std::time::Instant;

use super::super::settings::{AnyTimer, Sleep};

/// Sleeps until the earliest time at which there is something to do.
#[derive(Default)]
pub(super) struct Alarm(Option<(Instant, Sleep)>);

impl Alarm {
    /// Is ready when `at` has come; without a time it never is.
    pub(super) fn poll(
        &mut self,
        at: Option<Instant>,
        timer: &dyn AnyTimer,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let Some(at) = at else {
            self.0 = None;
            return Poll::Pending;
        };
        if self.0.as_ref().is_none_or(|(until, _)| *until != at) {
            self.0 = Some((at, timer.sleep_until(at)));
        }
        let rings = self.0.as_mut().is_some_and(|(_, sleep)| sleep.as_mut().poll(cx).is_ready());
        if rings {
            self.0 = None;
            return Poll::Ready(());
        }
        Poll::Pending
    }
}
