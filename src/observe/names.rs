//! The names of the metrics, as the facade knows them.
//!
//! Labels take a fixed, small number of values each; there are 68 series in all, whatever the members and the traffic.

/// Counts attempts that ended.
///
/// Labels: `phase` (`readiness`, `call`), `outcome` (`success`, `failure`, `overload`, `cancelled`).
pub const ATTEMPTS: &str = "poise.attempts";

/// Distributes how long attempts took, in seconds, from the pick to the answer.
///
/// Label: `outcome`, as of [`ATTEMPTS`]. The time of a cancelled attempt is a lower bound. Many exporters show a histogram as
/// quantiles unless they are given buckets; for a service that answers in milliseconds, 0.001 to 10 in steps of a factor of
/// two to three are a good start.
pub const ATTEMPT_DURATION: &str = "poise.attempt.duration";

/// Counts picks.
///
/// Label: `result`, the values of [`PickVerdict`](super::PickVerdict).
pub const PICKS: &str = "poise.picks";

/// Counts candidates that were excluded when a pick was refused.
///
/// Label: `reason`, the values of [`Exclusion`](crate::core::Exclusion). A candidate with two reasons counts under both.
pub const EXCLUSIONS: &str = "poise.exclusions";

/// Counts how often an endpoint failed before it was handed a request, in an attempt or when it was made ready ahead of any.
pub const READINESS_FAILURES: &str = "poise.readiness.failures";

/// Counts requests that were to be tried again.
///
/// Label: `result` (`granted`, `denied`).
pub const RETRIES: &str = "poise.retries";

/// Counts requests that were to be sent to a second endpoint beside the first, and those that it answered first.
///
/// Label: `result` (`sent`, `denied`, `won`).
pub const HEDGES: &str = "poise.hedges";

/// Counts circuits that opened or closed, and how often one was to open and the budget had it stay closed.
///
/// Label: `to` (`open`, `withheld`, `closed`).
pub const CIRCUIT_TRANSITIONS: &str = "poise.circuit.transitions";

/// Counts members that were ejected as outliers, that the budget had stay, and that returned.
///
/// Labels: `to` (`ejected`, `withheld`, `returned`), `reason` (`success_rate`, `failure_percentage`).
pub const OUTLIER_TRANSITIONS: &str = "poise.outlier.transitions";

/// Counts endpoints that probes found healthy or unhealthy and that were not known to be before.
///
/// Label: `to` (`healthy`, `unhealthy`).
pub const PROBE_VERDICTS: &str = "poise.probe.verdicts";

/// Counts how often too few members began to be healthy, or ceased to.
///
/// Label: `to` (`on`, `off`).
pub const PANIC_TRANSITIONS: &str = "poise.panic.transitions";

/// Shows how many balancers are in panic now.
pub const IN_PANIC: &str = "poise.balancers.in_panic";

/// Counts what operators said of members, and drains that are done.
///
/// Label: `change` (`drain`, `exclude`, `force_open`, `restore`, `drained`).
pub const MEMBER_CHANGES: &str = "poise.member.changes";

/// Counts how often the service of a member could not be built, did not connect, or was not ready to take over.
pub const BUILD_FAILURES: &str = "poise.build.failures";

/// Counts memberships that took effect.
pub const MEMBERSHIPS: &str = "poise.memberships";

/// Shows the members of all balancers that are told to the same recorder and not closed.
///
/// Label: `state` (`built`, `unbuilt`).
pub const MEMBERS: &str = "poise.members";

/// Counts how often requests began to fail at once, or ceased to.
///
/// Label: `to` (`on`, `off`).
pub const FAIL_FAST_TRANSITIONS: &str = "poise.fail_fast.transitions";

/// Shows how many balancers let requests fail at once now.
pub const FAILING_FAST: &str = "poise.balancers.failing_fast";

/// Counts panics in code of the user that were contained.
pub const PANICS: &str = "poise.panics";
