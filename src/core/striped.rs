//! Counters that threads do not fight over.

use std::cell::Cell;

use crate::sync::{AtomicU64, Ordering};

const STRIPES: usize = 8;

/// Counts up, each thread in a stripe of its own as far as there are stripes.
pub(crate) struct StripedCounter {
    stripes: [Stripe; STRIPES],
}

/// One cache line, so that stripes do not disturb each other.
#[repr(align(128))]
struct Stripe(AtomicU64);

impl StripedCounter {
    pub(crate) fn new() -> Self {
        Self { stripes: std::array::from_fn(|_| Stripe(AtomicU64::new(0))) }
    }

    pub(crate) fn add(&self, count: u64) {
        // A statistic: no ordering.
        self.stripes[stripe()].0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn sum(&self) -> u64 {
        self.stripes.iter().fold(0, |sum, stripe| sum.wrapping_add(stripe.0.load(Ordering::Relaxed)))
    }
}

fn stripe() -> usize {
    thread_local! {
        static MINE: Cell<Option<usize>> = const { Cell::new(None) };
    }
    MINE.try_with(|mine| {
        mine.get().unwrap_or_else(|| {
            let next = next_stripe();
            mine.set(Some(next));
            next
        })
    })
    .unwrap_or(0)
}

fn next_stripe() -> usize {
    static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % STRIPES
}
