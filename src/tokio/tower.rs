//! The timer as the timer of services.

use std::time::Instant;

use super::TokioTimer;
use crate::tower::Timer;

/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// use poise::tokio::TokioTimer;
/// use poise::tower::Timer;
/// use std::time::Duration;
///
/// let before = TokioTimer.now();
/// TokioTimer.sleep_until(before + Duration::from_secs(60)).await;
/// assert_eq!(TokioTimer.now() - before, Duration::from_secs(60), "on a paused clock at once");
/// # }
/// ```
impl Timer for TokioTimer {
    type Sleep = ::tokio::time::Sleep;

    fn now(&self) -> Instant {
        ::tokio::time::Instant::now().into_std()
    }

    fn sleep_until(&self, deadline: Instant) -> ::tokio::time::Sleep {
        ::tokio::time::sleep_until(deadline.into())
    }
}
