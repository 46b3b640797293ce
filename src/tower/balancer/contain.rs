//! Running user code that may panic.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::tower::{Event, Hook};

/// Tells `hook`, and goes on if it panics.
pub(super) fn tell(hook: &dyn Hook, event: &Event<'_>) {
    // The state of a hook is its own business; nothing of ours is shared with it.
    drop(catch_unwind(AssertUnwindSafe(|| hook.on(event))));
}

/// Runs `code`; a panic in it is told to `hook` and gives nothing.
pub(super) fn contain<T>(hook: &dyn Hook, what: &'static str, code: impl FnOnce() -> T) -> Option<T> {
    // The callers pass code that borrows only what it reads, so nothing half-changed is seen afterwards.
    let result = catch_unwind(AssertUnwindSafe(code)).ok();
    if result.is_none() {
        tell(hook, &Event::Contained { what });
    }
    result
}
