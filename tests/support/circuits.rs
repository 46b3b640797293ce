//! Circuits that open for ten seconds, and what tests do to them.

use std::time::Duration;

use poise::core::{Exclusion, Now, Outcome};
use poise::health::{CircuitConfig, Completion, HealthSignal, PassiveHealth};

pub(crate) const OPEN_FOR: Duration = Duration::from_secs(10);
pub(crate) const ROUND: Duration = Duration::from_secs(4);

pub(crate) fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) fn just_before(time: Duration) -> Duration {
    time.saturating_sub(Duration::from_nanos(1))
}

pub(crate) fn config(failures: u32) -> CircuitConfig {
    CircuitConfig::new(failures, OPEN_FOR).unwrap().with_half_open_deadline(ROUND).unwrap()
}

pub(crate) fn circuit(failures: u32) -> PassiveHealth {
    PassiveHealth::new(config(failures))
}

pub(crate) fn attempt(circuit: &PassiveHealth, outcome: Outcome, now: &Now) -> Completion {
    circuit.try_acquire(now).expect("the circuit admits").complete(outcome, now)
}

pub(crate) fn fail(circuit: &PassiveHealth, now: &Now) -> Completion {
    attempt(circuit, Outcome::Failure, now)
}

pub(crate) fn is_excluded(circuit: &PassiveHealth, now: &Now) -> bool {
    circuit.exclusions(now).contains(Exclusion::Circuit)
}
