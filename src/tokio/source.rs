//! The timer as the clock of sources.

use std::time::Instant;

use super::TokioTimer;
use crate::discovery::SourceClock;

impl SourceClock for TokioTimer {
    type Sleep = ::tokio::time::Sleep;

    fn now(&self) -> Instant {
        ::tokio::time::Instant::now().into_std()
    }

    fn sleep_until(&self, deadline: Instant) -> ::tokio::time::Sleep {
        ::tokio::time::sleep_until(deadline.into())
    }
}
