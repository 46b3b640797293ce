//! Export through the `metrics` facade.

use std::fmt;

use ::metrics::{Counter, Gauge, Histogram, Unit, counter, gauge, histogram};

use super::labels::{self, OUTCOMES, outcome_kind};
use super::names;
use super::{
    AttemptEvent, BuildEvent, CircuitChange, CircuitEvent, ClosedEvent, FailFastEvent, HedgeEvent,
    HedgeVerdict, MemberChange, MemberEvent, MembershipEvent, Observer, OutlierChange, OutlierEvent,
    OutlierReason, PanicEvent, PanicModeEvent, PickEvent, PickVerdict, ProbeEvent, ReadinessEvent,
    RetryEvent,
};
use crate::core::{Exclusion, ExclusionCounts, Phase};

/// Exports what it hears through the `metrics` facade, under the names in [`names`].
///
/// Handles are resolved when it is made. **Install the recorder of your exporter first**: an observer that was made before
/// exports nothing, for ever. Call [`describe_metrics`] once as well if the exporter shows units and descriptions.
///
/// Gauges change by differences, so that several balancers with an observer each, or with clones of one, show their sum;
/// what a balancer added is taken off when it is closed.
///
/// # Complexity
///
/// Constant per event: additions by handles that were resolved before, about 10 ns each with common exporters.
///
/// # Examples
///
/// ```
/// use metrics_util::debugging::DebuggingRecorder;
/// use poise::core::{Outcome, Phase};
/// use poise::observe::{AttemptEvent, MetricsObserver, Observer, describe_metrics};
/// use std::time::Duration;
///
/// let exporter = DebuggingRecorder::new();
/// let snapshotter = exporter.snapshotter();
/// exporter.install().expect("nobody has installed another one");
/// describe_metrics();
///
/// let observer = MetricsObserver::new();
/// observer.attempt(&AttemptEvent::new(Phase::Call, Outcome::Success, Duration::from_millis(3)));
/// assert!(!snapshotter.snapshot().into_vec().is_empty());
/// ```
#[derive(Clone)]
pub struct MetricsObserver {
    attempts: [[Counter; OUTCOMES.len()]; Phase::ALL.len()],
    durations: [Histogram; OUTCOMES.len()],
    picks: [Counter; PickVerdict::ALL.len()],
    exclusions: [Counter; Exclusion::ALL.len()],
    readiness_failures: Counter,
    retries_granted: Counter,
    retries_denied: Counter,
    hedges_sent: Counter,
    hedges_denied: Counter,
    hedges_won: Counter,
    circuits_opened: Counter,
    circuits_withheld: Counter,
    circuits_closed: Counter,
    outliers: [[Counter; OutlierReason::ALL.len()]; OutlierChange::ALL.len()],
    found_healthy: Counter,
    found_unhealthy: Counter,
    panic_on: Counter,
    panic_off: Counter,
    in_panic: Gauge,
    members: [Counter; MemberChange::ALL.len()],
    build_failures: Counter,
    memberships: Counter,
    built: Gauge,
    unbuilt: Gauge,
    fail_fast_on: Counter,
    fail_fast_off: Counter,
    failing_fast: Gauge,
    panics: Counter,
}

impl MetricsObserver {
    /// Resolves the handles of the recorder that is installed now.
    #[must_use = "an observer does nothing until it is told something"]
    pub fn new() -> Self {
        Self {
            attempts: Phase::ALL.map(|phase| {
                OUTCOMES.map(|outcome| {
                    counter!(names::ATTEMPTS, "phase" => labels::phase(phase), "outcome" => labels::outcome(outcome))
                })
            }),
            durations: OUTCOMES
                .map(|outcome| histogram!(names::ATTEMPT_DURATION, "outcome" => labels::outcome(outcome))),
            picks: PickVerdict::ALL
                .map(|verdict| counter!(names::PICKS, "result" => labels::verdict(verdict))),
            exclusions: Exclusion::ALL
                .map(|reason| counter!(names::EXCLUSIONS, "reason" => labels::exclusion(reason))),
            readiness_failures: counter!(names::READINESS_FAILURES),
            retries_granted: counter!(names::RETRIES, "result" => "granted"),
            retries_denied: counter!(names::RETRIES, "result" => "denied"),
            hedges_sent: counter!(names::HEDGES, "result" => "sent"),
            hedges_denied: counter!(names::HEDGES, "result" => "denied"),
            hedges_won: counter!(names::HEDGES, "result" => "won"),
            circuits_opened: counter!(names::CIRCUIT_TRANSITIONS, "to" => "open"),
            circuits_withheld: counter!(names::CIRCUIT_TRANSITIONS, "to" => "withheld"),
            circuits_closed: counter!(names::CIRCUIT_TRANSITIONS, "to" => "closed"),
            outliers: OutlierChange::ALL.map(|change| {
                OutlierReason::ALL.map(|reason| {
                    let (to, reason) = (labels::outlier_change(change), labels::outlier_reason(reason));
                    counter!(names::OUTLIER_TRANSITIONS, "to" => to, "reason" => reason)
                })
            }),
            found_healthy: counter!(names::PROBE_VERDICTS, "to" => "healthy"),
            found_unhealthy: counter!(names::PROBE_VERDICTS, "to" => "unhealthy"),
            panic_on: counter!(names::PANIC_TRANSITIONS, "to" => "on"),
            panic_off: counter!(names::PANIC_TRANSITIONS, "to" => "off"),
            in_panic: gauge!(names::IN_PANIC),
            members: MemberChange::ALL
                .map(|change| counter!(names::MEMBER_CHANGES, "change" => labels::member_change(change))),
            build_failures: counter!(names::BUILD_FAILURES),
            memberships: counter!(names::MEMBERSHIPS),
            built: gauge!(names::MEMBERS, "state" => "built"),
            unbuilt: gauge!(names::MEMBERS, "state" => "unbuilt"),
            fail_fast_on: counter!(names::FAIL_FAST_TRANSITIONS, "to" => "on"),
            fail_fast_off: counter!(names::FAIL_FAST_TRANSITIONS, "to" => "off"),
            failing_fast: gauge!(names::FAILING_FAST),
            panics: counter!(names::PANICS),
        }
    }
}

impl Observer for MetricsObserver {
    fn pick(&self, event: &PickEvent<'_>) {
        self.picks[event.verdict as usize].increment(1);
        for (reason, count) in event.exclusions().into_iter().flat_map(ExclusionCounts::iter) {
            self.exclusions[reason as usize].increment(count.into());
        }
    }

    fn attempt(&self, event: &AttemptEvent<'_>) {
        let outcome = outcome_kind(event.outcome);
        self.attempts[event.phase as usize][outcome].increment(1);
        self.durations[outcome].record(event.elapsed);
    }

    fn readiness_failed(&self, _: &ReadinessEvent<'_>) {
        self.readiness_failures.increment(1);
    }

    fn retry(&self, event: &RetryEvent) {
        if event.granted { &self.retries_granted } else { &self.retries_denied }.increment(1);
    }

    fn hedge(&self, event: &HedgeEvent<'_>) {
        let counter = match event.verdict {
            HedgeVerdict::Sent => &self.hedges_sent,
            HedgeVerdict::Denied => &self.hedges_denied,
            HedgeVerdict::Won => &self.hedges_won,
        };
        counter.increment(1);
    }

    fn circuit(&self, event: &CircuitEvent<'_>) {
        let counter = match event.change {
            CircuitChange::Tripped => &self.circuits_opened,
            CircuitChange::Withheld => &self.circuits_withheld,
            CircuitChange::Recovered => &self.circuits_closed,
        };
        counter.increment(1);
    }

    fn outlier(&self, event: &OutlierEvent<'_>) {
        self.outliers[event.change as usize][event.reason as usize].increment(1);
    }

    fn probe(&self, event: &ProbeEvent<'_>) {
        if event.healthy { &self.found_healthy } else { &self.found_unhealthy }.increment(1);
    }

    fn panic_mode(&self, event: &PanicModeEvent) {
        if event.on {
            self.panic_on.increment(1);
            self.in_panic.increment(1);
        } else {
            self.panic_off.increment(1);
            self.in_panic.decrement(1);
        }
    }

    fn member(&self, event: &MemberEvent<'_>) {
        self.members[event.change as usize].increment(1);
    }

    fn build_failed(&self, _: &BuildEvent<'_>) {
        self.build_failures.increment(1);
    }

    fn membership(&self, event: &MembershipEvent) {
        self.memberships.increment(1);
        self.built.increment(event.members as f64 - event.members_before as f64);
        self.unbuilt.increment(event.unbuilt as f64 - event.unbuilt_before as f64);
    }

    fn fail_fast(&self, event: &FailFastEvent) {
        if event.on {
            self.fail_fast_on.increment(1);
            self.failing_fast.increment(1);
        } else {
            self.fail_fast_off.increment(1);
            self.failing_fast.decrement(1);
        }
    }

    fn panicked(&self, _: &PanicEvent) {
        self.panics.increment(1);
    }

    fn closed(&self, event: &ClosedEvent) {
        self.built.decrement(event.members as f64);
        self.unbuilt.decrement(event.unbuilt as f64);
        if event.failing_fast {
            self.failing_fast.decrement(1);
        }
        if event.panicking {
            self.in_panic.decrement(1);
        }
    }
}

impl Default for MetricsObserver {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MetricsObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetricsObserver")
    }
}

/// Describes every metric in [`names`] to the recorder that is installed now: what it is, and its unit.
pub fn describe_metrics() {
    use ::metrics::{describe_counter, describe_gauge, describe_histogram};

    let counters = [
        (names::ATTEMPTS, "attempts that ended"),
        (names::PICKS, "picks, by what they came to"),
        (names::EXCLUSIONS, "candidates that were excluded when a pick was refused"),
        (names::READINESS_FAILURES, "endpoints that failed before they were handed a request"),
        (names::RETRIES, "requests that were to be tried again"),
        (names::HEDGES, "requests that were to be sent to a second endpoint"),
        (
            names::CIRCUIT_TRANSITIONS,
            "circuits that opened or closed, and how often one was to open and the budget refused",
        ),
        (
            names::OUTLIER_TRANSITIONS,
            "members that were ejected as outliers, that were to be, or that returned",
        ),
        (names::PROBE_VERDICTS, "endpoints that probes found healthy or unhealthy"),
        (names::PANIC_TRANSITIONS, "how often too few members began to be healthy or ceased to"),
        (names::MEMBER_CHANGES, "what operators said of members, and drains that are done"),
        (
            names::BUILD_FAILURES,
            "services of members that could not be built, did not connect or were not ready to take over",
        ),
        (names::MEMBERSHIPS, "memberships that took effect"),
        (names::FAIL_FAST_TRANSITIONS, "how often requests began to fail at once or ceased to"),
        (names::PANICS, "panics in code of the user that were contained"),
    ];
    for (name, description) in counters {
        describe_counter!(name, Unit::Count, description);
    }
    describe_histogram!(names::ATTEMPT_DURATION, Unit::Seconds, "how long attempts took");
    describe_gauge!(names::MEMBERS, Unit::Count, "members of all balancers");
    describe_gauge!(names::IN_PANIC, Unit::Count, "balancers of whose members too few are healthy");
    describe_gauge!(names::FAILING_FAST, Unit::Count, "balancers that let requests fail at once");
}
