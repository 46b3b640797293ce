//! The one place where observers are called.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{AttemptEvent, Observer, ReadinessEvent};
use crate::core::Phase;

/// Runs code of an observer, and goes on if it panics.
pub(super) fn contain(code: impl FnOnce()) {
    // An observer shares nothing with us that it could leave half-changed; its own state is its own business.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(code)) {
        // What was thrown is the observer's too, and may panic once more when it is dropped.
        if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(another);
        }
    }
}

/// Asks an observer whether it is listening; if it panics it is, as far as one can tell.
pub(super) fn is_listening(observer: &dyn Observer) -> bool {
    let mut listening = true;
    contain(|| listening = observer.is_listening());
    listening
}

/// Tells how an attempt ended, and that readiness failed when that is what it means.
pub(super) fn tell_attempt(observer: &impl Observer, event: &AttemptEvent<'_>) {
    contain(|| observer.attempt(event));
    if event.phase == Phase::Readiness && event.outcome.is_error() {
        contain(|| observer.readiness_failed(&ReadinessEvent { endpoint: event.endpoint }));
    }
}
