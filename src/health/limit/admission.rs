//! What all limits have in common.

use std::sync::Arc;

use crate::core::{AdditiveLoad, AtCapacity, LoadTracker, Now, Tracked};

/// Admits a number of attempts at once, and learns from how they end.
///
/// It is a [`LoadTracker`] whose [`start`](LoadTracker::start) refuses, so it serves wherever one does: as the load of a
/// pool, in a [`Limited`](crate::core::Limited) candidate, or by hand.
///
/// # Examples
///
/// ```
/// use poise::core::{AtCapacity, Now, Outcome};
/// use poise::health::{FixedLimit, Limit};
///
/// let limit = FixedLimit::new(1)?;
/// let now = Now::lazy();
/// let attempt = limit.try_acquire(&now)?;
/// assert_eq!(limit.try_acquire(&now).unwrap_err(), AtCapacity);
/// attempt.complete(Outcome::Success, &now);
/// assert_eq!(limit.in_flight(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Limit: LoadTracker + AdditiveLoad {
    /// Returns how many attempts may be in flight at present; at least one.
    fn limit(&self) -> u32;

    /// Returns how many attempts are in flight. It may be above the limit after that has fallen.
    fn in_flight(&self) -> u64 {
        self.count()
    }

    /// Admits an attempt and guards it: the guard takes the outcome, whose time tells the latency, and gives the place
    /// back. Dropping the guard cancels.
    ///
    /// # Errors
    ///
    /// [`AtCapacity`] while as many attempts are in flight as may be.
    fn try_acquire(&self, now: &Now) -> Result<Tracked<'_, Self>, AtCapacity>
    where
        Self: Sized,
    {
        Tracked::start(self, now)
    }
}

macro_rules! delegate_limit {
    ($($pointer:ty),+) => {$(
        impl<L: Limit> Limit for $pointer {
            fn limit(&self) -> u32 {
                (**self).limit()
            }
        }
    )+};
}

delegate_limit!(&L, Box<L>, Arc<L>);
