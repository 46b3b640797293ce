//! Every structured event: its level, its words, and each of its fields by name and type.

#![cfg(all(feature = "full", not(loom)))]

#[path = "support/fields.rs"]
mod fields;
#[path = "support/kept_events.rs"]
mod kept_events;

use std::time::Duration;

use ::tracing::Level;
use ::tracing::level_filters::LevelFilter;
use ::tracing::subscriber::with_default;
use poise::core::{Exclusion, ExclusionCounts, Outcome, Phase, PickError, Selection};
use poise::observe::{
    AttemptEvent, BuildEvent, CircuitChange, CircuitEvent, CircuitReason, ClosedEvent, FailFastEvent,
    HedgeEvent, HedgeVerdict, MemberChange, MemberEvent, MembershipEvent, Observer, OutlierChange,
    OutlierEvent, OutlierReason, PanicEvent, PanicModeEvent, PickEvent, PickVerdict, ProbeEvent,
    ReadinessEvent, RetryEvent, TracingObserver,
};

use self::fields::Value;
use self::kept_events::{Events, Kept, at, epoch, number, reason, said, text};

/// Returns what is said when an observer is told something.
fn events_of(tell: impl FnOnce(&TracingObserver)) -> Vec<Kept> {
    let events = Events::default();
    with_default(events.subscriber(LevelFilter::TRACE), || tell(&TracingObserver::new()));
    events.all()
}

#[test]
fn circuits_say_whose_why_and_in_which_epoch() {
    for (change, level, message) in [
        (CircuitChange::Tripped, Level::WARN, "a circuit opened"),
        (CircuitChange::Withheld, Level::DEBUG, "a circuit was not opened: the budget is spent"),
        (CircuitChange::Recovered, Level::INFO, "a circuit closed"),
    ] {
        for (why, label) in [(CircuitReason::Failures, "failures"), (CircuitReason::Probe, "probe")] {
            assert_eq!(why.to_string(), label);
            let event = CircuitEvent::new("10.0.0.1:80", change, why, 7);
            let expected = said(level, message, &[at("10.0.0.1:80"), reason(label), epoch(7)]);
            assert_eq!(events_of(|it| it.circuit(&event)), [expected]);
        }
    }
}

#[test]
fn outliers_say_whose_why_and_in_which_epoch() {
    for (change, level, message) in [
        (OutlierChange::Ejected, Level::WARN, "a member was ejected"),
        (OutlierChange::Withheld, Level::WARN, "a member was not ejected: the budget is spent"),
        (OutlierChange::Returned, Level::INFO, "an ejected member returned"),
    ] {
        for (why, label) in [
            (OutlierReason::SuccessRate, "success_rate"),
            (OutlierReason::FailurePercentage, "failure_percentage"),
        ] {
            let event = OutlierEvent::new("a", change, why, u64::MAX);
            let expected = said(level, message, &[at("a"), reason(label), epoch(u64::MAX)]);
            assert_eq!(events_of(|it| it.outlier(&event)), [expected]);
        }
    }
}

#[test]
fn probes_say_whom_they_found_how_and_in_which_epoch() {
    let healthy = said(Level::INFO, "probes found an endpoint healthy", &[at("a"), epoch(3)]);
    assert_eq!(events_of(|it| it.probe(&ProbeEvent::healthy("a", 3))), [healthy]);
    let unhealthy = said(Level::WARN, "probes found an endpoint unhealthy", &[at("a"), epoch(4)]);
    assert_eq!(events_of(|it| it.probe(&ProbeEvent::unhealthy("a", 4))), [unhealthy]);
}

#[test]
fn panic_mode_says_of_how_many_how_many_are_eligible() {
    let counts = [("eligible", number(1)), ("members", number(4))];
    let started = said(Level::WARN, "too few members are healthy", &counts);
    assert_eq!(events_of(|it| it.panic_mode(&PanicModeEvent::started(1, 4))), [started]);
    let ended = said(Level::INFO, "enough members are healthy again", &counts);
    assert_eq!(events_of(|it| it.panic_mode(&PanicModeEvent::ended(1, 4))), [ended]);
}

#[test]
fn memberships_say_which_revision_and_how_many() {
    let event = MembershipEvent::new(7, 3).with_unbuilt(1);
    let fields = [("revision", number(7)), ("members", number(3)), ("unbuilt", number(1))];
    let expected = said(Level::INFO, "a membership took effect", &fields);
    assert_eq!(events_of(|it| it.membership(&event)), [expected]);
    let expected = said(Level::DEBUG, "a balancer was closed", &fields[1..]);
    assert_eq!(events_of(|it| it.closed(&ClosedEvent::new(&event))), [expected]);
}

#[test]
fn operators_drains_and_builds_say_of_whom() {
    for change in MemberChange::ALL {
        let is_done = change == MemberChange::Drained;
        let message = if is_done { "a drain is done" } else { "an operator said something of a member" };
        let expected = said(Level::INFO, message, &[at("a"), ("change", text(&change.to_string()))]);
        assert_eq!(events_of(|it| it.member(&MemberEvent::new("a", change))), [expected]);
    }
    let failed =
        said(Level::WARN, "the service of a member did not come about", &[at("a"), ("failures", number(3))]);
    assert_eq!(events_of(|it| it.build_failed(&BuildEvent::failed("a", 3))), [failed]);
}

#[test]
fn failing_fast_and_panics_are_warnings_until_they_end() {
    let started = said(Level::WARN, "requests fail at once: nobody is eligible", &[]);
    assert_eq!(events_of(|it| it.fail_fast(&FailFastEvent::started())), [started]);
    let ended = said(Level::INFO, "requests no longer fail at once", &[]);
    assert_eq!(events_of(|it| it.fail_fast(&FailFastEvent::ended())), [ended]);
    let panicked = said(Level::WARN, "a panic was contained", &[("what", text("classifier"))]);
    assert_eq!(events_of(|it| it.panicked(&PanicEvent::new("classifier"))), [panicked]);
}

#[test]
fn a_spent_budget_is_told_of_and_a_repeat_is_only_traced() {
    let again = said(Level::TRACE, "a request is tried again", &[]);
    assert_eq!(events_of(|it| it.retry(&RetryEvent::granted())), [again]);
    let denied = said(Level::DEBUG, "a retry was denied: the budget is spent", &[]);
    assert_eq!(events_of(|it| it.retry(&RetryEvent::denied())), [denied]);

    let hedge = HedgeEvent::new;
    let sent = said(Level::TRACE, "a request is hedged", &[at("b")]);
    assert_eq!(events_of(|it| it.hedge(&hedge(HedgeVerdict::Sent).at("b"))), [sent]);
    let denied = said(Level::DEBUG, "a hedge was denied: the budget is spent", &[]);
    assert_eq!(events_of(|it| it.hedge(&hedge(HedgeVerdict::Denied))), [denied]);
    let won = said(Level::TRACE, "a hedge had the answer first", &[]);
    assert_eq!(events_of(|it| it.hedge(&hedge(HedgeVerdict::Won))), [won]);
}

#[test]
fn what_is_no_failure_is_only_traced() {
    let elapsed = ("elapsed_seconds", Value::Real(0.25));
    for phase in Phase::ALL {
        let of = |outcome| AttemptEvent::new(phase, outcome, Duration::from_millis(250)).at("a");
        let phase = ("phase", text(&phase.to_string()));
        for outcome in [Outcome::Success, Outcome::Cancelled] {
            let fields = [at("a"), phase.clone(), ("outcome", text(&outcome.to_string())), elapsed.clone()];
            let expected = said(Level::TRACE, "an attempt ended", &fields);
            assert_eq!(events_of(|it| it.attempt(&of(outcome))), [expected]);
        }
        for outcome in [Outcome::Failure, Outcome::OVERLOAD] {
            let fields =
                [at("a"), phase.clone(), ("error.type", text(&outcome.to_string())), elapsed.clone()];
            let expected = said(Level::DEBUG, "an attempt failed", &fields);
            assert_eq!(events_of(|it| it.attempt(&of(outcome))), [expected]);
        }
    }
    let nameless = AttemptEvent::new(Phase::Call, Outcome::Success, Duration::ZERO);
    let fields = &events_of(|it| it.attempt(&nameless))[0].fields;
    assert!(!fields.contains_key("network.peer.address"), "a name that is not known is left out");
}

#[test]
fn a_failure_of_readiness_is_said_once() {
    let isolated = said(Level::WARN, "an endpoint failed to become ready", &[at("a")]);
    assert_eq!(events_of(|it| it.readiness_failed(&ReadinessEvent::at("a").isolated())), [isolated]);
    let nameless = said(Level::WARN, "an endpoint failed to become ready", &[]);
    assert_eq!(events_of(|it| it.readiness_failed(&ReadinessEvent::new().isolated())), [nameless]);
    assert_eq!(events_of(|it| it.readiness_failed(&ReadinessEvent::at("a"))), [], "its attempt says it");
}

#[test]
fn refusals_say_of_what_kind_they_are_and_of_how_many() {
    for verdict in PickVerdict::ALL {
        let expected =
            said(Level::DEBUG, "a pick was refused", &[("error.type", text(&verdict.to_string()))]);
        let expected = if verdict.is_selected() { vec![] } else { vec![expected] };
        assert_eq!(events_of(|it| it.pick(&PickEvent::new(verdict))), expected, "{verdict}");
    }
    assert_eq!(events_of(|it| it.pick(&PickEvent::of(&Ok(Selection::new(0))))), []);

    let mut counts = ExclusionCounts::default();
    counts.add(Exclusion::Circuit.into());
    counts.add(Exclusion::Draining.into());
    let fields = [("error.type", text("no_eligible")), ("candidates", number(2))];
    let expected = said(Level::DEBUG, "a pick was refused", &fields);
    assert_eq!(events_of(|it| it.pick(&PickEvent::of(&Err(PickError::NoEligible(counts))))), [expected]);
}
