//! The count of attempts in flight, and its limit.

use std::error::Error;
use std::fmt;
use std::num::NonZeroU32;

use crate::core::AtCapacity;
use crate::sync::{AtomicU64, Ordering};

/// Counts attempts in flight, up to an optional limit.
///
/// The count guards no memory, so every access is relaxed. It is as wide as no leak can fill.
#[derive(Debug)]
pub(crate) struct Pending {
    count: AtomicU64,
    limit: Option<NonZeroU32>,
}

impl Pending {
    pub(crate) fn new(limit: Option<NonZeroU32>) -> Self {
        Self { count: AtomicU64::new(0), limit }
    }

    #[inline]
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn limit(&self) -> Option<u32> {
        self.limit.map(NonZeroU32::get)
    }

    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.limit().is_some_and(|limit| self.count() >= u64::from(limit))
    }

    #[inline]
    pub(crate) fn admit(&self) -> Result<(), AtCapacity> {
        let Some(limit) = self.limit() else {
            self.count.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        };
        self.admit_below(limit)
    }

    /// Admits one more under a limit that the caller keeps.
    pub(crate) fn admit_below(&self, limit: u32) -> Result<(), AtCapacity> {
        self.count
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                (count < u64::from(limit)).then_some(count + 1)
            })
            .map(drop)
            .map_err(|_| AtCapacity)
    }

    /// Gives one place back. A caller that breaks the contract and gives back too much gets zero, not a wrapped count.
    #[inline]
    pub(crate) fn leave(&self) {
        let _ = self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
    }
}

/// Reports a limit of zero, under which nothing could ever be admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZeroLimit;

impl fmt::Display for ZeroLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a limit of concurrent attempts must be at least 1; a member that must get no traffic is draining")
    }
}

impl Error for ZeroLimit {}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use crate::sync::Arc;

    #[test]
    fn loom_a_limit_is_never_exceeded_and_every_place_comes_back() {
        loom::model(|| {
            let pending = Arc::new(Pending::new(NonZeroU32::new(1)));
            let attempt = |pending: &Pending| {
                let admitted = pending.admit().is_ok();
                if admitted {
                    assert_eq!(pending.count(), 1, "only one attempt fits under a limit of 1");
                    pending.leave();
                }
                admitted
            };
            let other = {
                let pending = Arc::clone(&pending);
                loom::thread::spawn(move || attempt(&pending))
            };
            let here = attempt(&pending);
            let there = other.join().unwrap();
            assert!(here || there, "of those that race for a free place one gets it");
            assert_eq!(pending.count(), 0);
        });
    }
}
