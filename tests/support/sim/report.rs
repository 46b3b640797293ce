//! What came of it.

use std::time::Duration;

use super::clock::{Nanos, nanos};

/// Counts what became of requests that started after the warm-up, and keeps every latency.
///
/// A request ends in exactly one way, so answered, failed, refused, given up and stuck add up to the number of requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Report {
    /// How long each successful request took, in nanoseconds and in the order of their ends.
    pub(super) latencies: Vec<Nanos>,
    /// Requests that failed, after all attempts.
    pub(crate) failed: usize,
    /// Requests that no server could be chosen for, or that the chosen one did not admit.
    pub(crate) refused: usize,
    /// Requests whose callers gave up.
    pub(crate) given_up: usize,
    /// Requests that still wait when nothing happens any more.
    pub(crate) stuck: usize,
    /// How many attempts each server got.
    pub(crate) picks: Vec<u64>,
    /// What the servers had to do in the course of time.
    pub(crate) samples: Vec<Sample>,
}

/// Shows how many requests each server had at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The time since the start.
    pub(crate) at: Duration,
    /// The number of requests at each server.
    pub(crate) load: Vec<u32>,
}

impl Report {
    /// Returns the number of successful requests.
    pub(crate) fn answered(&self) -> usize {
        self.latencies.len()
    }

    /// Returns the number of requests.
    pub(crate) fn requests(&self) -> usize {
        self.answered() + self.failed + self.refused + self.given_up + self.stuck
    }

    /// Returns the mean latency of successful requests in seconds.
    pub(crate) fn mean(&self) -> f64 {
        mean(&self.latencies)
    }

    /// Returns the mean latencies of consecutive batches of equally many successful requests, in seconds. Batches that are
    /// long beside the time for which the system remembers are nearly independent, so that their spread shows the precision
    /// of the mean.
    pub(crate) fn batch_means(&self, batches: usize) -> Vec<f64> {
        self.latencies.chunks_exact((self.answered() / batches).max(1)).take(batches).map(mean).collect()
    }

    /// Returns the latency that this share of the successful requests does not exceed; zero when there are none.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place below a length")]
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let place = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(place.saturating_sub(1)).map_or(Duration::ZERO, |nanos| Duration::from_nanos(*nanos))
    }

    /// Returns which share of all requests succeeded within `limit`.
    pub(crate) fn share_within(&self, limit: Duration) -> f64 {
        let within = self.latencies.iter().filter(|latency| **latency < nanos(limit)).count();
        within as f64 / self.requests() as f64
    }

    /// Returns which share of all attempts this server got.
    pub(crate) fn share_of(&self, server: usize) -> f64 {
        self.picks[server] as f64 / self.picks.iter().sum::<u64>() as f64
    }
}

fn mean(latencies: &[Nanos]) -> f64 {
    let sum: f64 = latencies.iter().map(|latency| *latency as f64).sum();
    sum / latencies.len() as f64 / 1e9
}
