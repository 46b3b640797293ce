//! A load beside a limit.

use crate::core::{AdditiveLoad, AtCapacity, LoadMetric, LoadTracker, Now, Outcome};

use super::Limit;

/// Measures with one tracker and admits with another: the expected latency of [`PeakEwma`](crate::core::PeakEwma), say, under
/// a [`GradientLimit`](super::GradientLimit).
///
/// Both learn of every attempt. An attempt that either refuses is not started in the other.
///
/// # Examples
///
/// ```
/// use poise::core::{Now, PeakEwma, Tracked};
/// use poise::health::{FixedLimit, LimitedLoad};
///
/// let load = LimitedLoad::new(PeakEwma::new(), FixedLimit::new(1)?);
/// let held = Tracked::start(&load, &Now::lazy())?;
/// assert!(Tracked::start(&load, &Now::lazy()).is_err());
/// assert_eq!(load.load().pending(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LimitedLoad<Load, L> {
    load: Load,
    limit: L,
}

impl<Load, L: Limit> LimitedLoad<Load, L> {
    /// Puts `limit` beside `load`.
    pub const fn new(load: Load, limit: L) -> Self {
        Self { load, limit }
    }

    /// Returns what is measured.
    pub const fn load(&self) -> &Load {
        &self.load
    }

    /// Returns what admits.
    pub const fn limit(&self) -> &L {
        &self.limit
    }
}

impl<Load: LoadMetric, L> LoadMetric for LimitedLoad<Load, L> {
    fn measure(&self, now: &Now) -> f64 {
        self.load.measure(now)
    }

    fn is_idle(&self, now: &Now) -> bool {
        self.load.is_idle(now)
    }
}

impl<Load: AdditiveLoad, L> AdditiveLoad for LimitedLoad<Load, L> {
    fn count(&self) -> u64 {
        self.load.count()
    }
}

impl<Load: LoadTracker, L: Limit> LoadTracker for LimitedLoad<Load, L> {
    type Ticket = (Load::Ticket, L::Ticket);

    fn start(&self, now: &Now) -> Result<Self::Ticket, AtCapacity> {
        let admitted = self.limit.start(now)?;
        match self.load.start(now) {
            Ok(started) => Ok((started, admitted)),
            Err(full) => {
                self.limit.responded(admitted, Outcome::Cancelled, now);
                self.limit.release(admitted, now);
                Err(full)
            }
        }
    }

    fn responded(&self, (started, admitted): Self::Ticket, outcome: Outcome, now: &Now) {
        self.load.responded(started, outcome, now);
        self.limit.responded(admitted, outcome, now);
    }

    fn release(&self, (started, admitted): Self::Ticket, now: &Now) {
        self.load.release(started, now);
        self.limit.release(admitted, now);
    }

    fn is_full(&self) -> bool {
        self.limit.is_full() || self.load.is_full()
    }

    fn seed(&self, peers: &mut dyn Iterator<Item = &Self>, now: &Now) {
        // A limit is learnt from scratch: what others bear says little of a new one.
        self.load.seed(&mut peers.map(|peer| &peer.load), now);
    }
}
