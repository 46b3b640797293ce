//! What makes a server slow: a queue before its workers.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A queue, first come, first served, before some workers whose work takes a random time.
///
/// Nobody works: a request waits for as long as it would have, so that the machine decides little of what is measured.
#[derive(Debug)]
pub(crate) struct Queue {
    mean: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// When each worker has nothing left to do.
    free: [Instant; WORKERS],
    rng: fastrand::Rng,
}

pub(crate) const WORKERS: usize = 2;

impl Queue {
    /// Makes a queue for exponential work.
    pub(crate) fn new(mean: Duration, seed: u64) -> Self {
        let state = State { free: [Instant::now(); WORKERS], rng: fastrand::Rng::with_seed(seed) };
        Self { mean, state: Mutex::new(state) }
    }

    /// Takes a request in, and returns how long it waits and is worked on.
    pub(crate) fn enter(&self) -> Duration {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let work = self.mean.mul_f64(-(1.0 - state.rng.f64()).ln());
        let Some(first) = state.free.iter_mut().min() else { return work };
        *first = now.max(*first) + work;
        *first - now
    }
}
