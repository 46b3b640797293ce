//! What tests of load trackers share: a clock of their own, and comparisons of estimates.

use std::time::{Duration, Instant};

use poise::core::{Now, Outcome, PeakEwma, Tracked};

pub(crate) const OUTCOMES: [Outcome; 4] =
    [Outcome::Success, Outcome::Failure, Outcome::OVERLOAD, Outcome::Cancelled];

/// A clock that only tests move. It starts late enough to be turned back.
#[derive(Clone, Copy)]
pub(crate) struct Clock(pub(crate) Instant);

impl Clock {
    pub(crate) fn new() -> Self {
        Self(Now::lazy().instant() + Duration::from_secs(1 << 20))
    }

    pub(crate) fn after(self, duration: Duration) -> Now {
        Now::at(self.0 + duration)
    }

    pub(crate) fn before(self, duration: Duration) -> Now {
        Now::at(self.0.checked_sub(duration).unwrap())
    }

    pub(crate) fn millis(self, millis: u64) -> Now {
        self.after(Duration::from_millis(millis))
    }

    pub(crate) fn secs(self, secs: u64) -> Now {
        self.after(Duration::from_secs(secs))
    }
}

pub(crate) fn attempt(load: &PeakEwma, outcome: Outcome, from: &Now, to: &Now) {
    Tracked::start(load, from).unwrap().complete(outcome, to);
}

pub(crate) fn assert_close(actual: f64, expected: f64, what: &str) {
    assert!((actual - expected).abs() <= 2.0e-5 * expected, "{what}: {actual} instead of {expected}");
}

pub(crate) fn estimate(load: &PeakEwma, now: &Now) -> f64 {
    load.estimate(now).as_nanos() as f64
}

pub(crate) fn decayed(nanos: f64, taus: f64) -> f64 {
    nanos * (-taus).exp()
}
