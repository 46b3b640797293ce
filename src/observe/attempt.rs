//! An attempt that is told once, whatever becomes of it.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::contain::{contain, tell_attempt};
use super::{AttemptEvent, Observer};
use crate::core::{Now, Outcome, Phase};

/// Tells an observer how one attempt ended and how long it took.
///
/// The end is told exactly once: when it is completed, or when it is dropped, also by a panic, as cancelled. An observer that
/// panics changes nothing.
///
/// Time is that of the clock it was started by, the system's monotonic clock with [`start`](Self::start). A clock that went
/// back counts as no time at all.
///
/// A balancer tells its observers of its attempts itself; this is for who dispatches by hand.
///
/// # Examples
///
/// ```
/// use poise::core::{Outcome, Phase};
/// use poise::observe::{Attempt, Recorder};
///
/// let recorder = Recorder::new();
///
/// let mut attempt = Attempt::start(&recorder);
/// attempt.called();
/// attempt.complete(Outcome::Success);
///
/// drop(Attempt::start(&recorder));
///
/// let counts = recorder.snapshot();
/// assert_eq!(counts.attempts(Phase::Call, Outcome::Success), 1);
/// assert_eq!(counts.attempts(Phase::Readiness, Outcome::Cancelled), 1);
/// ```
#[must_use = "an attempt that is dropped counts as cancelled"]
pub struct Attempt<O: Observer, T: Fn() -> Now = fn() -> Now> {
    observer: O,
    clock: T,
    started: Instant,
    phase: Phase,
    endpoint: Option<Arc<str>>,
    ended: bool,
}

impl<O: Observer> Attempt<O> {
    /// Starts an attempt now, in the phase of [readiness](Phase::Readiness).
    pub fn start(observer: O) -> Self {
        Self::timed_by(observer, Now::lazy)
    }
}

impl<O: Observer, T: Fn() -> Now> Attempt<O, T> {
    /// Starts an attempt by a clock of the caller's own, in the phase of [readiness](Phase::Readiness).
    ///
    /// ```
    /// use poise::core::{Now, Outcome};
    /// use poise::observe::{Attempt, Recorder};
    /// use std::cell::Cell;
    /// use std::time::{Duration, Instant};
    ///
    /// let recorder = Recorder::new();
    /// let time = Cell::new(Instant::now());
    /// let attempt = Attempt::timed_by(&recorder, || Now::at(time.get()));
    /// time.set(time.get() + Duration::from_secs(2));
    /// attempt.complete(Outcome::Success);
    /// assert!(recorder.snapshot().latency(1.0) >= Some(Duration::from_secs(2)));
    /// ```
    pub fn timed_by(observer: O, clock: T) -> Self {
        let started = clock().instant();
        Self { observer, clock, started, phase: Phase::Readiness, endpoint: None, ended: false }
    }

    /// Names the endpoint, for observers that write it down.
    pub fn at(mut self, endpoint: Arc<str>) -> Self {
        self.endpoint = Some(endpoint);
        self
    }

    /// Says that the service has the request.
    pub fn called(&mut self) {
        self.phase = Phase::Call;
    }

    /// Returns how far it has come.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Ends the attempt with an outcome.
    pub fn complete(mut self, outcome: Outcome) {
        self.end(outcome);
    }

    fn end(&mut self, outcome: Outcome) {
        // Said first, so that whatever panics from here on is not told again by the drop.
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let mut elapsed = Duration::ZERO;
        // A clock that panics is no reason not to tell.
        contain(|| elapsed = (self.clock)().since(self.started));
        let event = AttemptEvent {
            endpoint: self.endpoint.as_deref(),
            ..AttemptEvent::new(self.phase, outcome, elapsed)
        };
        tell_attempt(&self.observer, &event);
    }
}

impl<O: Observer, T: Fn() -> Now> Drop for Attempt<O, T> {
    fn drop(&mut self) {
        self.end(Outcome::Cancelled);
    }
}

impl<O: Observer, T: Fn() -> Now> fmt::Debug for Attempt<O, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("phase", &self.phase)
            .field("endpoint", &self.endpoint)
            .finish_non_exhaustive()
    }
}
