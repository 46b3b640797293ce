//! How the limit moves.

use std::time::Duration;

use super::GradientConfig;

/// Holds the limit as a fraction, and what it follows from. Times are nanoseconds as [`Now`](crate::core::Now) counts them.
#[derive(Debug)]
pub(super) struct Controller {
    limit: f64,
    usual: Usual,
    /// When the limit was last cut.
    cut: Option<u64>,
    /// Until when the member asked to be left alone.
    held_until: Option<u64>,
}

/// How much of a step counts.
const SMOOTHING: f64 = 0.2;
/// How many attempts may wait in a queue of the member.
const QUEUE: f64 = 4.0;
/// What is left of a limit after an overload.
const BACKOFF: f64 = 0.9;

impl Controller {
    pub(super) fn new(config: &GradientConfig) -> Self {
        let limit = f64::from(config.initial());
        Self { limit, usual: Usual::default(), cut: None, held_until: None }
    }

    /// Follows the mean latency of a round, in which at most `peak` attempts were in flight at once.
    pub(super) fn follow(&mut self, short: f64, peak: u64, config: &GradientConfig) {
        let usual = self.usual.follow(short);
        if (peak as f64) < self.limit / 2.0 {
            // So few say nothing of what more would do.
            return;
        }
        let gradient = (config.tolerance * usual / short).clamp(0.5, 1.0);
        let next = (1.0 - SMOOTHING) * self.limit + SMOOTHING * (self.limit * gradient + QUEUE);
        self.limit = next.clamp(config.min().into(), config.max().into());
    }

    /// Backs off after an overload of an attempt that `started` then. Attempts that were under way at the last cut bring the
    /// news of that again.
    pub(super) fn cut(&mut self, started: u64, now: u64, config: &GradientConfig) {
        if self.cut.is_none_or(|cut| is_reached(cut, started)) {
            self.limit = (self.limit * BACKOFF).max(config.min().into());
            self.cut = Some(now);
        }
    }

    /// Leaves the member alone for a time, or longer if it has asked for that before.
    pub(super) fn hold(&mut self, time: Duration, now: u64, config: &GradientConfig) {
        let time = time.min(config.longest_hold).min(Duration::from_nanos(1 << 62));
        let until = now.wrapping_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        if !time.is_zero() && self.held_until.is_none_or(|held| is_reached(held, until)) {
            self.held_until = Some(until);
        }
    }

    /// Returns how many attempts are admitted, from `now` on.
    pub(super) fn limit(&mut self, now: u64, config: &GradientConfig) -> u32 {
        self.held_until = self.held_until.filter(|until| !is_reached(*until, now));
        if self.held_until.is_some() {
            return config.min();
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between the bounds")]
        let whole = self.limit as u32;
        whole
    }

    pub(super) fn is_held(&self) -> bool {
        self.held_until.is_some()
    }

    /// Returns the usual latency in nanoseconds; none before the first round.
    pub(super) fn usual(&self) -> Option<f64> {
        (self.usual.rounds > 0).then_some(self.usual.latency)
    }
}

/// Follows the latency over many rounds: the plain mean of the first ten, then an exponential one over 600.
#[derive(Debug, Default)]
struct Usual {
    latency: f64,
    rounds: u32,
}

const WARM_UP: u32 = 10;
const WINDOW: u32 = 600;
/// How far the usual latency may lie above the present one, and what is left of it each round beyond that: after a time of
/// overload it must not take long to remember what is good.
const FAR: f64 = 2.0;
const DRIFT: f64 = 0.95;

impl Usual {
    fn follow(&mut self, short: f64) -> f64 {
        let part = if self.rounds < WARM_UP {
            self.rounds += 1;
            f64::from(self.rounds).recip()
        } else {
            2.0 / f64::from(WINDOW + 1)
        };
        self.latency += (short - self.latency) * part;
        if self.latency > FAR * short {
            self.latency *= DRIFT;
        }
        self.latency
    }
}

/// Tells whether `time` is at or after `deadline`, for numbers that wrap.
pub(super) fn is_reached(deadline: u64, time: u64) -> bool {
    time.wrapping_sub(deadline).cast_signed() >= 0
}
