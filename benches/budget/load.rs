//! The loads of the candidates, and their weights.

use std::time::{Duration, Instant};

use poise::core::{AdditiveLoad, InFlight, LoadMetric, LoadTracker, Now, Outcome, PeakEwma, Weight};

use crate::pool::scattered;

/// Says what a candidate with such a load weighs, so that in rows without weights they take no memory.
pub(crate) trait Weigh {
    #[inline]
    fn weight(&self) -> Weight {
        Weight::ONE
    }
}

impl Weigh for InFlight {}
impl Weigh for PeakEwma {}

/// Requests in flight of a candidate with a weight.
pub(crate) struct Weighted {
    load: InFlight,
    weight: Weight,
}

impl Weigh for Weighted {
    #[inline]
    fn weight(&self) -> Weight {
        self.weight
    }
}

impl LoadMetric for Weighted {
    #[inline]
    fn measure(&self, now: &Now) -> f64 {
        self.load.measure(now)
    }
}

impl AdditiveLoad for Weighted {
    #[inline]
    fn count(&self) -> u64 {
        self.load.count()
    }
}

/// Weights from one to ten.
pub(crate) fn weighted(at: usize, start: Instant) -> Weighted {
    let weight = u32::try_from(scattered(at) % 10 + 1).ok().and_then(|weight| Weight::new(weight).ok());
    Weighted { load: in_flight(at, start), weight: weight.expect("not zero") }
}

pub(crate) fn in_flight(at: usize, start: Instant) -> InFlight {
    let load = InFlight::new();
    (0..scattered(at) % 16).for_each(|_| load.start(&Now::at(start)).expect("there is no limit"));
    load
}

pub(crate) fn peak_ewma(at: usize, start: Instant) -> PeakEwma {
    let load = PeakEwma::new_at(&Now::at(start));
    let end = Now::at(start + Duration::from_millis(scattered(at) as u64 % 90 + 10));
    for _ in 0..scattered(at) % 16 {
        load.start(&Now::at(start)).expect("there is no limit");
    }
    let ended = load.start(&Now::at(start)).expect("there is no limit");
    load.responded(ended, Outcome::Success, &end);
    load.release(ended, &end);
    load
}
