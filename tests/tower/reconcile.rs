//! How snapshots become endpoints: all or nothing.

use std::cell::Cell;
use std::error::Error;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use futures_util::FutureExt;
use poise::core::policy::RoundRobin;
use poise::core::{Attributes, InFlight, PickError, Status};
use poise::discovery::{Discovered, Revision, Snapshot};
use poise::tower::{Balance, DiscoveryBalance, Endpoint, ReconcileError, in_flight_factory};
use tower_service::Service;

use crate::support::fleet::{Fleet, add, fleet, remove, set_status};
use crate::support::following::{Following, following, state};
use crate::support::pool_policies::{Mood, Moody, TWINS};
use crate::support::script::{Readiness, Script};
use crate::support::standing::{ask, is_ready, poll_ready, who};
use crate::support::wakes::Wakes;
use crate::support::workshop::{CannotBuild, Mishap, Workshop};

/// Makes a balance of `a`, which has work in flight, `b`, which holds a reservation, and `c`, which is quarantined.
fn busy() -> (Fleet, [Script; 3], Workshop, Following<Moody<RoundRobin>>, impl Future) {
    let (directory, scripts) = fleet(["a", "b", "c"]);
    let workshop = Workshop::default();
    let mut balance = DiscoveryBalance::new(Moody::new(RoundRobin::starting_at(0)), workshop.clone());
    balance.sync(&directory.reader()).unwrap();
    scripts[0].hang();
    scripts[2].turn(Readiness::Failing);
    assert!(is_ready(&mut balance));
    let response = balance.call(1);
    assert!(is_ready(&mut balance));
    workshop.built();
    (directory, scripts, workshop, balance, response)
}

#[test]
fn a_report_counts_what_became_of_every_member() {
    let (mut directory, scripts, workshop, mut balance) = following(["a", "b", "c", "d"]);
    let first = balance.sync(&directory.reader()).unwrap();
    assert_eq!((first.added(), first.retained(), first.rebuilt(), first.removed()), (4, 0, 0, 0));
    assert_eq!(workshop.built(), ["a", "b", "c", "d"]);

    add(&mut directory, "b", &scripts[1]);
    directory.remove(&"c").unwrap();
    remove(&mut directory, "d");
    add(&mut directory, "e", &Script::new("e"));
    let second = balance.sync(&directory.reader()).unwrap();
    assert_eq!((second.added(), second.retained(), second.rebuilt()), (1, 2, 1));
    assert_eq!((second.removed(), second.draining(), second.is_effective()), (1, 1, true));
    assert_eq!((second.revision(), balance.revision()), (directory.revision(), directory.revision()));
    assert_eq!(workshop.built(), ["b", "e"], "only what is new is made, in the order of the snapshot");
    let order: Vec<_> = state(&balance).endpoints.iter().map(|endpoint| endpoint.0).collect();
    let expected: Vec<_> = directory.snapshot().iter().map(|member| *member.key()).collect();
    assert_eq!(order, expected);
    assert_eq!((scripts[1].live(), scripts[3].live()), (1, 0), "what was replaced or removed is dropped");
}

#[test]
fn an_unchanged_generation_keeps_service_reservation_quarantine_and_load() {
    let (mut directory, scripts, workshop, mut balance, response) = busy();
    let before = state(&balance);
    set_status(&mut directory, "b", Status::Draining);
    assert_eq!(balance.sync(&directory.reader()).unwrap().retained(), 3);
    set_status(&mut directory, "b", Status::Ready);
    balance.sync(&directory.reader()).unwrap();
    assert_eq!(state(&balance).endpoints, before.endpoints);
    assert_eq!(workshop.built(), [""; 0]);
    assert_eq!(scripts[1].polls(), 1, "the reservation of who drained and returned is the same one");
    drop(response);
    assert_eq!(state(&balance).endpoints[0].3, 0);
}

#[test]
fn a_new_allocation_starts_anew_and_the_old_guard_is_harmless() {
    let (mut directory, scripts, _, mut balance, response) = busy();
    scripts[2].turn(Readiness::Ready);
    for (name, script) in ["a", "b", "c"].into_iter().zip(&scripts) {
        add(&mut directory, name, script);
    }
    assert_eq!(balance.sync(&directory.reader()).unwrap().rebuilt(), 3);
    let fresh = |name| (name, false, false, 0, Status::Ready);
    assert_eq!(state(&balance).endpoints, [fresh("a"), fresh("b"), fresh("c")]);
    assert!(is_ready(&mut balance));
    drop(response);
    assert!(state(&balance).endpoints.iter().all(|endpoint| endpoint.3 == 0));
}

#[test]
fn whatever_fails_leaves_everything_as_it_was() {
    let (mut directory, scripts, workshop, mut balance, response) = busy();
    let (preparing, before) = (balance.balance().policy().when_preparing(), state(&balance));
    let (d, e) = (Script::new("d"), Script::new("e"));
    add(&mut directory, "a", &scripts[0]);
    set_status(&mut directory, "b", Status::Draining);
    remove(&mut directory, "c");
    add(&mut directory, "d", &d);
    add(&mut directory, "e", &e);
    let snapshot = directory.snapshot();

    for staged in [None, Some(Mishap::PanicsWhenDropped)] {
        workshop.tell("d", staged);
        for (mishap, expected) in [
            (Mishap::Fails, ReconcileError::Factory { member: 3, source: CannotBuild("e") }),
            (Mishap::Panics, ReconcileError::Panicked { member: Some(3) }),
        ] {
            workshop.tell("e", Some(mishap));
            assert_eq!(balance.apply_snapshot(&snapshot).unwrap_err(), expected);
            assert_eq!(state(&balance), before, "after {mishap:?} beside {staged:?}");
            assert_eq!(workshop.built(), ["a", "d"], "others had been made by then");
            assert_eq!((scripts[0].live(), d.live(), e.live()), (1, 0, 0), "and were dropped");
        }
        workshop.tell("e", None);
        for (mood, expected) in [(Mood::Refuses, TWINS), (Mood::Panics, PickError::InconsistentTopology)] {
            preparing.set(mood);
            assert_eq!(balance.apply_snapshot(&snapshot).unwrap_err(), ReconcileError::Policy(expected));
            assert_eq!(state(&balance), before, "after the policy that {mood:?}");
            assert_eq!((scripts[0].live(), d.live(), e.live()), (1, 0, 0));
            workshop.built();
        }
        preparing.set(Mood::Fine);
    }
    assert_eq!(who(ask(&mut balance, 2)), "b", "it still serves what it had");

    workshop.tell("d", None);
    let report = balance.apply_snapshot(&snapshot).unwrap();
    assert_eq!((report.rebuilt(), report.retained(), report.removed(), report.added()), (1, 1, 1, 2));
    drop(response);
}

#[test]
fn a_destructor_that_panics_hinders_no_snapshot() {
    let (mut directory, _scripts, workshop, mut balance) = following(["a", "b", "c"]);
    for name in ["a", "b"] {
        workshop.tell(name, Some(Mishap::PanicsWhenDropped));
    }
    balance.sync(&directory.reader()).unwrap();
    remove(&mut directory, "a");
    remove(&mut directory, "b");
    assert_eq!(balance.sync(&directory.reader()).unwrap().removed(), 2);
    assert_eq!((balance.revision(), balance.balance().len()), (directory.revision(), 1));
    assert_eq!(who(ask(&mut balance, 1)), "c");
}

#[test]
fn revisions_only_grow() {
    let (mut directory, [a], workshop, mut balance) = following(["a"]);
    let older = directory.snapshot();
    add(&mut directory, "b", &Script::new("b"));
    balance.sync(&directory.reader()).unwrap();
    let before = state(&balance);
    workshop.built();

    let again = balance.sync(&directory.reader()).unwrap();
    assert!(!again.is_effective());
    assert_eq!((again.retained(), again.added(), again.revision()), (2, 0, directory.revision()));
    let error = balance.apply_snapshot(&older).unwrap_err();
    assert_eq!(
        error,
        ReconcileError::StaleRevision { offered: older.revision(), applied: directory.revision() }
    );
    assert_eq!(error.to_string(), "revision 1 is older than revision 2, which is in effect");
    assert_eq!((state(&balance), workshop.built(), a.live()), (before, vec![], 1));
}

#[test]
fn two_endpoints_of_one_identity_are_refused() {
    let discovered = |key| Discovered::new(key, Arc::new(()), Attributes::default());
    let twins = [Endpoint::new(discovered("a"), "one"), Endpoint::new(discovered("a"), "other")];
    let factory = in_flight_factory(|_: &&str, (): &()| Ok::<_, CannotBuild>("a third"));
    let mut balance = DiscoveryBalance::over(Balance::new(RoundRobin::new(), twins), factory);
    let snapshot = Snapshot::new(Revision::new(1), [discovered("b")]).unwrap();
    let error = balance.apply_snapshot(&snapshot).unwrap_err();
    assert_eq!(error, ReconcileError::DuplicateEndpoint { first: 0, second: 1 });
    assert_eq!((balance.revision(), balance.balance().len()), (Revision::ZERO, 2));
}

#[test]
fn endpoints_of_before_are_known_by_their_candidates() {
    let (directory, [a, _b]) = fleet(["a", "b"]);
    let known = directory.get(&"a").unwrap().clone();
    let factory = in_flight_factory(|_: &&str, script: &Script| Ok::<_, CannotBuild>(script.service()));
    let balance = Balance::new(RoundRobin::new(), [Endpoint::new(known, a.service())]);
    let mut balance = DiscoveryBalance::over(balance, factory);
    let report = balance.sync(&directory.reader()).unwrap();
    assert_eq!((report.retained(), report.added(), a.built()), (1, 1, 1));
}

thread_local! {
    static HASHES: Cell<bool> = const { Cell::new(true) };
    static TWINS_ARE_EQUAL: Cell<bool> = const { Cell::new(false) };
}

/// A key that is not what it seems.
#[derive(Clone, Debug)]
struct Moot(u32);

impl PartialEq for Moot {
    fn eq(&self, other: &Self) -> bool {
        TWINS_ARE_EQUAL.get() || self.0 == other.0
    }
}

impl Eq for Moot {}

impl Hash for Moot {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert!(HASHES.get(), "told to panic");
        // The same for all.
        0.hash(state);
    }
}

#[test]
fn keys_that_panic_or_change_their_mind_are_errors() {
    let members = [1, 2].map(|key| Discovered::new(Moot(key), Arc::new(()), Attributes::default()));
    let snapshot = Snapshot::new(Revision::new(1), members).unwrap();
    let factory = |_: &Moot, (): &()| Ok::<_, CannotBuild>(("service", InFlight::new()));
    let mut balance = DiscoveryBalance::new(RoundRobin::new(), factory);
    HASHES.set(false);
    assert_eq!(balance.apply_snapshot(&snapshot).unwrap_err(), ReconcileError::Panicked { member: None });
    HASHES.set(true);
    TWINS_ARE_EQUAL.set(true);
    let twins = ReconcileError::DuplicateMember { first: 0, second: 1 };
    assert_eq!(balance.apply_snapshot(&snapshot).unwrap_err(), twins);
    TWINS_ARE_EQUAL.set(false);
}

#[test]
fn a_draining_member_gets_nothing_new_and_answers_what_it_has() {
    let (mut directory, [a, b], _, mut balance) = following(["a", "b"]);
    balance.sync(&directory.reader()).unwrap();
    b.turn(Readiness::Pending);
    assert!(is_ready(&mut balance));
    let response = balance.call(1);
    directory.remove(&"a").unwrap();
    let report = balance.sync(&directory.reader()).unwrap();
    assert_eq!((report.draining(), report.retained()), (1, 2));
    assert!(!is_ready(&mut balance), "one drains and one is pending");
    b.turn(Readiness::Ready);
    for request in 0..5 {
        assert_eq!(who(ask(&mut balance, request)), "b");
    }
    directory.finish_drain(&"a").unwrap();
    assert_eq!(balance.sync(&directory.reader()).unwrap().removed(), 1);
    assert_eq!(a.live(), 0, "its service is gone");
    assert_eq!(response.now_or_never().unwrap().unwrap().by, "a", "its response is not");
}

#[test]
fn a_membership_that_takes_effect_wakes_whoever_waits() {
    let (directory, _scripts, _, mut balance) = following(["a"]);
    let wakes = Wakes::default();
    assert!(poll_ready(&mut balance, &wakes).is_pending());
    balance.sync(&directory.reader()).unwrap();
    assert_eq!(wakes.count(), 1);
    assert!(poll_ready(&mut balance, &wakes).is_ready());
}

#[test]
fn errors_keep_their_causes() {
    let error = ReconcileError::Factory { member: 7, source: CannotBuild("x") };
    assert_eq!(error.to_string(), "the endpoint of the member at position 7 cannot be made");
    assert_eq!(error.source().unwrap().to_string(), "cannot build x");
}
