//! What came of it.

use std::time::Duration;

use super::clock::{Nanos, nanos};
use super::request::End;

/// Counts what became of requests that started after the warm-up, and keeps every latency.
///
/// A request ends in exactly one way, so answered, failed, refused, given up and stuck add up to the number of requests. A
/// group of requests counts as one.
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
    /// When each server got its first attempt, in the warm-up or after it.
    pub(crate) first: Vec<Option<Duration>>,
    /// How many attempts were retries, hedges, and how many probes were sent, the warm-up included.
    pub(crate) retries: u64,
    pub(crate) hedges: u64,
    pub(crate) probes: u64,
    /// What the servers had to do in the course of time.
    pub(crate) samples: Vec<Sample>,
    all: Totals,
}

/// Counts from the start on, the warm-up included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Totals {
    picks: Vec<u64>,
    answered: u64,
    unanswered: u64,
}

/// Shows how many requests each server had at one time, and what had happened so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The time since the start.
    pub(crate) at: Duration,
    /// The number of requests at each server.
    pub(crate) load: Vec<u32>,
    /// The attempts that each server has got.
    pub(crate) picks: Vec<u64>,
    /// The requests that have been answered.
    pub(crate) answered: u64,
    /// The requests that have ended otherwise.
    pub(crate) unanswered: u64,
}

impl Sample {
    pub(super) fn new(at: Nanos, load: Vec<u32>, report: &Report) -> Self {
        let Totals { picks, answered, unanswered } = report.all.clone();
        Self { at: Duration::from_nanos(at), load, picks, answered, unanswered }
    }
}

impl Report {
    pub(super) fn new(servers: usize) -> Self {
        let all = Totals { picks: vec![0; servers], ..Totals::default() };
        Self { picks: vec![0; servers], first: vec![None; servers], all, ..Self::default() }
    }

    pub(super) fn picked(&mut self, server: usize, at: Nanos, counts: bool) {
        self.picks[server] += u64::from(counts);
        self.all.picks[server] += 1;
        self.first[server].get_or_insert(Duration::from_nanos(at));
    }

    pub(super) fn ended(&mut self, end: End, latency: Nanos, counts: bool) {
        match end {
            End::Answered => self.all.answered += 1,
            _ => self.all.unanswered += 1,
        }
        if !counts {
            return;
        }
        match end {
            End::Answered => self.latencies.push(latency),
            End::Refused => self.refused += 1,
            End::GivenUp => self.given_up += 1,
            End::Failed => self.failed += 1,
        }
    }

    /// Returns the number of successful requests.
    pub(crate) fn answered(&self) -> usize {
        self.latencies.len()
    }

    /// Returns the number of requests that were not successful.
    pub(crate) fn errors(&self) -> usize {
        self.failed + self.refused + self.given_up + self.stuck
    }

    /// Returns the number of requests.
    pub(crate) fn requests(&self) -> usize {
        self.answered() + self.errors()
    }

    /// Returns how many attempts there were for each request.
    pub(crate) fn amplification(&self) -> f64 {
        self.picks.iter().sum::<u64>() as f64 / self.requests() as f64
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
    pub(crate) fn quantile(&self, share: f64) -> Duration {
        self.quantiles([share])[0]
    }

    /// Returns several quantiles.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place below a length")]
    pub(crate) fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [Duration; N] {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        shares.map(|share| {
            let place = (share * sorted.len() as f64).ceil() as usize;
            sorted.get(place.saturating_sub(1)).map_or(Duration::ZERO, |nanos| Duration::from_nanos(*nanos))
        })
    }

    /// Returns how many successful requests took no longer than each of these times, and longer than the one before; each is
    /// twice the one before, from a millisecond on, up to the longest.
    pub(crate) fn histogram(&self) -> Vec<(Duration, usize)> {
        let mut bounds = vec![(Duration::from_millis(1), 0)];
        for latency in &self.latencies {
            while bounds.last().is_some_and(|(bound, _)| nanos(*bound) < *latency) {
                bounds.push((Duration::from_millis(1 << bounds.len()), 0));
            }
            let at = bounds.partition_point(|(bound, _)| nanos(*bound) < *latency);
            bounds[at].1 += 1;
        }
        bounds
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

    /// Returns the share of requests that ended well between two times that are sampled.
    pub(crate) fn goodput(&self, from: Duration, until: Duration) -> f64 {
        let (before, after) = (self.sample_at(from), self.sample_at(until));
        let good = after.answered - before.answered;
        good as f64 / (good + after.unanswered - before.unanswered) as f64
    }

    /// Returns which share of all attempts this server got between two times that are sampled.
    pub(crate) fn share_between(&self, server: usize, from: Duration, until: Duration) -> f64 {
        let (before, after) = (self.sample_at(from), self.sample_at(until));
        let got = |sample: &Sample| (sample.picks[server] as f64, sample.picks.iter().sum::<u64>() as f64);
        let ((mine, all), (mine_before, all_before)) = (got(after), got(before));
        (mine - mine_before) / (all - all_before)
    }

    /// Returns the load of the busiest server in multiples of the mean, on average over the samples.
    pub(crate) fn peak_to_mean(&self) -> f64 {
        let peak = |sample: &Sample| {
            let sum: u32 = sample.load.iter().sum();
            let most = sample.load.iter().max().copied().unwrap_or(0);
            (sum > 0).then(|| f64::from(most) * sample.load.len() as f64 / f64::from(sum))
        };
        let (count, sum) =
            self.samples.iter().filter_map(peak).fold((0_u32, 0.0), |(n, sum), at| (n + 1, sum + at));
        sum / f64::from(count)
    }

    fn sample_at(&self, at: Duration) -> &Sample {
        let later = self.samples.iter().find(|sample| sample.at >= at);
        later.or(self.samples.last()).expect("something is sampled")
    }
}

fn mean(latencies: &[Nanos]) -> f64 {
    let sum: f64 = latencies.iter().map(|latency| *latency as f64).sum();
    sum / latencies.len() as f64 / 1e9
}
