//! What happens next.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::clock::Nanos;

/// Keeps what is scheduled, and the virtual time: that of the last event that was taken.
#[derive(Debug)]
pub(super) struct Events<E> {
    heap: BinaryHeap<Entry<E>>,
    now: Nanos,
    scheduled: u64,
}

impl<E> Events<E> {
    pub(super) fn new() -> Self {
        Self { heap: BinaryHeap::new(), now: 0, scheduled: 0 }
    }

    pub(super) fn now(&self) -> Nanos {
        self.now
    }

    /// Schedules an event. One that would lie in the past happens now.
    pub(super) fn schedule(&mut self, at: Nanos, event: E) {
        let order = u128::from(at.max(self.now)) << 64 | u128::from(self.scheduled);
        self.scheduled += 1;
        self.heap.push(Entry { order, event });
    }

    /// Takes the next event and moves the time to it.
    pub(super) fn next(&mut self) -> Option<E> {
        let entry = self.heap.pop()?;
        self.now = entry.at();
        Some(entry.event)
    }
}

/// Orders by time and then by sequence, in one number; the heap has the greatest on top, so the order is turned around.
#[derive(Debug)]
struct Entry<E> {
    order: u128,
    event: E,
}

impl<E> Entry<E> {
    fn at(&self) -> Nanos {
        (self.order >> 64) as Nanos
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.order.cmp(&self.order)
    }
}
