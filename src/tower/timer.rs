//! How anything here waits.

use std::future::Future;
use std::time::Instant;

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
