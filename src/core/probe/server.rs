//! What a server knows of its load.

use std::fmt;
use std::time::{Duration, Instant};

use super::ProbeAnswer;
use crate::core::{Now, Outcome};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// How many requests that have ended are remembered.
const WINDOW: usize = 128;
/// From how many of them the latency is estimated.
const NEAREST: usize = 16;
/// The latency to assume before anything has ended.
const FIRST_ESTIMATE: Duration = Duration::from_millis(30);

/// Counts the requests in flight of a server, and estimates how long they take at about that number.
///
/// A server [starts](Self::start) each request and ends it with its outcome; [`answer`](Self::answer) is what a probe gets,
/// or what rides on a response.
///
/// The latency is the median of the sixteen among the last 128 requests that met the most similar number of requests when
/// they arrived, the later ones first; 30 ms before anything has ended. Only successes count: a failure is mostly quicker
/// than the work would have been. Failures in a row are counted and told.
///
/// Source: the server side of Prequal, section 4 of the paper that [`ProbePool`](super::ProbePool) names.
///
/// # Complexity
///
/// Starting and ending a request are a few atomic operations, without a lock. An answer looks at the 128 requests.
///
/// # Examples
///
/// ```
/// use poise::core::{Now, Outcome, ServerLoad};
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let after = |millis| Now::at(start + Duration::from_millis(millis));
///
/// let load = ServerLoad::new();
/// let request = load.start(&after(0));
/// assert_eq!(load.answer().rif(), 1);
/// request.end(Outcome::Success, &after(12));
/// assert_eq!(load.answer().latency(), Duration::from_millis(12));
/// ```
pub struct ServerLoad {
    rif: AtomicU32,
    failures: AtomicU32,
    ended: AtomicU64,
    /// What the requests that have ended met, and how long they took; zero where there is none yet.
    window: [AtomicU64; WINDOW],
}

impl ServerLoad {
    /// Makes the load of a server that has nothing to do.
    #[must_use]
    pub fn new() -> Self {
        Self {
            rif: AtomicU32::new(0),
            failures: AtomicU32::new(0),
            ended: AtomicU64::new(0),
            window: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Counts a request that arrives. Dropping what is returned ends it as cancelled.
    pub fn start(&self, now: &Now) -> Serving<&Self> {
        Serving::start(self, now)
    }

    /// Returns the number of requests in flight.
    #[must_use]
    pub fn rif(&self) -> u32 {
        self.rif.load(Ordering::Relaxed)
    }

    /// Returns what a probe is answered now.
    #[must_use]
    pub fn answer(&self) -> ProbeAnswer {
        let rif = self.rif();
        let failures = self.failures.load(Ordering::Relaxed);
        ProbeAnswer::new(rif, self.latency_at(rif).unwrap_or(FIRST_ESTIMATE)).with_failures(failures)
    }

    fn latency_at(&self, rif: u32) -> Option<Duration> {
        let last = usize::try_from(self.ended.load(Ordering::Relaxed) % WINDOW as u64).unwrap_or(0);
        let mut nearest = [(u32::MAX, 0, 0); WINDOW];
        let mut len = 0;
        for back in 1..=WINDOW {
            let word = self.window[(last + WINDOW - back) % WINDOW].load(Ordering::Relaxed);
            if let Some((met, micros)) = unpack(word) {
                // Of those that are equally near the later ones come first.
                nearest[len] = (met.abs_diff(rif), back, micros);
                len += 1;
            }
        }
        nearest[..len].sort_unstable();
        let mut latencies = nearest.map(|(.., micros)| micros);
        let latencies = &mut latencies[..len.min(NEAREST)];
        latencies.sort_unstable();
        latencies.get(latencies.len() / 2).map(|micros| Duration::from_micros((*micros).into()))
    }

    fn arrive(&self) -> u32 {
        self.rif.fetch_add(1, Ordering::Relaxed)
    }

    fn leave(&self, met: u32, taken: Duration, outcome: Outcome) {
        self.rif.fetch_sub(1, Ordering::Relaxed);
        match outcome {
            Outcome::Success => {
                let at = self.ended.fetch_add(1, Ordering::Relaxed) % WINDOW as u64;
                self.window[usize::try_from(at).unwrap_or(0)].store(pack(met, taken), Ordering::Relaxed);
                // Mostly there is nothing to reset, and then nothing is written.
                if self.failures.load(Ordering::Relaxed) != 0 {
                    self.failures.store(0, Ordering::Relaxed);
                }
            }
            Outcome::Failure => {
                let counted = self.failures.fetch_add(1, Ordering::Relaxed);
                if counted == u32::MAX {
                    self.failures.store(u32::MAX, Ordering::Relaxed);
                }
            }
            // Neither is a fault: a server that sheds load says so by what it has in flight.
            Outcome::Overload { .. } | Outcome::Cancelled => {}
        }
    }
}

/// A request is never without a microsecond, so a word that holds one is not zero.
fn pack(met: u32, taken: Duration) -> u64 {
    let micros = u32::try_from(taken.as_micros()).unwrap_or(u32::MAX).max(1);
    u64::from(met) << 32 | u64::from(micros)
}

#[expect(clippy::cast_possible_truncation, reason = "the two halves of the word")]
fn unpack(word: u64) -> Option<(u32, u32)> {
    (word != 0).then_some(((word >> 32) as u32, word as u32))
}

impl Default for ServerLoad {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ServerLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerLoad").field("answer", &self.answer()).finish_non_exhaustive()
    }
}

/// Guards one request at a server.
///
/// [`end`](Self::end) says how it ended; dropping the guard, also while a panic unwinds, says that it was cancelled.
#[must_use = "dropping the guard ends the request at once"]
#[derive(Debug)]
pub struct Serving<L: AsRef<ServerLoad>> {
    load: L,
    met: u32,
    started: Instant,
    ended: bool,
}

impl<L: AsRef<ServerLoad>> Serving<L> {
    /// Counts a request that arrives, at a load that the guard owns a handle of.
    pub fn start(load: L, now: &Now) -> Self {
        let met = load.as_ref().arrive();
        Self { load, met, started: now.instant(), ended: false }
    }

    /// Returns the load.
    pub fn load(&self) -> &ServerLoad {
        self.load.as_ref()
    }

    /// Ends the request.
    pub fn end(mut self, outcome: Outcome, now: &Now) {
        self.ended = true;
        self.load.as_ref().leave(self.met, now.since(self.started), outcome);
    }
}

impl<L: AsRef<ServerLoad>> Drop for Serving<L> {
    fn drop(&mut self) {
        if !self.ended {
            self.load.as_ref().leave(self.met, Duration::ZERO, Outcome::Cancelled);
        }
    }
}

impl AsRef<Self> for ServerLoad {
    fn as_ref(&self) -> &Self {
        self
    }
}
