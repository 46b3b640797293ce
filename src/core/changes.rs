//! How a part tells its pool that a member changed.

use std::fmt;
use std::sync::Arc;

/// Receives word that a member may have become eligible or ineligible.
///
/// It is implemented by whoever keeps a pool: it looks at the member again, flips its
/// [`Eligibility`](crate::core::Eligibility) and wakes whoever waits.
pub trait Listener: Send + Sync {
    /// Called after the change is visible. It may come from any thread and more than once for one change.
    fn changed(&self);
}

impl<F: Fn() + Send + Sync> Listener for F {
    fn changed(&self) {
        self();
    }
}

/// Tells a pool that one of its members changed.
///
/// A health signal or a load tracker is given one when its member joins a pool, and calls [`Changes::notify`] after
/// each transition. A clone tells the same pool; the default one tells nobody.
///
/// ```
/// use poise::core::Changes;
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let seen = Arc::new(AtomicU32::new(0));
/// let counter = Arc::clone(&seen);
/// let changes = Changes::new(Arc::new(move || {
///     counter.fetch_add(1, Ordering::Relaxed);
/// }));
/// changes.notify();
/// assert_eq!(seen.load(Ordering::Relaxed), 1);
/// ```
#[derive(Clone, Default)]
pub struct Changes(Option<Arc<dyn Listener>>);

impl Changes {
    /// Makes a handle that tells `listener`.
    #[must_use]
    pub fn new(listener: Arc<dyn Listener>) -> Self {
        Self(Some(listener))
    }

    /// Says that the member changed. The caller holds no lock that the listener could want.
    pub fn notify(&self) {
        if let Some(listener) = &self.0 {
            listener.changed();
        }
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Changes({})", if self.0.is_some() { "connected" } else { "none" })
    }
}
