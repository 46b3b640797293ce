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
/// For how long a request counts, and how fast the last one fades when all are older.
const RECENT: Duration = Duration::from_secs(2);

/// How many requests a server is taken to serve as fast as one. It only matters where no request met a similar number.
const SHARED: u64 = 4;

/// Counts the requests in flight of a server, and estimates how long they take at about that number.
///
/// A server [starts](Self::start) each request and ends it with its outcome; [`answer`](Self::answer) is what a probe gets,
/// or what rides on a response.
///
/// The latency is the median of the sixteen among the last 128 requests that met the most similar number of requests when
/// they arrived, the later ones first. One that met `m` where the next one meets `r` counts as `(r + 4) / (m + 4)` times as
/// long, as those of a server whose queue grows or shrinks all met other numbers. Only successes count: a failure is mostly
/// quicker than the work would have been. Failures in a row are counted and told.
///
/// Only what has ended within the last two seconds counts. A server to which nobody comes because it was slow would
/// otherwise stay slow in all answers, and idle, for ever; so what it knows last fades, to 1/e in each further two seconds.
///
/// Before anything has ended the latency is zero: clients come to see, and what is in flight bounds how many.
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
/// assert_eq!(load.answer(&after(0)).rif(), 1);
/// request.end(Outcome::Success, &after(12));
/// assert_eq!(load.answer(&after(20)).latency(), Duration::from_millis(12));
/// ```
pub struct ServerLoad {
    rif: AtomicU32,
    failures: AtomicU32,
    ended: AtomicU64,
    window: [Ended; WINDOW],
}

/// A request that has ended. Its two words may belong to different requests for a moment, which is no worse than either.
struct Ended {
    /// How many requests it met and how many microseconds it took; zero while there is none.
    taken: AtomicU64,
    at: AtomicU64,
}

impl ServerLoad {
    /// Makes the load of a server that has nothing to do.
    #[must_use]
    pub fn new() -> Self {
        Self {
            rif: AtomicU32::new(0),
            failures: AtomicU32::new(0),
            ended: AtomicU64::new(0),
            window: std::array::from_fn(|_| Ended { taken: AtomicU64::new(0), at: AtomicU64::new(0) }),
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
    pub fn answer(&self, now: &Now) -> ProbeAnswer {
        let rif = self.rif();
        let failures = self.failures.load(Ordering::Relaxed);
        ProbeAnswer::new(rif, self.latency_at(rif, now.nanos())).with_failures(failures)
    }

    fn latency_at(&self, rif: u32, now: u64) -> Duration {
        let next = usize::try_from(self.ended.load(Ordering::Relaxed) % WINDOW as u64).unwrap_or(0);
        let mut nearest = [(u32::MAX, 0, 0); WINDOW];
        let mut len = 0;
        let mut last = None;
        for back in 1..=WINDOW {
            let ended = &self.window[(next + WINDOW - back) % WINDOW];
            let Some((met, micros)) = unpack(ended.taken.load(Ordering::Relaxed)) else { break };
            let age = age(ended.at.load(Ordering::Relaxed), now);
            last = last.or(Some((scaled(micros, met, rif), age)));
            if age > RECENT {
                // Whatever ended before is older still.
                break;
            }
            // Of those that are equally near the later ones come first.
            nearest[len] = (met.abs_diff(rif), back, scaled(micros, met, rif));
            len += 1;
        }
        let nearest = &mut nearest[..len];
        if len > NEAREST {
            nearest.select_nth_unstable(NEAREST);
        }
        let nearest = &mut nearest[..len.min(NEAREST)];
        if let Some(middle) = Some(nearest.len() / 2).filter(|_| len > 0) {
            let (_, (.., micros), _) = nearest.select_nth_unstable_by_key(middle, |(.., micros)| *micros);
            return Duration::from_micros((*micros).into());
        }
        last.map_or(Duration::ZERO, |(micros, age)| faded(micros, age))
    }

    fn arrive(&self) -> u32 {
        self.rif.fetch_add(1, Ordering::Relaxed)
    }

    fn leave(&self, met: u32, outcome: Outcome, taken: Duration, now: u64) {
        self.rif.fetch_sub(1, Ordering::Relaxed);
        match outcome {
            Outcome::Success => {
                let at = self.ended.fetch_add(1, Ordering::Relaxed) % WINDOW as u64;
                let ended = &self.window[usize::try_from(at).unwrap_or(0)];
                ended.at.store(now, Ordering::Relaxed);
                ended.taken.store(pack(met, taken), Ordering::Relaxed);
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

fn age(at: u64, now: u64) -> Duration {
    Duration::from_nanos(u64::try_from(now.wrapping_sub(at).cast_signed()).unwrap_or(0))
}

/// Returns how long a request takes that meets `rif` others, when one that met `met` took so long.
fn scaled(micros: u32, met: u32, rif: u32) -> u32 {
    let part = (u64::from(rif) + SHARED) * u64::from(micros) / (u64::from(met) + SHARED);
    u32::try_from(part).unwrap_or(u32::MAX)
}

/// Returns what is left to be believed of a latency at this age.
fn faded(micros: u32, age: Duration) -> Duration {
    let excess = age.saturating_sub(RECENT).as_secs_f64() / RECENT.as_secs_f64();
    Duration::from_micros(micros.into()).mul_f64((-excess).exp())
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
        f.debug_struct("ServerLoad").field("rif", &self.rif()).finish_non_exhaustive()
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
        self.load.as_ref().leave(self.met, outcome, now.since(self.started), now.nanos());
    }
}

impl<L: AsRef<ServerLoad>> Drop for Serving<L> {
    fn drop(&mut self) {
        if !self.ended {
            self.load.as_ref().leave(self.met, Outcome::Cancelled, Duration::ZERO, 0);
        }
    }
}

impl AsRef<Self> for ServerLoad {
    fn as_ref(&self) -> &Self {
        self
    }
}
