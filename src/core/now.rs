//! The one instant of a pick or an attempt.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// Holds the instant at which a pick or an attempt happens.
///
/// It is passed wherever time matters, so that all parts of one decision see the same time, tests choose it, and nobody
/// deep inside reads a clock. [`Now::lazy`] reads the system's monotonic clock when it is first asked and never again;
/// [`Now::at`] is fixed from the start.
///
/// Instants that go back are no error: differences saturate at zero.
///
/// ```
/// use poise::core::Now;
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let now = Now::at(start + Duration::from_secs(3));
/// assert_eq!(now.since(start), Duration::from_secs(3));
/// assert_eq!(Now::at(start).since(now.instant()), Duration::ZERO);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Now(Cell<Option<Instant>>);

impl Now {
    /// Makes a time that is read from the system's clock when it is first needed.
    #[must_use]
    pub const fn lazy() -> Self {
        Self(Cell::new(None))
    }

    /// Makes a time that is fixed.
    #[must_use]
    pub const fn at(instant: Instant) -> Self {
        Self(Cell::new(Some(instant)))
    }

    /// Returns the instant; the first call of a lazy one reads the clock.
    #[must_use]
    pub fn instant(&self) -> Instant {
        self.0.get().unwrap_or_else(|| self.read())
    }

    /// Returns how long ago `earlier` was, zero when it lies ahead.
    #[must_use]
    pub fn since(&self, earlier: Instant) -> Duration {
        self.instant().saturating_duration_since(earlier)
    }

    /// Tells whether `deadline` is now or past.
    #[must_use]
    pub fn has_reached(&self, deadline: Instant) -> bool {
        self.instant() >= deadline
    }

    #[cold]
    #[expect(clippy::disallowed_methods, reason = "the one place of the core that owns a clock")]
    fn read(&self) -> Instant {
        let instant = Instant::now();
        self.0.set(Some(instant));
        instant
    }
}

impl From<Instant> for Now {
    fn from(instant: Instant) -> Self {
        Self::at(instant)
    }
}
