//! A clock of which a test says what it shows.

use std::time::{Duration, Instant};

use poise::core::Now;

/// Turns times since the start of a test into instants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(Instant);

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the one reading that everything else is relative to")]
    pub(crate) fn new() -> Self {
        // Some way into its range, so that tests may also go back before the start.
        Self(Instant::now() + Duration::from_secs(86_400))
    }

    pub(crate) fn instant(self, since_start: Duration) -> Instant {
        self.0 + since_start
    }

    pub(crate) fn at(self, since_start: Duration) -> Now {
        Now::at(self.instant(since_start))
    }
}
