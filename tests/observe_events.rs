//! Every structured event: its level, its words, and each of its fields by name and type.

#![cfg(all(feature = "full", not(loom)))]

#[path = "support/pool_endpoints.rs"]
mod endpoints;
#[path = "support/fields.rs"]
mod fields;
#[path = "support/kept_events.rs"]
mod kept_events;
#[path = "support/pool_traffic.rs"]
mod traffic;

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::tracing::Level;
use ::tracing::level_filters::LevelFilter;
use ::tracing::subscriber::{DefaultGuard, set_default, with_default};
use poise::core::policy::RoundRobin;
use poise::core::{Exclusion, ExclusionCounts, Outcome, Phase, PickError, Selection};
use poise::health::{CircuitConfig, ProbeOutcome};
use poise::observe::{
    AttemptEvent, CircuitChange, CircuitEvent, CircuitReason, ClosedEvent, FailFastEvent, HedgeEvent,
    HedgeVerdict, MembershipEvent, Observer, OutlierChange, OutlierEvent, OutlierReason, PanicEvent,
    PanicModeEvent, PickEvent, PickVerdict, ProbeEvent, ReadinessEvent, RetryEvent, TracingObserver,
};
use poise::tower::{Retry, RetryBudget};
use tokio::time::sleep;

use self::endpoints::{Cast, Manner, Pool};
use self::fields::Value;
use self::kept_events::{Events, Kept};
use self::traffic::Traffic;

const SECOND: Duration = Duration::from_secs(1);

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn number(number: u64) -> Value {
    Value::Integer(number)
}

fn said(level: Level, message: &str, fields: &[(&'static str, Value)]) -> Kept {
    let fields = fields.iter().cloned().collect();
    Kept { level, target: "poise".into(), message: message.into(), fields }
}

/// Returns what is said when an observer is told something.
fn events_of(tell: impl FnOnce(&TracingObserver)) -> Vec<Kept> {
    let events = Events::default();
    with_default(events.subscriber(LevelFilter::TRACE), || tell(&TracingObserver::new()));
    events.all()
}

fn at(endpoint: &str) -> (&'static str, Value) {
    ("network.peer.address", text(endpoint))
}

fn reason(reason: &str) -> (&'static str, Value) {
    ("reason", text(reason))
}

fn epoch(epoch: u64) -> (&'static str, Value) {
    ("epoch", number(epoch))
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

/// Keeps what is said on this thread from now on, down to a level.
fn listen(down_to: LevelFilter) -> (Events, DefaultGuard) {
    let events = Events::default();
    let guard = set_default(events.subscriber(down_to));
    (events, guard)
}

fn at_once() -> Manner {
    Manner::Answers(Duration::ZERO)
}

fn fails() -> Manner {
    Manner::Fails(Duration::ZERO)
}

async fn send(pool: &Pool, requests: u64) {
    for request in 0..requests {
        drop(pool.send(request).await);
    }
}

const TRIPPED: &str = "a circuit opened";
const KEPT_CLOSED: &str = "a circuit was not opened: the budget is spent";
const RECOVERED: &str = "a circuit closed";

#[tokio::test(start_paused = true)]
async fn a_circuit_tells_of_each_transition_with_the_epoch_that_it_starts() {
    let (events, _guard) = listen(LevelFilter::DEBUG);
    let cast = Cast::new(&["a", "b"], at_once());
    cast.tell("a", fails());
    let pool = cast
        .builder()
        .policy(RoundRobin::starting_at(0))
        .circuit(CircuitConfig::new(2, SECOND).unwrap())
        .without_outliers()
        .observe(TracingObserver::new())
        .spawn()
        .unwrap();
    send(&pool, 4).await;
    // The first epoch after the cooldown is half open, and its probe fails; so does not that of the next.
    sleep(2 * SECOND).await;
    send(&pool, 4).await;
    cast.tell("a", at_once());
    sleep(4 * SECOND).await;
    send(&pool, 4).await;
    let told = events.saying(&[TRIPPED, KEPT_CLOSED, RECOVERED]);
    let expected = [
        said(Level::WARN, TRIPPED, &[at("a"), reason("failures"), epoch(1)]),
        said(Level::WARN, TRIPPED, &[at("a"), reason("probe"), epoch(3)]),
        said(Level::INFO, RECOVERED, &[at("a"), reason("probe"), epoch(5)]),
    ];
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn a_circuit_that_the_budget_has_stay_closed_tells_of_it_each_time_that_it_asks() {
    let (events, _guard) = listen(LevelFilter::DEBUG);
    let cast = Cast::new(&["a", "b"], fails());
    let pool = cast
        .builder()
        .policy(RoundRobin::starting_at(0))
        .circuit(CircuitConfig::new(2, 60 * SECOND).unwrap())
        .without_outliers()
        .observe(TracingObserver::new())
        .spawn()
        .unwrap();
    send(&pool, 6).await;
    let told = events.saying(&[TRIPPED, KEPT_CLOSED, RECOVERED]);
    let tripped = said(Level::WARN, TRIPPED, &[at("a"), reason("failures"), epoch(1)]);
    let withheld = said(Level::DEBUG, KEPT_CLOSED, &[at("b"), reason("failures"), epoch(0)]);
    assert_eq!(told, [tripped, withheld.clone(), withheld.clone(), withheld], "half of two may be out");
}

#[tokio::test(start_paused = true)]
async fn an_ejection_and_a_return_tell_why_and_in_which_epoch() {
    let (events, _guard) = listen(LevelFilter::INFO);
    let cast = Cast::new(&["a", "b", "c", "d", "e", "f"], at_once());
    cast.tell("a", Manner::FailsOneIn(2));
    let observer = TracingObserver::new().without_spans();
    let pool = cast.builder().policy(RoundRobin::starting_at(0)).observe(observer).spawn().unwrap();
    Traffic::new(11_000, Duration::from_millis(1)).send(&pool).await;
    cast.tell("b", Manner::FailsOneIn(2));
    Traffic::new(10_000, Duration::from_millis(1)).send(&pool).await;
    cast.tell_all(at_once());
    sleep(30 * SECOND).await;

    let messages = [
        "a member was ejected",
        "a member was not ejected: the budget is spent",
        "an ejected member returned",
    ];
    let [ejected, withheld, returned] = messages;
    let expected = [
        said(Level::WARN, ejected, &[at("a"), reason("success_rate"), epoch(1)]),
        said(Level::WARN, withheld, &[at("b"), reason("success_rate"), epoch(0)]),
        said(Level::INFO, returned, &[at("a"), reason("success_rate"), epoch(2)]),
    ];
    let mut told = events.saying(&messages);
    // Each sweep asks again.
    told.dedup();
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn verdicts_of_probes_panic_mode_and_memberships_are_told_as_they_happen() {
    let (events, _guard) = listen(LevelFilter::INFO);
    let cast = Cast::new(&["a"], at_once());
    let unwell = Arc::new(AtomicBool::new(false));
    let probing = Arc::clone(&unwell);
    let pool = cast
        .builder()
        .probe(move |_| {
            let is_unwell = probing.load(Ordering::Relaxed);
            ready(if is_unwell { ProbeOutcome::Unhealthy } else { ProbeOutcome::Healthy })
        })
        .observe(TracingObserver::new())
        .spawn()
        .unwrap();
    sleep(SECOND).await;
    unwell.store(true, Ordering::Relaxed);
    sleep(31 * SECOND).await;
    unwell.store(false, Ordering::Relaxed);
    sleep(31 * SECOND).await;
    drop(pool);

    let [healthy, unhealthy] = ["probes found an endpoint healthy", "probes found an endpoint unhealthy"];
    let expected = [
        said(Level::INFO, healthy, &[at("a"), epoch(1)]),
        said(Level::WARN, unhealthy, &[at("a"), epoch(2)]),
        said(Level::INFO, healthy, &[at("a"), epoch(3)]),
    ];
    assert_eq!(events.saying(&[healthy, unhealthy]), expected);

    let [few, enough] = ["too few members are healthy", "enough members are healthy again"];
    let counts = |eligible| [("eligible", number(eligible)), ("members", number(1))];
    let expected = [said(Level::WARN, few, &counts(0)), said(Level::INFO, enough, &counts(1))];
    assert_eq!(events.saying(&[few, enough]), expected);

    let effect = "a membership took effect";
    let revision = ("revision", number(cast.directory.revision().value()));
    let fields = [revision, ("members", number(1)), ("unbuilt", number(0))];
    assert_eq!(events.saying(&[effect]), [said(Level::INFO, effect, &fields)]);
    assert_eq!(events.all().len(), 6, "and nothing else");
}

#[tokio::test(start_paused = true)]
async fn a_denied_retry_follows_the_failure_that_asked_for_it() {
    let (events, _guard) = listen(LevelFilter::DEBUG);
    let empty = RetryBudget::new().with_ratio(0.0).unwrap().with_floor(0);
    let pool = Cast::new(&["a"], fails())
        .builder()
        .retry(Retry::attempts(2).unwrap().with_budget(empty))
        .observe(TracingObserver::new())
        .spawn()
        .unwrap();
    send(&pool, 1).await;
    let words: Vec<_> = events.all().into_iter().map(|event| event.message).collect();
    let expected =
        ["a membership took effect", "an attempt failed", "a retry was denied: the budget is spent"];
    assert_eq!(words, expected);
}
