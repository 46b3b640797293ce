//! Tokio's clock.

use std::future::pending;
use std::time::Instant;

use ::tokio::time;

/// Waits until an instant; `None` is for ever.
pub(super) async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => time::sleep_until(deadline.into()).await,
        None => pending().await,
    }
}

pub(super) fn now() -> Instant {
    time::Instant::now().into_std()
}
