//! The tracker.

use std::fmt;
use std::time::Duration;

use super::clock;
use super::config::PeakEwmaConfig;
use super::decay::Rate;
use super::estimate::Estimate;
use super::failures::Failures;
use super::witness::{Token, Witness};
use crate::core::load::pending::Pending;
use crate::core::{AtCapacity, LoadMetric, LoadTracker, Now, Outcome};

/// Measures load as expected latency times concurrency: `latency * 2^failures * (pending + 1)`, in nanoseconds.
///
/// The latency is a moving average that believes a peak at once and forgets it slowly, as in Finagle's Peak EWMA
/// (`com.twitter.finagle.loadbalancer.PeakEwma`). With `latency` the last estimate, `dt` its age and `tau` the
/// [decay](PeakEwmaConfig::with_decay):
///
/// 1. a success that took longer than `latency` replaces it;
/// 2. a success that took less blends in: `w = exp(-dt/tau)`, `latency * w + taken * (1 - w)`;
/// 3. a reading sees `latency * w`, so a member that nobody tries becomes worth a try.
///
/// What differs from Finagle, and why:
///
/// - Reading never writes: the decay is a projection, so how often a policy looks changes nothing.
/// - Failures and overloads double the load each, up to ten in a row. A success ends the row; each `tau` without a further
///   failure takes one off. Such an answer never lowers the latency, and it stops the decay: a member that refuses
///   connections in no time would otherwise look fast and attract what it then fails. A slow failure counts as a peak.
/// - A member that failed is tried again. When it has been left alone for a pause, of a second after one failure, twice that
///   after each further one, and at most `tau`, it reads as 1 as long as nothing is pending: it gets one attempt. A success
///   after the pause replaces the latency. Without this a member that has recovered would wait until its penalty has
///   faded against peers that are in use, for half a minute and more.
/// - A cancelled attempt raises the latency to the time that had passed, if that is higher, and is no failure: callers that
///   give up on a member that hangs must not make it look idle.
/// - The latency is at least the age of a *witness*, the first attempt that started while there was none: a member that
///   hangs becomes expensive while it hangs, not when somebody gives up.
/// - A newcomer starts from the median of its peers (see [`seed`](LoadTracker::seed)), not from nothing, so that it is
///   neither flooded nor starved.
///
/// Clocks that go back are no error: time that passed twice counts once.
///
/// # Accuracy
///
/// A latency is at least a nanosecond and kept to one part in a million; it is dated to 16.4 microseconds, so of answers
/// that come within that time all but the first count only as peaks.
///
/// # Complexity
///
/// All state is in one cache line of atomics; no locks. Measuring is four loads and one
/// exponential in about ten multiplications.
/// [`start`](LoadTracker::start) is one atomic read-modify-write; an attempt takes one or two more until its end, three when
/// it fails. Each is repeated only when another thread changed the same word in between. Seeding looks at no more
/// than eight peers.
///
/// # Examples
///
/// ```
/// use poise::core::{LoadMetric, Now, Outcome, PeakEwma, Tracked};
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let after = |millis| Now::at(start + Duration::from_millis(millis));
///
/// let load = PeakEwma::new_at(&after(0));
/// assert_eq!(load.estimate(&after(0)).as_millis(), 30);
///
/// let slow = Tracked::start(&load, &after(0))?;
/// slow.complete(Outcome::Success, &after(80));
/// assert_eq!(load.estimate(&after(80)).as_millis(), 80);
///
/// let idle = load.measure(&after(80));
/// let _pending = Tracked::start(&load, &after(80))?;
/// assert_eq!(load.measure(&after(80)), 2.0 * idle);
/// # Ok::<(), poise::core::AtCapacity>(())
/// ```
#[repr(align(64))]
pub struct PeakEwma {
    estimate: Estimate,
    failures: Failures,
    witness: Witness,
    pending: Pending,
    rate: Rate,
    tau: u64,
    initial: f64,
}

/// Carries one attempt on a [`PeakEwma`] from its start to its end.
#[derive(Clone, Copy, Debug)]
pub struct PeakEwmaTicket {
    started: u64,
    token: Token,
}

const SAMPLE: usize = 8;

impl PeakEwma {
    /// Makes a tracker with the [default settings](PeakEwmaConfig), whose initial estimate is dated by the system's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Makes a tracker with the default settings, whose initial estimate is dated `now`.
    #[must_use]
    pub fn new_at(now: &Now) -> Self {
        Self::builder().build_at(now)
    }

    /// Returns the default settings, to be changed and built.
    pub const fn builder() -> PeakEwmaConfig {
        PeakEwmaConfig::new()
    }

    /// Returns the latency to expect at `now`: the decayed estimate, or the age of the witness where that is higher.
    #[must_use]
    pub fn estimate(&self, now: &Now) -> Duration {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at least 1, and the cast saturates"
        )]
        let nanos = self.latency(now.nanos()) as u64;
        Duration::from_nanos(nanos)
    }

    /// Returns the number of attempts in flight.
    #[must_use]
    pub fn pending(&self) -> u64 {
        self.pending.count()
    }

    /// Returns how many attempts may be in flight, if that is limited.
    #[must_use]
    pub fn limit(&self) -> Option<u32> {
        self.pending.limit()
    }

    /// Tells whether an attempt that started now would be refused; never without a limit.
    #[must_use]
    #[inline]
    pub fn is_full(&self) -> bool {
        self.pending.is_full()
    }

    /// Returns the failures in a row, at most 10, less one for each whole decay time since the last.
    #[must_use]
    pub fn consecutive_failures(&self, now: &Now) -> u32 {
        self.failures.project(now.nanos(), self.tau)
    }

    pub(super) fn from_config(config: &PeakEwmaConfig, now: &Now) -> Self {
        let tau = saturating_nanos(config.decay());
        let initial = saturating_nanos(config.initial_estimate()) as f64;
        Self {
            estimate: Estimate::new(initial, now.nanos()),
            failures: Failures::new(),
            witness: Witness::new(),
            pending: Pending::new(config.limit()),
            rate: Estimate::rate(tau),
            tau,
            initial,
        }
    }

    /// The witness is read before the estimate: one that has just ended has raised the estimate before it went.
    #[inline]
    fn latency(&self, now: u64) -> f64 {
        // Signed: processors turn that into a double in one step, and neither an age nor a count reaches 2^63.
        let age = self.witness.age(now).cast_signed() as f64;
        let latency = self.estimate.project(now, self.rate);
        // Not by `max`, which looks at whether they are numbers.
        let latency = if age > latency { age } else { latency };
        if latency > 1.0 { latency } else { 1.0 }
    }

    /// Learns from an attempt that is no mere success after a success.
    #[cold]
    fn learn(&self, taken: f64, outcome: Outcome, now: u64) {
        match outcome {
            Outcome::Success => {
                if self.failures.is_due(now, self.tau) {
                    // What is known of the latency is that of the failures, and they are over.
                    self.estimate.reset(taken, now);
                } else {
                    self.estimate.observe(taken, now, self.rate);
                }
                self.failures.reset();
            }
            Outcome::Failure | Outcome::Overload { .. } => {
                self.estimate.hold(taken, now);
                self.failures.add(now, self.tau);
            }
            Outcome::Cancelled => self.estimate.raise(taken, now, self.rate),
        }
    }

    #[inline]
    fn measure_at(&self, now: u64) -> f64 {
        let pending = self.pending.count();
        if self.failures.are_none() {
            self.latency(now) * (pending.cast_signed() as f64 + 1.0)
        } else {
            self.measure_failing(pending, now)
        }
    }

    /// Measures the first that is measured at a time, apart so that the others have nothing to save before a call.
    #[cold]
    fn measure_first(&self, now: &Now) -> f64 {
        self.measure_at(now.nanos())
    }

    /// Measures a member that has failed.
    #[cold]
    fn measure_failing(&self, pending: u64, now: u64) -> f64 {
        if pending == 0 && self.failures.is_due(now, self.tau) {
            // For one attempt: from its start on it is pending, and the penalty counts again.
            return 1.0;
        }
        let penalty = f64::from(1_u32 << self.failures.project(now, self.tau));
        self.latency(now) * penalty * (pending.cast_signed() as f64 + 1.0)
    }
}

impl Default for PeakEwma {
    fn default() -> Self {
        Self::new()
    }
}

impl LoadMetric for PeakEwma {
    #[inline]
    fn measure(&self, now: &Now) -> f64 {
        match now.known_nanos() {
            Some(now) => self.measure_at(now),
            None => self.measure_first(now),
        }
    }

    #[inline]
    fn is_idle(&self, now: &Now) -> bool {
        self.pending.count() == 0
            && (self.failures.are_none() || self.failures.project(now.nanos(), self.tau) == 0)
    }
}

impl LoadTracker for PeakEwma {
    type Ticket = PeakEwmaTicket;

    #[inline]
    fn start(&self, now: &Now) -> Result<PeakEwmaTicket, AtCapacity> {
        self.pending.admit()?;
        let started = now.nanos();
        Ok(PeakEwmaTicket { started, token: self.witness.call(started) })
    }

    fn responded(&self, ticket: PeakEwmaTicket, outcome: Outcome, now: &Now) {
        let now = now.nanos();
        let taken = clock::since(ticket.started, now).cast_signed() as f64;
        if matches!(outcome, Outcome::Success) && self.failures.are_none() {
            self.estimate.observe(taken, now, self.rate);
        } else {
            self.learn(taken, outcome, now);
        }
        self.witness.dismiss(ticket.token);
    }

    #[inline]
    fn release(&self, ticket: PeakEwmaTicket, _: &Now) {
        self.witness.dismiss(ticket.token);
        self.pending.leave();
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.pending.is_full()
    }

    #[inline]
    fn has_limit(&self) -> bool {
        self.pending.limit().is_some()
    }

    /// Starts anew from the median of what the first eight of `peers` expect at `now`, or from the
    /// [initial estimate](PeakEwmaConfig::with_initial_estimate) when there are none.
    ///
    /// Past failures and the witness are forgotten; attempts in flight stay counted. The tracker itself is skipped when it
    /// is among its peers. With more than eight peers, which eight are looked at is the caller's choice.
    fn seed(&self, peers: &mut dyn Iterator<Item = &Self>, now: &Now) {
        let now = now.nanos();
        let mut sample = [0.0; SAMPLE];
        let mut taken = 0;
        for (place, peer) in sample.iter_mut().zip(peers.filter(|peer| !std::ptr::eq(*peer, self))) {
            *place = peer.latency(now);
            taken += 1;
        }
        self.estimate.reset(median(&mut sample[..taken]).unwrap_or(self.initial), now);
        self.failures.reset();
        self.witness.dismiss_any();
    }
}

impl fmt::Debug for PeakEwma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeakEwma")
            .field("pending", &self.pending())
            .field("limit", &self.limit())
            .field("decay", &Duration::from_nanos(self.tau))
            .finish_non_exhaustive()
    }
}

fn median(sample: &mut [f64]) -> Option<f64> {
    sample.sort_unstable_by(f64::total_cmp);
    let upper = *sample.get(sample.len() / 2)?;
    let lower = sample[(sample.len() - 1) / 2];
    Some(f64::midpoint(lower, upper))
}

fn saturating_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use crate::sync::Arc;

    fn times() -> impl Fn(u64) -> Now {
        let start = Now::lazy().instant();
        move |millis| Now::at(start + Duration::from_millis(millis))
    }

    #[test]
    fn loom_attempts_that_race_leave_no_count_and_no_witness() {
        let at = Arc::new(times());
        loom::model(move || {
            let load = Arc::new(PeakEwma::new_at(&at(0)));
            let attempt = |load: &PeakEwma, at: &dyn Fn(u64) -> Now, outcome| {
                let ticket = load.start(&at(0)).unwrap();
                load.responded(ticket, outcome, &at(1));
                load.release(ticket, &at(1));
            };
            let other = {
                let (load, at) = (Arc::clone(&load), Arc::clone(&at));
                loom::thread::spawn(move || attempt(&load, &*at, Outcome::Success))
            };
            attempt(&load, &*at, Outcome::Failure);
            other.join().unwrap();

            assert_eq!(load.pending(), 0);
            assert_eq!(load.witness.age(at(3_600_000).nanos()), 0, "no witness outlives its attempt");
            let next = load.start(&at(1)).unwrap();
            assert!(next.token.is_some(), "the next attempt finds the place of the witness free");
        });
    }

    #[test]
    fn loom_the_age_of_a_witness_passes_to_the_estimate_without_a_gap() {
        let at = Arc::new(times());
        loom::model(move || {
            let load = Arc::new(PeakEwma::new_at(&at(0)));
            let ticket = load.start(&at(0)).unwrap();
            // Loom remembers one access per word, so the reader must be the thread that it lets run last.
            let reader = {
                let (load, at) = (Arc::clone(&load), Arc::clone(&at));
                loom::thread::spawn(move || load.estimate(&at(1_000)))
            };
            load.responded(ticket, Outcome::Cancelled, &at(1_000));
            load.release(ticket, &at(1_000));
            let seen = reader.join().unwrap();
            assert!(
                seen >= Duration::from_millis(999),
                "the attempt had hung for a second, and {seen:?} was expected"
            );
        });
    }
}
