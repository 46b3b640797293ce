//! Every series that is exported: its name, labels, kind, unit and description, and what each event adds to it.

use std::collections::BTreeMap;
use std::time::Duration;

use metrics::Unit;
use metrics_util::MetricKind;
use metrics_util::debugging::DebugValue;
use poise::core::{Exclusion, ExclusionCounts, Exclusions, Outcome, Phase, PickError};
use poise::observe::{
    AttemptEvent, BuildEvent, CircuitChange, CircuitEvent, CircuitReason, ClosedEvent, FailFastEvent,
    HedgeEvent, HedgeVerdict, MemberChange, MemberEvent, MembershipEvent, MetricsObserver, Observer,
    OutlierChange, OutlierEvent, OutlierReason, PanicEvent, PanicModeEvent, PickEvent, PickVerdict,
    ProbeEvent, ReadinessEvent, RetryEvent,
};

use crate::support::exported::Exported;

const OUTCOMES: &[&str] = &["success", "failure", "overload", "cancelled"];
const PHASES: &[&str] = &["readiness", "call"];
const VERDICTS: &[&str] = &[
    "selected",
    "selected_in_panic",
    "undiscovered",
    "empty",
    "no_eligible",
    "at_capacity",
    "weight_overflow",
    "duplicate_identity",
    "capacity_exceeded",
    "inconsistent_topology",
    "panic_rejected",
    "invalid_selection",
    "closed",
];
const REASONS: &[&str] = &[
    "draining",
    "unavailable",
    "probe",
    "circuit",
    "outlier",
    "capacity",
    "out_of_scope",
    "not_ready",
    "attempted",
    "custom",
];

/// The labels of a metric, with their values.
type Labels = &'static [(&'static str, &'static [&'static str])];

/// A name, its labels, and what it is.
type Family = (&'static str, Labels, MetricKind, Unit, &'static str);

const fn counter(name: &'static str, labels: Labels, description: &'static str) -> Family {
    (name, labels, MetricKind::Counter, Unit::Count, description)
}

const fn shown(name: &'static str, labels: Labels, description: &'static str) -> Family {
    (name, labels, MetricKind::Gauge, Unit::Count, description)
}

const fn durations(name: &'static str, labels: Labels, description: &'static str) -> Family {
    (name, labels, MetricKind::Histogram, Unit::Seconds, description)
}

/// Every metric, as dashboards and alerts rely on it.
const FAMILIES: &[Family] = &[
    counter("poise.attempts", &[("phase", PHASES), ("outcome", OUTCOMES)], "attempts that ended"),
    durations("poise.attempt.duration", &[("outcome", OUTCOMES)], "how long attempts took"),
    counter("poise.picks", &[("result", VERDICTS)], "picks, by what they came to"),
    counter(
        "poise.exclusions",
        &[("reason", REASONS)],
        "candidates that were excluded when a pick was refused",
    ),
    counter("poise.readiness.failures", &[], "endpoints that failed before they were handed a request"),
    counter("poise.retries", &[("result", &["granted", "denied"])], "requests that were to be tried again"),
    counter(
        "poise.hedges",
        &[("result", &["sent", "denied", "won"])],
        "requests that were to be sent to a second endpoint",
    ),
    counter(
        "poise.circuit.transitions",
        &[("to", &["open", "withheld", "closed"])],
        "circuits that opened or closed, and how often one was to open and the budget refused",
    ),
    counter(
        "poise.outlier.transitions",
        &[("to", &["ejected", "withheld", "returned"]), ("reason", &["success_rate", "failure_percentage"])],
        "members that were ejected as outliers, that were to be, or that returned",
    ),
    counter(
        "poise.probe.verdicts",
        &[("to", &["healthy", "unhealthy"])],
        "endpoints that probes found healthy or unhealthy",
    ),
    counter(
        "poise.panic.transitions",
        &[("to", &["on", "off"])],
        "how often too few members began to be healthy or ceased to",
    ),
    shown("poise.balancers.in_panic", &[], "balancers of whose members too few are healthy"),
    counter(
        "poise.member.changes",
        &[("change", &["drain", "exclude", "force_open", "restore", "drained"])],
        "what operators said of members, and drains that are done",
    ),
    counter(
        "poise.build.failures",
        &[],
        "services of members that could not be built, did not connect or were not ready to take over",
    ),
    counter("poise.memberships", &[], "memberships that took effect"),
    shown("poise.members", &[("state", &["built", "unbuilt"])], "members of all balancers"),
    counter(
        "poise.fail_fast.transitions",
        &[("to", &["on", "off"])],
        "how often requests began to fail at once or ceased to",
    ),
    shown("poise.balancers.failing_fast", &[], "balancers that let requests fail at once"),
    counter("poise.panics", &[], "panics in code of the user that were contained"),
];

/// Returns the series of a metric: one for each combination of its labels.
fn series((name, labels, ..): &Family) -> Vec<String> {
    labels.iter().fold(vec![(*name).to_owned()], |series, (label, values)| {
        let with = |series: String| values.iter().map(move |value| format!("{series},{label}={value}"));
        series.into_iter().flat_map(with).collect()
    })
}

#[test]
fn every_series_is_there_from_the_start_with_its_kind_its_unit_and_what_it_is() {
    let (exported, _observer) = Exported::new();
    let mut found = exported.descriptions();
    let mut expected: Vec<_> = FAMILIES
        .iter()
        .flat_map(|family| {
            let &(_, _, kind, unit, description) = family;
            series(family).into_iter().map(move |series| (series, kind, Some(unit), description.to_owned()))
        })
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    expected.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(found, expected);
    assert_eq!(found.len(), 68, "as documented");
}

/// Tells an observer something, and asserts that this changes these series, and no others.
fn assert_adds(tell: impl FnOnce(&MetricsObserver), expected: &[(&str, DebugValue)]) {
    let (exported, observer) = Exported::new();
    tell(&observer);
    let is_news = |value: &DebugValue| match value {
        DebugValue::Counter(count) => *count != 0,
        DebugValue::Gauge(value) => value.0 != 0.0,
        DebugValue::Histogram(samples) => !samples.is_empty(),
    };
    let found: BTreeMap<_, _> = exported.news().into_iter().filter(|(_, value)| is_news(value)).collect();
    let found: Vec<_> = found.iter().map(|(series, value)| (&**series, value)).collect();
    let mut expected: Vec<_> = expected.iter().map(|(series, value)| (*series, value)).collect();
    expected.sort_by_key(|(series, _)| *series);
    assert_eq!(found, expected);
}

fn count(count: u64) -> DebugValue {
    DebugValue::Counter(count)
}

fn gauge(value: f64) -> DebugValue {
    DebugValue::Gauge(value.into())
}

/// Asserts that telling something counts one under one series, and does nothing else.
fn assert_counts(tell: impl FnOnce(&MetricsObserver), series: &str) {
    assert_adds(tell, &[(series, count(1))]);
}

#[test]
fn an_attempt_counts_by_phase_and_outcome_and_its_time_is_in_seconds() {
    let outcomes = [Outcome::Success, Outcome::Failure, Outcome::OVERLOAD, Outcome::Cancelled];
    for (phase, phase_label) in Phase::ALL.into_iter().zip(PHASES) {
        for (outcome, label) in outcomes.into_iter().zip(OUTCOMES) {
            let event = AttemptEvent::new(phase, outcome, Duration::from_millis(250)).at("10.0.0.1:80");
            let attempts = format!("poise.attempts,phase={phase_label},outcome={label}");
            let duration = format!("poise.attempt.duration,outcome={label}");
            let samples = DebugValue::Histogram(vec![0.25.into()]);
            assert_adds(|it| it.attempt(&event), &[(&attempts, count(1)), (&duration, samples)]);
        }
    }
    let asked = Outcome::Overload { retry_after: Some(Duration::from_secs(9)) };
    assert_adds(
        |it| it.attempt(&AttemptEvent::new(Phase::Call, asked, Duration::ZERO)),
        &[
            ("poise.attempts,phase=call,outcome=overload", count(1)),
            ("poise.attempt.duration,outcome=overload", DebugValue::Histogram(vec![0.0.into()])),
        ],
    );
}

#[test]
fn a_pick_counts_by_what_it_came_to() {
    for (verdict, label) in PickVerdict::ALL.into_iter().zip(VERDICTS) {
        assert_counts(|it| it.pick(&PickEvent::new(verdict).at("a")), &format!("poise.picks,result={label}"));
    }
}

#[test]
fn a_refused_pick_counts_each_candidate_under_each_of_its_reasons() {
    for (reason, label) in Exclusion::ALL.into_iter().zip(REASONS) {
        let mut counts = ExclusionCounts::default();
        (0..3).for_each(|_| counts.add(Exclusions::from(reason)));
        let expected = [
            ("poise.picks,result=no_eligible", count(1)),
            (&*format!("poise.exclusions,reason={label}"), count(3)),
        ];
        assert_adds(|it| it.pick(&PickEvent::of(&Err(PickError::NoEligible(counts)))), &expected);
    }
}

#[test]
fn what_comes_one_at_a_time_has_a_series_of_its_own() {
    assert_counts(|it| it.readiness_failed(&ReadinessEvent::at("a")), "poise.readiness.failures");
    assert_counts(|it| it.readiness_failed(&ReadinessEvent::new().isolated()), "poise.readiness.failures");
    assert_counts(|it| it.retry(&RetryEvent::granted()), "poise.retries,result=granted");
    assert_counts(|it| it.retry(&RetryEvent::denied()), "poise.retries,result=denied");
    for (verdict, label) in
        [(HedgeVerdict::Sent, "sent"), (HedgeVerdict::Denied, "denied"), (HedgeVerdict::Won, "won")]
    {
        assert_counts(|it| it.hedge(&HedgeEvent::new(verdict)), &format!("poise.hedges,result={label}"));
    }
    assert_counts(|it| it.probe(&ProbeEvent::healthy("a", 1)), "poise.probe.verdicts,to=healthy");
    assert_counts(|it| it.probe(&ProbeEvent::unhealthy("a", 2)), "poise.probe.verdicts,to=unhealthy");
    assert_counts(|it| it.build_failed(&BuildEvent::failed("a", 3)), "poise.build.failures");
    for change in MemberChange::ALL {
        let series = format!("poise.member.changes,change={change}");
        assert_counts(|it| it.member(&MemberEvent::new("a", change)), &series);
    }
    assert_counts(|it| it.panicked(&PanicEvent::new("policy")), "poise.panics");
}

#[test]
fn circuits_count_by_what_became_of_them_and_outliers_also_by_what_they_stand_out_by() {
    for (change, to) in CircuitChange::ALL.into_iter().zip(["open", "withheld", "closed"]) {
        for reason in CircuitReason::ALL {
            let event = CircuitEvent::new("a", change, reason, 4);
            assert_counts(|it| it.circuit(&event), &format!("poise.circuit.transitions,to={to}"));
        }
    }
    for (change, to) in OutlierChange::ALL.into_iter().zip(["ejected", "withheld", "returned"]) {
        for (reason, label) in OutlierReason::ALL.into_iter().zip(["success_rate", "failure_percentage"]) {
            let event = OutlierEvent::new("a", change, reason, 4);
            let series = format!("poise.outlier.transitions,to={to},reason={label}");
            assert_counts(|it| it.outlier(&event), &series);
        }
    }
}

#[test]
fn gauges_go_up_and_down_with_what_begins_and_ends() {
    let (panicking, failing) = ("poise.balancers.in_panic", "poise.balancers.failing_fast");
    let (on, off) = ("poise.panic.transitions,to=on", "poise.panic.transitions,to=off");
    assert_adds(
        |it| it.panic_mode(&PanicModeEvent::started(1, 4)),
        &[(on, count(1)), (panicking, gauge(1.0))],
    );
    assert_adds(
        |it| it.panic_mode(&PanicModeEvent::ended(3, 4)),
        &[(off, count(1)), (panicking, gauge(-1.0))],
    );
    let (on, off) = ("poise.fail_fast.transitions,to=on", "poise.fail_fast.transitions,to=off");
    assert_adds(|it| it.fail_fast(&FailFastEvent::started()), &[(on, count(1)), (failing, gauge(1.0))]);
    assert_adds(|it| it.fail_fast(&FailFastEvent::ended()), &[(off, count(1)), (failing, gauge(-1.0))]);
}

#[test]
fn memberships_add_what_they_change_and_a_balancer_that_ends_takes_it_off() {
    let (built, unbuilt) = ("poise.members,state=built", "poise.members,state=unbuilt");
    let first = MembershipEvent::new(1, 5).with_unbuilt(2);
    assert_adds(
        |it| it.membership(&first),
        &[("poise.memberships", count(1)), (built, gauge(5.0)), (unbuilt, gauge(2.0))],
    );
    let next = MembershipEvent::new(2, 4).with_unbuilt(3).in_place_of(&first);
    assert_adds(
        |it| it.membership(&next),
        &[("poise.memberships", count(1)), (built, gauge(-1.0)), (unbuilt, gauge(1.0))],
    );
    let closed = ClosedEvent::new(&next);
    assert_adds(|it| it.closed(&closed), &[(built, gauge(-4.0)), (unbuilt, gauge(-3.0))]);
    assert_adds(
        |it| it.closed(&closed.while_failing_fast().while_panicking()),
        &[
            (built, gauge(-4.0)),
            (unbuilt, gauge(-3.0)),
            ("poise.balancers.failing_fast", gauge(-1.0)),
            ("poise.balancers.in_panic", gauge(-1.0)),
        ],
    );
}
