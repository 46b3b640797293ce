//! Virtual times.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use poise::core::{Now, PeakEwma};

/// Nanoseconds since the start of a simulation.
pub(super) type Nanos = u64;

/// Returns the time that policies and trackers see.
///
/// Every simulation starts at the same instant. Trackers round times that they count from the first instant that they
/// hear of in the process, so that instant is this one; otherwise two runs would round differently.
pub(super) fn now_at(nanos: Nanos) -> Now {
    static START: OnceLock<Instant> = OnceLock::new();
    let start = START.get_or_init(|| {
        let start = Now::lazy().instant();
        drop(PeakEwma::new_at(&Now::at(start)));
        start
    });
    Now::at(*start + Duration::from_nanos(nanos))
}

pub(super) fn nanos(duration: Duration) -> Nanos {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Rounds to whole nanoseconds, at least one, so that virtual time always goes on.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at least 1, and the cast saturates"
)]
pub(super) fn at_least_one(nanos: f64) -> Nanos {
    nanos.ceil().max(1.0) as Nanos
}
