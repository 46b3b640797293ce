//! Endpoints that are probed every ten seconds, and what tests do to them.

use std::time::Duration;

use poise::core::{Exclusion, Now};
use poise::health::{ActiveHealth, ActiveHealthConfig, HealthSignal, ProbeCompletion, ProbeOutcome};

pub(crate) const INTERVAL: Duration = Duration::from_secs(10);

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Makes an endpoint with the thresholds of the defaults: healthy after two, unhealthy after three.
pub(crate) fn health() -> ActiveHealth {
    ActiveHealth::new(ActiveHealthConfig::default())
}

pub(crate) fn probe(health: &ActiveHealth, outcome: ProbeOutcome, now: &Now) -> ProbeCompletion {
    health.try_reserve(now).expect("a probe is due").complete(outcome, now)
}

pub(crate) fn is_excluded(health: &ActiveHealth, now: &Now) -> bool {
    health.exclusions(now).contains(Exclusion::Probe)
}
