//! Counting, in constant memory.

use std::fmt;
use std::sync::Arc;

use super::labels::{OUTCOMES, outcome_kind};
use super::latency::Latencies;
use super::{
    AttemptEvent, BuildEvent, CircuitChange, CircuitEvent, FailFastEvent, HedgeEvent, HedgeVerdict,
    MemberChange, MemberEvent, MembershipEvent, Observer, OutlierChange, OutlierEvent, OutlierReason,
    PanicEvent, PanicModeEvent, PickEvent, PickVerdict, ProbeEvent, ReadinessEvent, RecorderSnapshot,
    RetryEvent,
};
use crate::core::striped::StripedCounter;
use crate::core::{Exclusion, ExclusionCounts, Outcome, Phase};

/// The name of the [`Recorder`] for programs that know it as their metrics.
pub type Metrics = Recorder;

/// Counts what happens: attempts, picks, reasons, retries, hedges, circuits, memberships.
///
/// It is a handle; clones count together. Dimensions are enums of this crate, so that it takes the same memory, about 76 KiB,
/// whatever the members, keys and requests. Counters stay at the largest number when they reach it.
///
/// Counting is a relaxed addition in a cache line that few threads share: what a snapshot shows of different counters may be
/// some events apart.
///
/// # Complexity
///
/// Constant per event, without allocation; a snapshot adds up the stripes and allocates once.
///
/// # Examples
///
/// ```
/// use poise::core::{Outcome, Phase};
/// use poise::observe::{AttemptEvent, Observer, Recorder};
/// use std::time::Duration;
///
/// let recorder = Recorder::new();
/// recorder.attempt(&AttemptEvent::new(Phase::Call, Outcome::Failure, Duration::from_millis(20)));
///
/// let counts = recorder.snapshot();
/// assert_eq!(counts.attempts(Phase::Call, Outcome::Failure), 1);
/// assert!(counts.latency(0.99) >= Some(Duration::from_millis(20)));
/// println!("{counts}");
/// ```
#[derive(Clone)]
pub struct Recorder {
    counters: Arc<Counters>,
}

struct Counters {
    attempts: [[StripedCounter; OUTCOMES.len()]; Phase::ALL.len()],
    picks: [StripedCounter; PickVerdict::ALL.len()],
    exclusions: [StripedCounter; Exclusion::ALL.len()],
    readiness_failures: StripedCounter,
    retries: StripedCounter,
    retries_denied: StripedCounter,
    hedges: StripedCounter,
    hedges_denied: StripedCounter,
    hedges_won: StripedCounter,
    trips: StripedCounter,
    trips_withheld: StripedCounter,
    recoveries: StripedCounter,
    outliers: [[StripedCounter; OutlierReason::ALL.len()]; OutlierChange::ALL.len()],
    found_healthy: StripedCounter,
    found_unhealthy: StripedCounter,
    panic_started: StripedCounter,
    panic_ended: StripedCounter,
    members: [StripedCounter; MemberChange::ALL.len()],
    build_failures: StripedCounter,
    memberships: StripedCounter,
    fail_fast_started: StripedCounter,
    fail_fast_ended: StripedCounter,
    panics: StripedCounter,
    latencies: Latencies,
}

impl Recorder {
    /// Makes a recorder that has counted nothing.
    #[must_use]
    pub fn new() -> Self {
        Self { counters: Arc::new(Counters::new()) }
    }

    /// Returns the counts as they are now.
    #[must_use]
    pub fn snapshot(&self) -> RecorderSnapshot {
        let counters = &*self.counters;
        RecorderSnapshot {
            attempts: counters.attempts.each_ref().map(|phase| phase.each_ref().map(StripedCounter::sum)),
            picks: counters.picks.each_ref().map(StripedCounter::sum),
            exclusions: counters.exclusions.each_ref().map(StripedCounter::sum),
            readiness_failures: counters.readiness_failures.sum(),
            retries: counters.retries.sum(),
            retries_denied: counters.retries_denied.sum(),
            hedges: counters.hedges.sum(),
            hedges_denied: counters.hedges_denied.sum(),
            hedges_won: counters.hedges_won.sum(),
            trips: counters.trips.sum(),
            trips_withheld: counters.trips_withheld.sum(),
            recoveries: counters.recoveries.sum(),
            outliers: counters.outliers.each_ref().map(|change| change.each_ref().map(StripedCounter::sum)),
            found_healthy: counters.found_healthy.sum(),
            found_unhealthy: counters.found_unhealthy.sum(),
            panic_started: counters.panic_started.sum(),
            panic_ended: counters.panic_ended.sum(),
            members: counters.members.each_ref().map(StripedCounter::sum),
            build_failures: counters.build_failures.sum(),
            memberships: counters.memberships.sum(),
            fail_fast_started: counters.fail_fast_started.sum(),
            fail_fast_ended: counters.fail_fast_ended.sum(),
            panics: counters.panics.sum(),
            latencies: counters.latencies.counts(),
        }
    }
}

impl Counters {
    fn new() -> Self {
        let counter = |_| StripedCounter::new();
        Self {
            attempts: std::array::from_fn(|_| std::array::from_fn(counter)),
            picks: std::array::from_fn(counter),
            exclusions: std::array::from_fn(counter),
            readiness_failures: StripedCounter::new(),
            retries: StripedCounter::new(),
            retries_denied: StripedCounter::new(),
            hedges: StripedCounter::new(),
            hedges_denied: StripedCounter::new(),
            hedges_won: StripedCounter::new(),
            trips: StripedCounter::new(),
            trips_withheld: StripedCounter::new(),
            recoveries: StripedCounter::new(),
            outliers: std::array::from_fn(|_| std::array::from_fn(counter)),
            found_healthy: StripedCounter::new(),
            found_unhealthy: StripedCounter::new(),
            panic_started: StripedCounter::new(),
            panic_ended: StripedCounter::new(),
            members: std::array::from_fn(counter),
            build_failures: StripedCounter::new(),
            memberships: StripedCounter::new(),
            fail_fast_started: StripedCounter::new(),
            fail_fast_ended: StripedCounter::new(),
            panics: StripedCounter::new(),
            latencies: Latencies::new(),
        }
    }
}

impl Observer for Recorder {
    fn pick(&self, event: &PickEvent<'_>) {
        self.counters.picks[event.verdict as usize].add(1);
        for (reason, count) in event.exclusions().into_iter().flat_map(ExclusionCounts::iter) {
            self.counters.exclusions[reason as usize].add(count.into());
        }
    }

    fn attempt(&self, event: &AttemptEvent<'_>) {
        self.counters.attempts[event.phase as usize][outcome_kind(event.outcome)].add(1);
        if event.outcome != Outcome::Cancelled {
            self.counters.latencies.record(event.elapsed);
        }
    }

    fn readiness_failed(&self, _: &ReadinessEvent<'_>) {
        self.counters.readiness_failures.add(1);
    }

    fn retry(&self, event: &RetryEvent) {
        let counters = &self.counters;
        if event.granted { &counters.retries } else { &counters.retries_denied }.add(1);
    }

    fn hedge(&self, event: &HedgeEvent<'_>) {
        let counter = match event.verdict {
            HedgeVerdict::Sent => &self.counters.hedges,
            HedgeVerdict::Denied => &self.counters.hedges_denied,
            HedgeVerdict::Won => &self.counters.hedges_won,
        };
        counter.add(1);
    }

    fn circuit(&self, event: &CircuitEvent<'_>) {
        let counter = match event.change {
            CircuitChange::Tripped => &self.counters.trips,
            CircuitChange::Withheld => &self.counters.trips_withheld,
            CircuitChange::Recovered => &self.counters.recoveries,
        };
        counter.add(1);
    }

    fn outlier(&self, event: &OutlierEvent<'_>) {
        self.counters.outliers[event.change as usize][event.reason as usize].add(1);
    }

    fn probe(&self, event: &ProbeEvent<'_>) {
        let counters = &self.counters;
        if event.healthy { &counters.found_healthy } else { &counters.found_unhealthy }.add(1);
    }

    fn panic_mode(&self, event: &PanicModeEvent) {
        let counters = &self.counters;
        if event.on { &counters.panic_started } else { &counters.panic_ended }.add(1);
    }

    fn member(&self, event: &MemberEvent<'_>) {
        self.counters.members[event.change as usize].add(1);
    }

    fn build_failed(&self, _: &BuildEvent<'_>) {
        self.counters.build_failures.add(1);
    }

    fn membership(&self, _: &MembershipEvent) {
        self.counters.memberships.add(1);
    }

    fn fail_fast(&self, event: &FailFastEvent) {
        let counters = &self.counters;
        if event.on { &counters.fail_fast_started } else { &counters.fail_fast_ended }.add(1);
    }

    fn panicked(&self, _: &PanicEvent) {
        self.counters.panics.add(1);
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recorder").field(&self.snapshot()).finish()
    }
}
