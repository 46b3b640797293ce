//! Events of a balancer as structured events.

#![cfg(all(feature = "full", not(loom)))]

#[path = "support/fields.rs"]
mod fields;
#[allow(dead_code, reason = "every file uses a part of it")]
#[path = "support/scripted.rs"]
mod scripted;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use self::fields::{Fields, Value};
use self::scripted::{Mode, Script};
use ::tracing::instrument::WithSubscriber;
use ::tracing::level_filters::LevelFilter;
use ::tracing::{Event, Instrument, Level, Subscriber};
use poise::core::policy::RoundRobin;
use poise::core::{Attributes, Exclusion, ExclusionCounts, Outcome, Phase, PickError};
use poise::discovery::Directory;
use poise::health::CircuitConfig;
use poise::observe::{
    AttemptEvent, CircuitChange, CircuitEvent, FailFastEvent, HedgeEvent, HedgeVerdict, MembershipEvent,
    Observer, PanicEvent, PickEvent, RetryEvent, TracingObserver, request_span,
};
use poise::tower::{Balancer, Retry};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// Keeps the events that it sees.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<(Level, String, Fields)>>>);

impl<S: Subscriber> Layer<S> for Kept {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let (level, target) = (*event.metadata().level(), event.metadata().target().to_owned());
        self.0.lock().unwrap().push((level, target, fields));
    }
}

/// Returns the one event that `tell` makes: its level and its fields.
fn event_of(tell: impl FnOnce(&TracingObserver)) -> (Level, BTreeMap<&'static str, Value>) {
    let kept = Kept::default();
    let subscriber = tracing_subscriber::registry().with(kept.clone());
    ::tracing::subscriber::with_default(subscriber, || tell(&TracingObserver::new()));
    let events = kept.0.lock().unwrap();
    let [(level, target, Fields(fields))] = &events[..] else { panic!("{events:?} is not one event") };
    assert_eq!(target, "poise");
    (*level, fields.clone())
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

#[test]
fn circuits_name_their_endpoint() {
    for (change, expected) in [(CircuitChange::Tripped, Level::WARN), (CircuitChange::Recovered, Level::INFO)]
    {
        let (level, fields) = event_of(|it| it.circuit(&CircuitEvent::new("10.0.0.1:80", change)));
        assert_eq!(level, expected);
        assert_eq!(fields["network.peer.address"], text("10.0.0.1:80"));
    }
}

#[test]
fn numbers_are_numbers() {
    let membership = MembershipEvent::new(7, 3).with_unbuilt(1);
    let (level, fields) = event_of(|it| it.membership(&membership));
    assert_eq!(level, Level::INFO);
    for (name, value) in [("revision", 7), ("members", 3), ("unbuilt", 1)] {
        assert_eq!(fields.get(name), Some(&Value::Integer(value)), "{name}");
    }
    let failed = AttemptEvent::new(Phase::Call, Outcome::Failure, Duration::from_millis(250)).at("a");
    let (level, fields) = event_of(|it| it.attempt(&failed));
    assert_eq!(level, Level::DEBUG);
    assert_eq!(fields.get("elapsed_seconds"), Some(&Value::Real(0.25)));
    assert_eq!(fields["error.type"], text("failure"));
    assert_eq!(fields["phase"], text("call"));
    assert_eq!(fields["network.peer.address"], text("a"));
}

#[test]
fn what_is_no_failure_is_only_traced() {
    for outcome in [Outcome::Success, Outcome::Cancelled] {
        let ended = AttemptEvent::new(Phase::Call, outcome, Duration::ZERO);
        let (level, fields) = event_of(|it| it.attempt(&ended));
        assert_eq!(level, Level::TRACE);
        assert_eq!(fields["outcome"], text(&outcome.to_string()));
        assert!(!fields.contains_key("network.peer.address"), "a name that is not known is left out");
    }
}

#[test]
fn refusals_say_of_what_kind_they_are_and_not_more() {
    let mut counts = ExclusionCounts::default();
    counts.add(Exclusion::Circuit.into());
    counts.add(Exclusion::Draining.into());
    let refused = PickEvent::of(&Err(PickError::NoEligible(counts)));
    let (level, fields) = event_of(|it| it.pick(&refused));
    assert_eq!(level, Level::DEBUG);
    assert_eq!(fields["error.type"], text("no_eligible"));
    assert_eq!(fields.get("candidates"), Some(&Value::Integer(2)));
}

#[test]
fn the_rest_has_its_level() {
    assert_eq!(event_of(|it| it.fail_fast(&FailFastEvent::started())).0, Level::WARN);
    assert_eq!(event_of(|it| it.fail_fast(&FailFastEvent::ended())).0, Level::INFO);
    assert_eq!(event_of(|it| it.retry(&RetryEvent::denied())).0, Level::DEBUG);
    assert_eq!(event_of(|it| it.hedge(&HedgeEvent::new(HedgeVerdict::Denied))).0, Level::DEBUG);
    let (level, fields) = event_of(|it| it.panicked(&PanicEvent::new("classifier")));
    assert_eq!(level, Level::WARN);
    assert_eq!(fields["what"], text("classifier"));
}

/// A buffer that a subscriber writes to.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl io::Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Buffer {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[::tokio::test(start_paused = true)]
async fn a_request_that_is_instrumented_has_its_events_and_its_endpoint_in_its_span() {
    let buffer = Buffer::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(buffer.clone())
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(false)
        .without_time()
        .finish();
    let mut members = Directory::new();
    for key in 0..2 {
        members.upsert_with(key, (), Attributes::default()).unwrap();
    }
    let script = Script::new(&[(0, Mode::Fails)]);
    let requests = async {
        let balancer = Balancer::builder()
            .discover(members.reader(), move |key, ()| script.service(*key))
            .policy(RoundRobin::starting_at(0))
            .circuit(CircuitConfig::new(1, Duration::from_secs(10)).unwrap())
            .retry(Retry::attempts(2).unwrap())
            .observe(TracingObserver::new().without_spans())
            .spawn()
            .unwrap();
        assert_eq!(balancer.send(()).instrument(request_span()).await.unwrap(), 1);
        assert_eq!(balancer.send(()).await.unwrap(), 1);
    };
    requests.with_subscriber(subscriber).await;

    let written = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
    let line = |with: &str| {
        let lines: Vec<_> = written.lines().filter(|line| line.contains(with)).collect();
        assert_eq!(lines.len(), 1, "{with:?} in\n{written}");
        lines[0]
    };
    let failed = line("an attempt failed");
    assert!(failed.contains(r#"DEBUG request{network.peer.address="0""#), "{failed}");
    assert!(failed.contains(r#"error.type="failure" elapsed_seconds=0"#), "{failed}");
    let tripped = line("a circuit opened");
    assert!(
        tripped.contains("WARN request{") && tripped.ends_with(r#"network.peer.address="0""#),
        "{tripped}"
    );
    assert!(line("a membership took effect").contains("INFO poise: "), "no span is entered");
    let ends: Vec<_> = written.lines().filter(|line| line.contains("an attempt ended")).collect();
    assert_eq!(ends.len(), 2, "\n{written}");
    assert!(ends[0].contains(r#"network.peer.address="1""#) && ends[0].contains("request{"), "{}", ends[0]);
    assert!(!ends[1].contains("request{"), "a request without a span has none: {}", ends[1]);
}
