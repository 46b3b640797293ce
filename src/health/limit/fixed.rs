//! A limit that stays as it is.

use crate::core::{AdditiveLoad, AtCapacity, InFlight, LoadMetric, LoadTracker, Now, Outcome, ZeroLimit};

use super::Limit;

/// Admits a constant number of attempts at once: an [`InFlight`] that is sure to have a limit.
///
/// Outcomes do not move it. What a member says of its overload acts on its circuit and its latency.
///
/// # Examples
///
/// ```
/// use poise::core::Now;
/// use poise::health::{FixedLimit, Limit};
///
/// let limit = FixedLimit::new(2)?;
/// let _held = limit.try_acquire(&Now::lazy())?;
/// assert_eq!((limit.in_flight(), limit.limit()), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FixedLimit {
    limit: u32,
    load: InFlight,
}

impl FixedLimit {
    /// Makes a limit.
    ///
    /// # Errors
    ///
    /// [`ZeroLimit`] for `0`.
    pub fn new(limit: u32) -> Result<Self, ZeroLimit> {
        InFlight::with_limit(limit).map(|load| Self { limit, load })
    }
}

impl Limit for FixedLimit {
    fn limit(&self) -> u32 {
        self.limit
    }
}

impl LoadMetric for FixedLimit {
    fn measure(&self, now: &Now) -> f64 {
        self.load.measure(now)
    }

    fn is_idle(&self, now: &Now) -> bool {
        self.load.is_idle(now)
    }
}

impl AdditiveLoad for FixedLimit {
    fn count(&self) -> u64 {
        self.load.count()
    }
}

impl LoadTracker for FixedLimit {
    type Ticket = ();

    fn start(&self, now: &Now) -> Result<(), AtCapacity> {
        self.load.start(now)
    }

    fn responded(&self, (): (), _: Outcome, _: &Now) {}

    fn release(&self, (): (), now: &Now) {
        self.load.release((), now);
    }

    fn is_full(&self) -> bool {
        self.load.is_full()
    }
}
