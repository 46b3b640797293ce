//! Running user code that may panic.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

pub(super) use crate::tower::contain::attempt;
use crate::tower::{Event, Hook, NoHook};

/// Tells `hook`, and goes on if it panics.
pub(super) fn tell(hook: &dyn Hook, event: &Event<'_>) {
    // The state of a hook is its own business; nothing of ours is shared with it.
    drop(catch_unwind(AssertUnwindSafe(|| hook.on(event))));
}

/// Tells `hook` what each request tells, if it is listening, and goes on if it panics.
#[inline]
pub(super) fn tell_if_listening<'a>(hook: &dyn Hook, event: impl FnOnce() -> Event<'a>) {
    let telling = || {
        if hook.is_listening() {
            hook.on(&event());
        }
    };
    drop(catch_unwind(AssertUnwindSafe(telling)));
}

/// Makes one hook of several. A panic in one of them is no reason for the others not to hear.
pub(super) fn join(mut hooks: Vec<Arc<dyn Hook>>) -> Arc<dyn Hook> {
    match hooks.len() {
        0 => Arc::new(NoHook),
        1 => hooks.remove(0),
        _ => Arc::new(Joined(hooks)),
    }
}

struct Joined(Vec<Arc<dyn Hook>>);

impl Hook for Joined {
    /// Whether any of them is; one that panics over it counts as if it were.
    fn is_listening(&self) -> bool {
        self.0.iter().any(|hook| attempt(|| hook.is_listening()).unwrap_or(true))
    }

    fn on(&self, event: &Event<'_>) {
        self.0.iter().for_each(|hook| tell(&**hook, event));
    }
}

/// Runs `code`; a panic in it is told to `hook` and gives nothing.
pub(super) fn contain<T>(hook: &dyn Hook, what: &'static str, code: impl FnOnce() -> T) -> Option<T> {
    let result = attempt(code);
    if result.is_none() {
        tell(hook, &Event::Contained { what });
    }
    result
}

/// Drops what is the user's, one after another: two panics at the same time would abort the process.
pub(super) fn discard<T>(hook: &dyn Hook, items: impl IntoIterator<Item = T>) {
    for item in items {
        let _dropped = contain(hook, "drop", || drop(item));
    }
}
