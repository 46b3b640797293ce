//! How anything here waits.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use crate::core::Now;

/// Tells the time and waits.
///
/// It is the only way in which this module waits, so a runtime is supported by implementing it. With the feature `tokio`,
/// `poise::tokio::TokioTimer` does.
///
/// Instants of one timer belong together; they need not be those of the system's clock.
pub trait Timer: Clone + Send + Sync + 'static {
    /// Waits until an instant.
    type Sleep: Future<Output = ()> + Send + 'static;

    /// Returns the current instant.
    fn now(&self) -> Instant;

    /// Makes a future that is ready from `deadline` on; at once when that has passed.
    fn sleep_until(&self, deadline: Instant) -> Self::Sleep;
}

/// A timer whose type is forgotten. Only who waits pays for it, with one allocation.
pub(crate) trait AnyTimer: Send + Sync {
    fn now(&self) -> Instant;
    fn sleep_until(&self, deadline: Instant) -> Sleep;
}

/// A wait of a timer whose type is forgotten.
pub(crate) type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<T: Timer> AnyTimer for T {
    fn now(&self) -> Instant {
        Timer::now(self)
    }

    fn sleep_until(&self, deadline: Instant) -> Sleep {
        Box::pin(Timer::sleep_until(self, deadline))
    }
}

/// Tells the time of a timer, or of the system when there is none.
#[derive(Clone, Default)]
pub(crate) struct Clock(Option<Arc<dyn AnyTimer>>);

impl Clock {
    pub(crate) fn new(timer: impl Timer) -> Self {
        Self(Some(Arc::new(timer)))
    }

    pub(crate) fn now(&self) -> Now {
        self.0.as_ref().map_or_else(Now::lazy, |timer| Now::at(timer.now()))
    }

    pub(crate) fn timer(&self) -> Option<&dyn AnyTimer> {
        self.0.as_deref()
    }
}

/// Wakes a task at an instant.
#[derive(Default)]
pub(crate) struct Alarm(Option<(Instant, Sleep)>);

impl Alarm {
    /// Is ready when `at` has come, and wakes the task then. Without a timer that never happens.
    pub(crate) fn poll(
        &mut self,
        timer: Option<&dyn AnyTimer>,
        at: Option<Instant>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let (Some(at), Some(timer)) = (at, timer) else {
            self.0 = None;
            return Poll::Pending;
        };
        if self.0.as_ref().is_none_or(|(armed, _)| *armed != at) {
            self.0 = Some((at, timer.sleep_until(at)));
        }
        let Some((_, sleep)) = &mut self.0 else { return Poll::Pending };
        ready!(sleep.as_mut().poll(cx));
        self.0 = None;
        Poll::Ready(())
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Clock(timer)" } else { "Clock(system)" })
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Alarm").field(&self.0.as_ref().map(|(at, _)| at)).finish()
    }
}
