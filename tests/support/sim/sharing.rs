//! Processor sharing.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::clock::{Nanos, at_least_one};
use super::slab::Slot;

/// Works on all requests at the same speed: `min(1, cores / requests)`.
///
/// All requests make the same progress per time, so it is enough to count it once: a request finishes when the progress
/// reaches what it was at its arrival plus its work. Arrivals and ends then cost the logarithm of the number of requests.
#[derive(Debug)]
pub(super) struct Sharing {
    cores: f64,
    progress: f64,
    /// The time for which `progress` holds.
    at: Nanos,
    ends: BinaryHeap<Reverse<End>>,
    arrived: u64,
}

/// What rounding may leave of the work, in nanoseconds.
const ROUNDING: f64 = 1e-3;

impl Sharing {
    pub(super) fn new(cores: f64) -> Self {
        Self { cores, progress: 0.0, at: 0, ends: BinaryHeap::new(), arrived: 0 }
    }

    pub(super) fn arrive(&mut self, slot: Slot, work: Nanos, at: Nanos) {
        self.advance(at);
        self.ends.push(Reverse(End { progress: self.progress + work as f64, order: self.arrived, slot }));
        self.arrived += 1;
    }

    pub(super) fn next(&self) -> Option<Nanos> {
        let left = self.ends.peek()?.0.progress - self.progress;
        Some(self.at + if left <= ROUNDING { 0 } else { at_least_one(left / self.speed()) })
    }

    pub(super) fn finish(&mut self, at: Nanos) -> Option<Slot> {
        self.advance(at);
        let Reverse(end) = self.ends.peek()?;
        let slot = end.slot;
        if end.progress - self.progress > ROUNDING {
            return None;
        }
        self.ends.pop();
        if self.ends.is_empty() {
            // Small numbers are exact ones.
            self.progress = 0.0;
        }
        Some(slot)
    }

    /// Goes on with another number of cores.
    pub(super) fn set_cores(&mut self, cores: f64, at: Nanos) {
        self.advance(at);
        self.cores = cores;
    }

    fn advance(&mut self, at: Nanos) {
        if !self.ends.is_empty() {
            self.progress += (at - self.at) as f64 * self.speed();
        }
        self.at = at;
    }

    fn speed(&self) -> f64 {
        (self.cores / self.ends.len() as f64).min(1.0)
    }
}

#[derive(Debug)]
struct End {
    progress: f64,
    order: u64,
    slot: Slot,
}

impl PartialEq for End {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for End {}

impl PartialOrd for End {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for End {
    fn cmp(&self, other: &Self) -> Ordering {
        self.progress.total_cmp(&other.progress).then(self.order.cmp(&other.order))
    }
}
