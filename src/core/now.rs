//! The one instant of a pick or an attempt.

use std::cell::Cell;
use std::sync::OnceLock;
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
pub struct Now {
    instant: Cell<Option<Instant>>,
    nanos: Cell<Option<u64>>,
}

impl Now {
    /// Makes a time that is read from the system's clock when it is first needed.
    #[must_use]
    pub const fn lazy() -> Self {
        Self { instant: Cell::new(None), nanos: Cell::new(None) }
    }

    /// Makes a time that is fixed.
    #[must_use]
    pub const fn at(instant: Instant) -> Self {
        Self { instant: Cell::new(Some(instant)), nanos: Cell::new(None) }
    }

    /// Returns the instant; the first call of a lazy one reads the clock.
    #[must_use]
    #[inline]
    pub fn instant(&self) -> Instant {
        let instant = self.instant.get().unwrap_or_else(clock);
        // Also where it is known: a branch and a reference that is handed on would cost more.
        self.instant.set(Some(instant));
        instant
    }

    /// Returns how long ago `earlier` was, zero when it lies ahead.
    #[must_use]
    #[inline]
    pub fn since(&self, earlier: Instant) -> Duration {
        self.instant().saturating_duration_since(earlier)
    }

    /// Tells whether `deadline` is now or past.
    #[must_use]
    pub fn has_reached(&self, deadline: Instant) -> bool {
        self.instant() >= deadline
    }

    /// Returns the nanoseconds since the first instant that this process asked about; earlier instants are negative.
    ///
    /// The number wraps, so it is for differences and not for order. It is worked out once, as a policy that compares loads
    /// asks for it again and again, and the arithmetic of instants costs more than the rest of a comparison.
    #[inline]
    pub(crate) fn nanos(&self) -> u64 {
        self.nanos.get().unwrap_or_else(|| self.count_nanos())
    }

    /// Returns the [`nanos`](Self::nanos) if they have been worked out.
    #[inline]
    pub(crate) fn known_nanos(&self) -> Option<u64> {
        self.nanos.get()
    }

    /// Returns how many nanoseconds ago an instant was of which these are the [`nanos`](Self::nanos), zero when it lies ahead.
    #[expect(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "the sign is what is asked for")]
    #[inline]
    #[allow(dead_code, reason = "for whoever dispatches")]
    pub(crate) fn nanos_since(&self, earlier: u64) -> u64 {
        (self.nanos().wrapping_sub(earlier) as i64).max(0) as u64
    }

    fn count_nanos(&self) -> u64 {
        static BASE: OnceLock<Instant> = OnceLock::new();
        let instant = self.instant();
        let base = *BASE.get_or_init(|| instant);
        let nanos = match instant.checked_duration_since(base) {
            Some(after) => whole_nanos(after),
            None => whole_nanos(base.saturating_duration_since(instant)).wrapping_neg(),
        };
        self.nanos.set(Some(nanos));
        nanos
    }
}

#[cold]
#[expect(clippy::disallowed_methods, reason = "the one place of the core that owns a clock")]
fn clock() -> Instant {
    Instant::now()
}

impl From<Instant> for Now {
    fn from(instant: Instant) -> Self {
        Self::at(instant)
    }
}

fn whole_nanos(duration: Duration) -> u64 {
    duration.as_secs().wrapping_mul(1_000_000_000).wrapping_add(u64::from(duration.subsec_nanos()))
}
