//! What has been counted so far.

use std::fmt;
use std::time::Duration;

use super::labels::{self, OUTCOMES, outcome_kind};
use super::{MemberChange, OutlierChange, OutlierReason, PickVerdict};
use crate::core::histogram::quantile;
use crate::core::{Exclusion, Outcome, Phase};

/// Holds the counts of a [`Recorder`](super::Recorder) at one moment.
///
/// [`Display`](fmt::Display) prints as a table what is not zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecorderSnapshot {
    pub(super) attempts: [[u64; OUTCOMES.len()]; Phase::ALL.len()],
    pub(super) picks: [u64; PickVerdict::ALL.len()],
    pub(super) exclusions: [u64; Exclusion::ALL.len()],
    pub(super) readiness_failures: u64,
    pub(super) retries: u64,
    pub(super) retries_denied: u64,
    pub(super) hedges: u64,
    pub(super) hedges_denied: u64,
    pub(super) hedges_won: u64,
    pub(super) trips: u64,
    pub(super) trips_withheld: u64,
    pub(super) recoveries: u64,
    pub(super) outliers: [[u64; OutlierReason::ALL.len()]; OutlierChange::ALL.len()],
    pub(super) found_healthy: u64,
    pub(super) found_unhealthy: u64,
    pub(super) panic_started: u64,
    pub(super) panic_ended: u64,
    pub(super) members: [u64; MemberChange::ALL.len()],
    pub(super) build_failures: u64,
    pub(super) memberships: u64,
    pub(super) fail_fast_started: u64,
    pub(super) fail_fast_ended: u64,
    pub(super) panics: u64,
    pub(super) latencies: Vec<u64>,
}

impl RecorderSnapshot {
    /// Returns how many attempts ended in `phase` with `outcome`; overloads count together, whatever they ask for.
    #[must_use]
    pub fn attempts(&self, phase: Phase, outcome: Outcome) -> u64 {
        self.attempts[phase as usize][outcome_kind(outcome)]
    }

    /// Returns how many attempts ended.
    #[must_use]
    pub fn total_attempts(&self) -> u64 {
        self.attempts.iter().flatten().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Returns how many picks came to `verdict`.
    #[must_use]
    pub fn picks(&self, verdict: PickVerdict) -> u64 {
        self.picks[verdict as usize]
    }

    /// Returns how many candidates were excluded for `reason` when a pick was refused, over all such picks.
    #[must_use]
    pub fn exclusions(&self, reason: Exclusion) -> u64 {
        self.exclusions[reason as usize]
    }

    /// Returns how often an endpoint failed before it was handed a request, in an attempt or when it was made ready ahead of
    /// any.
    #[must_use]
    pub fn readiness_failures(&self) -> u64 {
        self.readiness_failures
    }

    /// Returns how often a request was tried again.
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.retries
    }

    /// Returns how often a request was not tried again because the budget was spent.
    #[must_use]
    pub fn retries_denied(&self) -> u64 {
        self.retries_denied
    }

    /// Returns how often a request was sent to a second endpoint beside the first.
    #[must_use]
    pub fn hedges(&self) -> u64 {
        self.hedges
    }

    /// Returns how often a request was not sent to a second endpoint because the budget was spent.
    #[must_use]
    pub fn hedges_denied(&self) -> u64 {
        self.hedges_denied
    }

    /// Returns how often the second endpoint had the answer first.
    #[must_use]
    pub fn hedges_won(&self) -> u64 {
        self.hedges_won
    }

    /// Returns how often a circuit opened.
    #[must_use]
    pub fn trips(&self) -> u64 {
        self.trips
    }

    /// Returns how often a circuit was to open and the budget had it stay closed. It asks again at each further failure.
    #[must_use]
    pub fn trips_withheld(&self) -> u64 {
        self.trips_withheld
    }

    /// Returns how often a circuit closed.
    #[must_use]
    pub fn recoveries(&self) -> u64 {
        self.recoveries
    }

    /// Returns how often this happened to a member that stood out by that.
    #[must_use]
    pub fn outliers(&self, change: OutlierChange, reason: OutlierReason) -> u64 {
        self.outliers[change as usize][reason as usize]
    }

    /// Returns how often probes found an endpoint healthy that was not known to be before.
    #[must_use]
    pub fn found_healthy(&self) -> u64 {
        self.found_healthy
    }

    /// Returns how often probes found an endpoint unhealthy that was not known to be before.
    #[must_use]
    pub fn found_unhealthy(&self) -> u64 {
        self.found_unhealthy
    }

    /// Returns how often too few members began to be healthy.
    #[must_use]
    pub fn panic_started(&self) -> u64 {
        self.panic_started
    }

    /// Returns how often enough members were healthy again.
    #[must_use]
    pub fn panic_ended(&self) -> u64 {
        self.panic_ended
    }

    /// Returns how often this was said of a member, or became of it.
    #[must_use]
    pub fn members(&self, change: MemberChange) -> u64 {
        self.members[change as usize]
    }

    /// Returns how often the service of a member could not be built, did not connect, or was not ready to take over.
    #[must_use]
    pub fn build_failures(&self) -> u64 {
        self.build_failures
    }

    /// Returns how many memberships took effect.
    #[must_use]
    pub fn memberships(&self) -> u64 {
        self.memberships
    }

    /// Returns how often requests began to fail at once.
    #[must_use]
    pub fn fail_fast_started(&self) -> u64 {
        self.fail_fast_started
    }

    /// Returns how often requests no longer failed at once.
    #[must_use]
    pub fn fail_fast_ended(&self) -> u64 {
        self.fail_fast_ended
    }

    /// Returns how many panics in code of the user were contained.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.panics
    }

    /// Returns how long the given part of the attempts took at most, counted from the fastest; none without attempts.
    ///
    /// Attempts that were cancelled do not count, as nobody knows how long they would have taken. It is the upper bound of a
    /// bucket, at most an eighth too high, from a microsecond to about an hour and a quarter.
    #[must_use]
    pub fn latency(&self, part: f64) -> Option<Duration> {
        quantile(&self.latencies, part)
    }

    /// Lists every count with its name and its dimensions, in the order of the table.
    fn rows(&self) -> impl Iterator<Item = (&'static str, &'static str, &'static str, u64)> {
        let attempts = Phase::ALL.into_iter().flat_map(move |phase| {
            OUTCOMES.into_iter().map(move |outcome| {
                ("attempts", labels::phase(phase), labels::outcome(outcome), self.attempts(phase, outcome))
            })
        });
        let picks = PickVerdict::ALL
            .into_iter()
            .map(|verdict| ("picks", labels::verdict(verdict), "", self.picks(verdict)));
        let exclusions = Exclusion::ALL
            .into_iter()
            .map(|reason| ("exclusions", labels::exclusion(reason), "", self.exclusions(reason)));
        let outliers = OutlierChange::ALL.into_iter().flat_map(move |change| {
            OutlierReason::ALL.into_iter().map(move |reason| {
                let count = self.outliers(change, reason);
                ("outliers", labels::outlier_change(change), labels::outlier_reason(reason), count)
            })
        });
        let members = MemberChange::ALL
            .into_iter()
            .map(|change| ("members", labels::member_change(change), "", self.members(change)));
        let others = [
            ("readiness failures", "", "", self.readiness_failures),
            ("retries", "granted", "", self.retries),
            ("retries", "denied", "", self.retries_denied),
            ("hedges", "sent", "", self.hedges),
            ("hedges", "denied", "", self.hedges_denied),
            ("hedges", "won", "", self.hedges_won),
            ("circuits", "tripped", "", self.trips),
            ("circuits", "withheld", "", self.trips_withheld),
            ("circuits", "recovered", "", self.recoveries),
            ("probes", "found healthy", "", self.found_healthy),
            ("probes", "found unhealthy", "", self.found_unhealthy),
            ("panic", "started", "", self.panic_started),
            ("panic", "ended", "", self.panic_ended),
            ("build failures", "", "", self.build_failures),
            ("memberships", "", "", self.memberships),
            ("fail fast", "started", "", self.fail_fast_started),
            ("fail fast", "ended", "", self.fail_fast_ended),
            ("contained panics", "", "", self.panics),
        ];
        attempts.chain(picks).chain(exclusions).chain(outliers).chain(members).chain(others)
    }
}

impl fmt::Display for RecorderSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<18} {:<21} {:<18} {:>20}", "count", "of", "by", "value")?;
        for (name, of, by, count) in self.rows().filter(|(.., count)| *count > 0) {
            write!(f, "\n{name:<18} {of:<21} {by:<18} {count:>20}")?;
        }
        for (name, part) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0)] {
            if let Some(latency) = self.latency(part) {
                let latency = format!("{latency:?}");
                write!(f, "\n{:<18} {name:<21} {:<18} {latency:>20}", "latency", "")?;
            }
        }
        Ok(())
    }
}
