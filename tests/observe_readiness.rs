//! Observers hear of endpoints of a `Balance` that fail to become ready, though no request fails by it.

#![cfg(all(feature = "full", not(loom)))]

#[path = "support/fields.rs"]
mod fields;
#[path = "support/kept_events.rs"]
mod kept_events;
#[path = "support/script.rs"]
#[expect(dead_code, reason = "the tests of balancers use all of it")]
mod script;
#[path = "support/standing.rs"]
mod standing;
#[path = "support/wakes.rs"]
#[expect(dead_code, reason = "nobody counts them here")]
mod wakes;

use std::sync::{Arc, Mutex};

use ::tracing::Level;
use ::tracing::level_filters::LevelFilter;
use ::tracing::subscriber::with_default;
use poise::core::Backend;
use poise::core::policy::RoundRobin;
use poise::discovery::{Directory, Discovered};
use poise::observe::{
    Fanout, ObservedReadiness, Observer, ReadinessEvent, Recorder, RecorderSnapshot, TracingObserver,
};
use poise::tower::{Balance, DiscoveryBalance, ReadinessObserver, in_flight_factory};

use self::kept_events::{Events, at, said};
use self::script::{Fake, Readiness, Refused, Script};
use self::standing::{ask, is_ready, standing, who};

type Member = Discovered<&'static str, Backend<&'static str>>;

/// Says how an endpoint is called.
fn name<'a>(id: &'a &'static str) -> &'a str {
    id
}

/// The name that was told, and whether the failure was isolated.
type Told = (Option<String>, bool);

/// Keeps what it is told.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<Told>>>);

impl Observer for Heard {
    fn readiness_failed(&self, event: &ReadinessEvent<'_>) {
        self.0.lock().unwrap().push((event.endpoint.map(Into::into), event.isolated));
    }
}

fn counted(failures: u64) -> RecorderSnapshot {
    let recorder = Recorder::new();
    (0..failures).for_each(|_| recorder.readiness_failed(&ReadinessEvent::new()));
    recorder.snapshot()
}

#[test]
fn each_failure_of_readiness_is_counted_once_and_nothing_else_is() {
    let (balance, [a, b, _]) = standing(RoundRobin::starting_at(0), ["a", "b", "c"]);
    let recorder = Recorder::new();
    let mut balance = balance.observe_readiness(ObservedReadiness::new(recorder.clone()));
    a.turn(Readiness::Failing);
    b.turn(Readiness::Pending);
    for request in 0..6 {
        assert_eq!(who(ask(&mut balance, request)), "c");
    }
    assert!(b.polls() > 0, "a wait is no failure");
    assert_eq!(recorder.snapshot(), counted(1), "who is quarantined is not asked again");

    assert!(balance.reset(&"a"));
    assert_eq!(who(ask(&mut balance, 6)), "c");
    assert_eq!(recorder.snapshot(), counted(2), "it failed again");
}

#[test]
fn whoever_fails_between_readiness_and_call_is_counted_too() {
    let (balance, [a, _]) = standing(RoundRobin::starting_at(0), ["a", "b"]);
    let recorder = Recorder::new();
    let mut balance = balance.observe_readiness(ObservedReadiness::new(recorder.clone()));
    assert!(is_ready(&mut balance));
    a.turn(Readiness::Failing);
    assert_eq!(who(standing::call(&mut balance, 0)), "b");
    assert_eq!(recorder.snapshot(), counted(1));
}

#[test]
fn failures_are_isolated_and_have_names_where_there_are_any() {
    for (named, expected) in [(false, None), (true, Some("a".to_owned()))] {
        let heard = Heard::default();
        let (balance, [a, _]) = standing(RoundRobin::new(), ["a", "b"]);
        a.turn(Readiness::Failing);
        let observed = ObservedReadiness::new(heard.clone());
        if named {
            assert!(is_ready(&mut balance.observe_readiness(observed.named_by(name))));
        } else {
            assert!(is_ready(&mut balance.observe_readiness(observed)));
        }
        assert_eq!(*heard.0.lock().unwrap(), [(expected, true)]);
    }
}

#[test]
fn a_failure_is_a_warning_that_names_the_endpoint() {
    let events = Events::default();
    with_default(events.subscriber(LevelFilter::TRACE), || {
        let (balance, [a, _]) = standing(RoundRobin::new(), ["a", "b"]);
        a.turn(Readiness::Failing);
        let observed = ObservedReadiness::new(TracingObserver::new()).named_by(name);
        assert!(is_ready(&mut balance.observe_readiness(observed)));
    });
    assert_eq!(events.all(), [said(Level::WARN, "an endpoint failed to become ready", &[at("a")])]);
}

#[test]
fn the_error_is_dropped_and_kept_nowhere() {
    let error = Arc::new(());
    let mut observed = ObservedReadiness::new(Fanout::new().with(Recorder::new()).with(Heard::default()));
    observed.failed("a", Arc::clone(&error));
    observed.named_by(str::trim).failed("a", Arc::clone(&error));
    assert_eq!(Arc::strong_count(&error), 1);
}

#[test]
fn a_name_or_an_observer_that_panics_costs_itself_and_nothing_more() {
    struct Panics;

    impl Observer for Panics {
        fn readiness_failed(&self, _: &ReadinessEvent<'_>) {
            panic!("an observer panics");
        }
    }

    let heard = Heard::default();
    let (balance, [a, _]) = standing(RoundRobin::new(), ["a", "b"]);
    a.turn(Readiness::Failing);
    let both = ObservedReadiness::new(Fanout::new().with(Panics).with(heard.clone()));
    let mut balance = balance.observe_readiness(both.named_by(|_: &&str| panic!("it has no name")));
    assert_eq!(who(ask(&mut balance, 0)), "b");
    assert_eq!(*heard.0.lock().unwrap(), [(None, true)]);
    assert!(balance.endpoints()[0].is_quarantined());
    ReadinessObserver::<_, Refused>::failed(&mut ObservedReadiness::new(Panics), "a", Refused);
}

#[test]
fn balances_that_follow_a_membership_tell_the_same() {
    let mut directory = Directory::new();
    let scripts = ["a", "b"].map(Script::new);
    for script in &scripts {
        directory.upsert(script.name(), Backend::new(script.name())).unwrap();
    }
    scripts[0].turn(Readiness::Failing);
    let recorder = Recorder::new();
    let made = scripts.clone();
    let factory = in_flight_factory(move |key: &&'static str, _: &Backend<&'static str>| {
        let script = made.iter().find(|script| script.name() == *key);
        script.map(Script::service).ok_or("nobody is called so")
    });
    let observed = ObservedReadiness::new(recorder.clone());
    let balance: Balance<Member, Fake, _, _, _, _> =
        Balance::new(RoundRobin::new(), []).observe_readiness(observed);
    let mut balance = DiscoveryBalance::over(balance, factory);
    balance.sync(&directory.reader()).unwrap();
    assert_eq!(who(ask(&mut balance, 0)), "b");
    assert_eq!(recorder.snapshot(), counted(1));
    assert_eq!(balance.balance().observer().observer().snapshot(), counted(1));
}
