//! The one place where observers are called.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{AttemptEvent, Observer, ReadinessEvent};
use crate::core::{AttemptScope, Phase};

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

/// Asks an observer what is to surround an attempt; nothing does if it panics.
pub(super) fn contain_scope(
    observer: &(impl Observer + ?Sized),
    endpoint: &str,
) -> Option<Box<dyn AttemptScope>> {
    let mut scope = None;
    contain(|| scope = observer.attempt_scope(endpoint));
    scope
}

/// Tells how an attempt ended, and that readiness failed when that is what it means.
pub(super) fn tell_attempt(observer: &impl Observer, event: &AttemptEvent<'_>) {
    contain(|| observer.attempt(event));
    if event.phase == Phase::Readiness && event.outcome.is_error() {
        let failed = ReadinessEvent { endpoint: event.endpoint, ..ReadinessEvent::new() };
        contain(|| observer.readiness_failed(&failed));
    }
}
