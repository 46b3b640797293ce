//! Counters that threads do not fight over.

use std::cell::Cell;

use crate::sync::{AtomicU64, Ordering};

/// How many there are, also of other things that threads do not fight over.
pub(crate) const STRIPES: usize = 8;

/// Counts up to the largest number, each thread in a stripe of its own as far as there are stripes.
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
        let stripe = &self.stripes[stripe()].0;
        // A statistic: no ordering.
        if stripe.fetch_add(count, Ordering::Relaxed).checked_add(count).is_none() {
            stripe.store(u64::MAX, Ordering::Relaxed);
        }
    }

    pub(crate) fn sum(&self) -> u64 {
        self.stripes.iter().fold(0, |sum, stripe| sum.saturating_add(stripe.0.load(Ordering::Relaxed)))
    }
}

/// Returns the stripe of this thread, always the same.
pub(crate) fn stripe() -> usize {
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::StripedCounter;

    #[test]
    fn a_count_stays_at_the_largest_number() {
        let counter = StripedCounter::new();
        counter.add(u64::MAX - 1);
        assert_eq!(counter.sum(), u64::MAX - 1);
        counter.add(5);
        assert_eq!(counter.sum(), u64::MAX, "it does not start again");
        std::thread::scope(|threads| {
            for _ in 0..super::STRIPES {
                threads.spawn(|| counter.add(u64::MAX));
            }
        });
        assert_eq!(counter.sum(), u64::MAX, "nor does the sum of the stripes");
    }
}
