//! The limit.

use std::fmt;
use std::time::Duration;

use crate::core::{AdditiveLoad, AtCapacity, LoadMetric, LoadTracker, Now, Outcome, Pending};
use crate::health::Limit;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Mutex, Ordering, lock};

use super::GradientConfig;
use super::controller::{Controller, is_reached};
use super::samples::Samples;

/// Admits as many attempts at once as a member bears without becoming slower, and finds that number out.
///
/// It follows Netflix's Gradient2 (`com.netflix.concurrency.limits.limit.Gradient2Limit`). After each round, with `short` its
/// mean latency and `long` the exponential mean over 600 rounds:
///
/// 1. `gradient = clamp(1.5 * long / short, 0.5, 1)`: one as long as answers take no longer than usual, to a tolerance;
/// 2. `limit = 0.8 * limit + 0.2 * (limit * gradient + 4)`, within the bounds: it rises by 0.8 each round in good times, and
///    falls by up to a tenth in bad ones;
/// 3. a round in which never half of the limit was in use moves it not, as that tells nothing;
/// 4. `long` that is more than twice `short` loses 5 % each round.
///
/// What differs, and why:
///
/// - Only successes tell a latency. A failure that comes at once says nothing of how much work the member bears. A cancelled
///   attempt counts if it had lasted longer than usual: callers that give up on a slow member must not hide that it is.
/// - An [overload](Outcome::Overload) takes a tenth off the limit at once. That is once per cut: overloads of attempts that
///   were under way at the last one are the same news.
/// - While a member asks with `retry_after` to be left alone, up to the [longest
///   hold](GradientConfig::with_longest_hold), its limit is the lower bound, one attempt unless chosen otherwise. The end of
///   an attempt lifts that when the time is over, and so does an attempt that would be refused.
///
/// As a load it is the number of attempts in flight; beside another one it stands in a
/// [`LimitedLoad`](crate::health::LimitedLoad).
///
/// # Complexity
///
/// An attempt takes three atomic exchanges, repeated only when another thread got in between. The end of a round takes a lock
/// that nobody waits for, an overload a short one.
///
/// # Examples
///
/// ```
/// use poise::core::{Now, Outcome};
/// use poise::health::{GradientConfig, GradientLimit, Limit};
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let at = |millis| Now::at(start + Duration::from_millis(millis));
/// let limit = GradientLimit::new(GradientConfig::default(), &at(0));
/// assert_eq!(limit.limit(), 20);
///
/// let refused = Outcome::Overload { retry_after: Some(Duration::from_secs(1)) };
/// limit.try_acquire(&at(0))?.complete(refused, &at(5));
/// assert_eq!(limit.limit(), 1, "left alone for a second");
/// limit.try_acquire(&at(1_000))?.complete(Outcome::Success, &at(1_005));
/// assert_eq!(limit.limit(), 18, "and a tenth lower than before");
/// # Ok::<(), poise::core::AtCapacity>(())
/// ```
#[repr(align(64))]
pub struct GradientLimit {
    pending: Pending,
    /// What is admitted at present; written under the lock.
    limit: AtomicU32,
    /// Whether the limit is what it is because the member asked for it; written under the lock.
    held: AtomicBool,
    /// The most attempts in flight in this round.
    peak: AtomicU32,
    samples: Samples,
    /// When the round ends; written under the lock.
    round_ends: AtomicU64,
    /// The usual latency in nanoseconds; written under the lock.
    usual: AtomicU64,
    config: GradientConfig,
    controller: Mutex<Controller>,
}

/// Carries one attempt under a [`GradientLimit`] from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GradientTicket {
    started: u64,
}

/// How many latencies it takes to end a round.
const MIN_SAMPLES: u64 = 10;

impl GradientLimit {
    /// Makes a limit whose first round begins `now`.
    #[must_use]
    pub fn new(config: GradientConfig, now: &Now) -> Self {
        Self {
            pending: Pending::new(None),
            limit: AtomicU32::new(config.initial()),
            held: AtomicBool::new(false),
            peak: AtomicU32::new(0),
            samples: Samples::new(),
            round_ends: AtomicU64::new(now.nanos().wrapping_add(round(&config))),
            usual: AtomicU64::new(u64::MAX),
            controller: Mutex::new(Controller::new(&config)),
            config,
        }
    }

    /// Returns the settings.
    #[must_use]
    pub const fn config(&self) -> &GradientConfig {
        &self.config
    }

    fn sample(&self, latency: u64, now: u64) {
        let in_flight = u32::try_from(self.pending.count()).unwrap_or(u32::MAX);
        // Most of the time somebody else has seen more: a look is cheaper than an exchange.
        if in_flight > self.peak.load(Ordering::Relaxed) {
            self.peak.fetch_max(in_flight, Ordering::Relaxed);
        }
        self.samples.add(latency);
        if self.samples.count() >= MIN_SAMPLES && self.is_round_over(now) {
            self.end_round(now);
        }
    }

    /// A clock that went back ends the round, too: it would last too long otherwise.
    fn is_round_over(&self, now: u64) -> bool {
        let ends = self.round_ends.load(Ordering::Relaxed);
        is_reached(ends, now) || !is_reached(ends, now.wrapping_add(round(&self.config)))
    }

    #[cold]
    fn end_round(&self, now: u64) {
        // Whoever has the lock sees to it.
        let Ok(mut controller) = self.controller.try_lock() else { return };
        if !self.is_round_over(now) {
            return;
        }
        self.round_ends.store(now.wrapping_add(round(&self.config)), Ordering::Relaxed);
        let peak = self.peak.swap(0, Ordering::Relaxed);
        if let Some(short) = self.samples.take() {
            controller.follow(short, peak.into(), &self.config);
        }
        self.publish(&mut controller, now);
    }

    #[cold]
    fn overloaded(&self, started: u64, retry_after: Option<Duration>, now: u64) {
        let mut controller = lock(&self.controller);
        controller.cut(started, now, &self.config);
        if let Some(time) = retry_after {
            controller.hold(time, now, &self.config);
        }
        self.publish(&mut controller, now);
    }

    /// Lifts a hold whose time is over.
    #[cold]
    fn lift_hold(&self, now: u64) {
        self.publish(&mut lock(&self.controller), now);
    }

    fn publish(&self, controller: &mut Controller, now: u64) {
        // The limit guards no memory: no ordering.
        self.limit.store(controller.limit(now, &self.config), Ordering::Relaxed);
        // Release: who sees that a hold is lifted sees the limit after it.
        self.held.store(controller.is_held(), Ordering::Release);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive, and the cast saturates"
        )]
        let usual = controller.usual().map_or(u64::MAX, |usual| usual as u64);
        self.usual.store(usual, Ordering::Relaxed);
    }

    /// Acquire: the other half of what is released when the hold is lifted.
    fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }
}

impl Limit for GradientLimit {
    fn limit(&self) -> u32 {
        self.limit.load(Ordering::Relaxed)
    }
}

impl LoadMetric for GradientLimit {
    fn measure(&self, _: &Now) -> f64 {
        self.count() as f64
    }
}

impl AdditiveLoad for GradientLimit {
    fn count(&self) -> u64 {
        self.pending.count()
    }
}

impl LoadTracker for GradientLimit {
    type Ticket = GradientTicket;

    fn start(&self, now: &Now) -> Result<GradientTicket, AtCapacity> {
        let limit = self.limit();
        if self.pending.admit_below(limit).is_err() {
            if self.is_held() {
                self.lift_hold(now.nanos());
            }
            // It may have risen meanwhile, by this hand or another.
            if self.limit() <= limit {
                return Err(AtCapacity);
            }
            self.pending.admit_below(self.limit())?;
        }
        Ok(GradientTicket { started: now.nanos() })
    }

    fn responded(&self, ticket: GradientTicket, outcome: Outcome, now: &Now) {
        let now = now.nanos();
        let latency = u64::try_from(now.wrapping_sub(ticket.started).cast_signed()).unwrap_or(0);
        match outcome {
            Outcome::Success => self.sample(latency, now),
            Outcome::Cancelled if latency > self.usual.load(Ordering::Relaxed) => self.sample(latency, now),
            Outcome::Overload { retry_after } => self.overloaded(ticket.started, retry_after, now),
            Outcome::Failure | Outcome::Cancelled => {}
        }
        if self.is_held() {
            self.lift_hold(now);
        }
    }

    /// A release without a start leaves the count at zero.
    fn release(&self, _: GradientTicket, _: &Now) {
        self.pending.leave();
    }

    fn is_full(&self) -> bool {
        self.pending.count() >= u64::from(self.limit())
    }
}

/// Returns the length of a round in nanoseconds, at most half of what wrapping differences can tell.
fn round(config: &GradientConfig) -> u64 {
    u64::try_from(config.round.as_nanos()).unwrap_or(u64::MAX).min(1 << 61)
}

impl fmt::Debug for GradientLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GradientLimit")
            .field("limit", &self.limit())
            .field("in_flight", &self.pending.count())
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
