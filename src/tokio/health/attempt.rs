//! One probe, from its start to its end.

use std::future::Future;
use std::time::Instant;

use super::{ProbeEnd, TimeoutPolicy};
use crate::core::Now;
use crate::health::{ActiveHealthConfig, ProbeOutcome};
use crate::tokio::contain::{Panicked, contain_until};
use crate::tokio::wait::{now, sleep_until};

/// Says how a probe ended, what that means, and when that was.
pub(super) struct Ended {
    pub(super) end: ProbeEnd,
    pub(super) outcome: ProbeOutcome,
    pub(super) at: Now,
}

/// Runs a probe that was reserved at `started`, within one deadline over all of it.
pub(super) async fn attempt<F: Future<Output = ProbeOutcome>>(
    probe: impl FnOnce() -> F,
    config: &ActiveHealthConfig,
    policy: TimeoutPolicy,
    started: Instant,
) -> Ended {
    // Without a timeout of its own a probe ends when its reservation has lapsed.
    let deadline = started.checked_add(config.timeout().unwrap_or(config.interval()));
    let ended = |end, outcome, at| Ended { end, outcome, at: Now::at(at) };
    match contain_until(probe, sleep_until(deadline)).await {
        Ok(Some(outcome)) => ended(ProbeEnd::Answered(outcome), outcome, now()),
        // The timer is coarse, and may come later than the reservation holds: the time was over at the deadline.
        Ok(None) => {
            ended(ProbeEnd::TimedOut, policy.outcome(), deadline.map_or_else(now, |at| at.min(now())))
        }
        Err(Panicked) => ended(ProbeEnd::Panicked, ProbeOutcome::Cancelled, now()),
    }
}
