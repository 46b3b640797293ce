//! Load as the number of attempts in flight.

use std::num::NonZeroU32;

use super::pending::{Pending, ZeroLimit};
use super::{AdditiveLoad, AtCapacity, LoadMetric, LoadTracker};
use crate::core::{Now, Outcome};

/// Counts the attempts that have started and are not over, optionally up to a limit.
///
/// Admission is atomic: with a limit, the count never exceeds it, however many callers race for the last place. Outcomes
/// do not matter here, only that an attempt is over. The count belongs to one tracker, so a service that is built anew
/// gets a new `InFlight` and starts from zero, while guards of the old one keep the old one alive and touch nothing else.
///
/// A tracker fills one cache line, so that neighbours in a slice do not slow each other down.
///
/// # Complexity
///
/// Measuring is one load. Starting and releasing are one atomic read-modify-write each, repeated only when another
/// thread got in between; starting without a limit is never repeated.
///
/// # Examples
///
/// ```
/// use poise::core::{AtCapacity, InFlight, LoadTracker, Now, Tracked};
///
/// let load = InFlight::with_limit(1)?;
/// let attempt = Tracked::start(&load, &Now::lazy())?;
/// assert!(load.is_full());
/// assert_eq!(Tracked::start(&load, &Now::lazy()).unwrap_err(), AtCapacity);
///
/// drop(attempt);
/// assert_eq!(load.current(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[repr(align(64))]
pub struct InFlight {
    pending: Pending,
}

impl InFlight {
    /// Makes a counter without a limit.
    #[must_use]
    pub fn new() -> Self {
        Self { pending: Pending::new(None) }
    }

    /// Makes a counter that admits at most `limit` attempts at a time.
    ///
    /// # Errors
    ///
    /// [`ZeroLimit`] for `0`.
    pub fn with_limit(limit: u32) -> Result<Self, ZeroLimit> {
        NonZeroU32::new(limit).map(Self::from).ok_or(ZeroLimit)
    }

    /// Returns the number of attempts in flight.
    #[must_use]
    #[inline]
    pub fn current(&self) -> u64 {
        self.pending.count()
    }

    /// Returns the limit, if there is one.
    #[must_use]
    pub fn limit(&self) -> Option<u32> {
        self.pending.limit()
    }

    /// Tells whether an attempt that started now would be refused; never without a limit.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.pending.is_full()
    }
}

impl Default for InFlight {
    fn default() -> Self {
        Self::new()
    }
}

/// Makes a counter with a limit that is known not to be zero.
impl From<NonZeroU32> for InFlight {
    fn from(limit: NonZeroU32) -> Self {
        Self { pending: Pending::new(Some(limit)) }
    }
}

impl LoadMetric for InFlight {
    #[inline]
    fn measure(&self, _: &Now) -> f64 {
        self.current() as f64
    }
}

impl AdditiveLoad for InFlight {
    #[inline]
    fn count(&self) -> u64 {
        self.current()
    }
}

/// A release without a start leaves the count at zero.
impl LoadTracker for InFlight {
    type Ticket = ();

    fn start(&self, _: &Now) -> Result<(), AtCapacity> {
        self.pending.admit()
    }

    fn responded(&self, (): (), _: Outcome, _: &Now) {}

    fn release(&self, (): (), _: &Now) {
        self.pending.leave();
    }

    fn is_full(&self) -> bool {
        self.pending.is_full()
    }

    fn has_limit(&self) -> bool {
        self.pending.limit().is_some()
    }
}
