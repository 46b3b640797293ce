//! Running user code that may panic.

use std::sync::Arc;

use crate::core::AttemptScope;
use crate::core::nested_scope::nest;
pub(super) use crate::tower::contain::attempt;
use crate::tower::{Event, Hook, NoHook};

/// Tells `hook`, and goes on if it panics.
pub(super) fn tell(hook: &dyn Hook, event: &Event<'_>) {
    // The state of a hook is its own business; nothing of ours is shared with it.
    let _heard = attempt(|| hook.on(event));
}

/// Asks `hook` whether it listens to the course of attempts; it is told if it panics.
#[inline]
pub(super) fn is_listening(hook: &dyn Hook) -> bool {
    attempt(|| hook.is_listening()).unwrap_or(true)
}

/// Asks `hook` what is to surround an attempt; nothing does if it panics.
pub(super) fn scope(hook: &dyn Hook, endpoint: &str) -> Option<Box<dyn AttemptScope>> {
    attempt(|| hook.scope(endpoint)).flatten()
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
    fn on(&self, event: &Event<'_>) {
        self.0.iter().for_each(|hook| tell(&**hook, event));
    }

    fn is_listening(&self) -> bool {
        self.0.iter().any(|hook| is_listening(&**hook))
    }

    fn scope(&self, endpoint: &str) -> Option<Box<dyn AttemptScope>> {
        self.0.iter().map(|hook| scope(&**hook, endpoint)).fold(None, nest)
    }
}
