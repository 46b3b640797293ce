//! Probes under way.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The probes under way: their number is bounded by whoever starts them, so all of them are polled.
pub(super) struct Flights<F>(Vec<Pin<Box<F>>>);

impl<F> Default for Flights<F> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<F: Future> Flights<F> {
    pub(super) fn start(&mut self, probe: F) {
        self.0.push(Box::pin(probe));
    }

    /// Waits for the next that ends, if one is under way.
    pub(super) fn next(&mut self) -> impl Future<Output = F::Output> {
        poll_fn(|context| self.poll_next(context))
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<F::Output> {
        for place in 0..self.0.len() {
            if let Poll::Ready(output) = self.0[place].as_mut().poll(context) {
                drop(self.0.swap_remove(place));
                return Poll::Ready(output);
            }
        }
        Poll::Pending
    }
}
