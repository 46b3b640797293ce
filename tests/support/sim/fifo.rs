//! First come, first served.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::clock::Nanos;
use super::slab::Slot;

/// Serves one request per worker at a time, the others wait in line. With as many workers as requests it is a pure delay.
#[derive(Debug)]
pub(super) struct Fifo {
    workers: usize,
    /// By when they finish; requests that finish at the same time do so in the order of their start.
    busy: BinaryHeap<Reverse<(Nanos, u64, Slot)>>,
    waiting: VecDeque<(Slot, Nanos)>,
    started: u64,
}

impl Fifo {
    pub(super) fn new(workers: usize) -> Self {
        Self { workers: workers.max(1), busy: BinaryHeap::new(), waiting: VecDeque::new(), started: 0 }
    }

    pub(super) fn arrive(&mut self, slot: Slot, work: Nanos, at: Nanos) {
        if self.busy.len() < self.workers {
            self.start(slot, work, at);
        } else {
            self.waiting.push_back((slot, work));
        }
    }

    pub(super) fn next(&self) -> Option<Nanos> {
        self.busy.peek().map(|Reverse((finish, ..))| *finish)
    }

    pub(super) fn finish(&mut self, at: Nanos) -> Option<Slot> {
        let slot = match self.busy.peek() {
            Some(Reverse((finish, _, slot))) if *finish <= at => *slot,
            _ => return None,
        };
        self.busy.pop();
        if let Some((waiting, work)) = self.waiting.pop_front() {
            self.start(waiting, work, at);
        }
        Some(slot)
    }

    fn start(&mut self, slot: Slot, work: Nanos, at: Nanos) {
        self.busy.push(Reverse((at + work, self.started, slot)));
        self.started += 1;
    }
}
