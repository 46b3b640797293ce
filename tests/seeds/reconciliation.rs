//! Reconciliation: how discovered generations become endpoints.

use futures_util::FutureExt;
use poise::core::policy::RoundRobin;
use poise::core::{Backend, InFlight, Status};
use poise::discovery::{Directory, Revision};
use poise::tower::{DiscoveryBalance, EndpointFactory, ReconcileError, in_flight_factory};
use tower_service::Service;

use crate::fleet::{add, remove, set_status};
use crate::following::{following, state};
use crate::script::{Readiness, Script};
use crate::standing::{ask, is_ready, who};
use crate::workshop::{CannotBuild, Mishap};

#[test]
fn an_unchanged_key_and_allocation_retain_the_complete_endpoint() {
    let (mut directory, [a, b], workshop, mut balance) = following(["a", "b"]);
    balance.sync(&directory.reader()).unwrap();
    a.hang();
    b.turn(Readiness::Failing);
    assert!(is_ready(&mut balance));
    let response = balance.call(1);
    a.turn(Readiness::Ready);
    assert!(is_ready(&mut balance));
    let before = state(&balance);
    add(&mut directory, "c", &Script::new("c"));
    balance.sync(&directory.reader()).unwrap();
    assert_eq!(state(&balance).endpoints[..2], before.endpoints, "reservation, quarantine and load");
    assert_eq!(workshop.built(), ["a", "b", "c"], "and the service");
    drop(response);
}

#[test]
fn a_drain_excludes_new_traffic_at_once_and_discards_no_live_state() {
    let (mut directory, [a, b], _, mut balance) = following(["a", "b"]);
    balance.sync(&directory.reader()).unwrap();
    assert!(is_ready(&mut balance));
    directory.remove(&"a").unwrap();
    assert_eq!(balance.sync(&directory.reader()).unwrap().draining(), 1);
    assert!((0..4).all(|request| who(ask(&mut balance, request)) == "b"));
    set_status(&mut directory, "a", Status::Ready);
    balance.sync(&directory.reader()).unwrap();
    assert!((0..4).any(|request| who(ask(&mut balance, request)) == "a"));
    assert_eq!((a.built(), b.built()), (1, 1));
}

#[test]
fn an_upsert_of_an_equal_value_is_an_intentional_change_of_generation() {
    let mut directory = Directory::new();
    directory.upsert("a", Backend::new("same")).unwrap();
    let mut generation = 0;
    let factory = in_flight_factory(|_: &&str, _: &Backend<&str>| {
        generation += 1;
        Ok::<_, CannotBuild>(generation)
    });
    let mut balance = DiscoveryBalance::new(RoundRobin::new(), factory);
    balance.sync(&directory.reader()).unwrap();
    directory.upsert("a", Backend::new("same")).unwrap();
    assert_eq!(balance.sync(&directory.reader()).unwrap().rebuilt(), 1);
    assert_eq!(*balance.balance().endpoints()[0].service(), 2);
}

#[test]
fn the_old_endpoint_is_dropped_only_when_the_new_revision_commits() {
    let (mut directory, [a, _b], workshop, mut balance) = following(["a", "b"]);
    balance.sync(&directory.reader()).unwrap();
    let renewed = Script::new("a");
    add(&mut directory, "a", &renewed);
    add(&mut directory, "b", &Script::new("b"));
    workshop.tell("b", Some(Mishap::Fails));
    assert!(balance.sync(&directory.reader()).is_err());
    assert_eq!((a.live(), renewed.live()), (1, 0));
    workshop.tell("b", None);
    balance.sync(&directory.reader()).unwrap();
    assert_eq!((a.live(), renewed.live()), (0, 1));
}

#[test]
fn late_results_of_an_old_service_do_not_pollute_the_new_one() {
    let (mut directory, [a], _, mut balance) = following(["a"]);
    balance.sync(&directory.reader()).unwrap();
    a.hang();
    assert!(is_ready(&mut balance));
    let late = balance.call(1);
    add(&mut directory, "a", &Script::new("a"));
    balance.sync(&directory.reader()).unwrap();
    assert!(is_ready(&mut balance));
    let current = balance.call(2);
    assert_eq!(balance.balance().endpoints()[0].tracker().current(), 1);
    drop(late);
    assert_eq!(balance.balance().endpoints()[0].tracker().current(), 1);
    drop(current);
    assert_eq!(balance.balance().endpoints()[0].tracker().current(), 0);
}

#[test]
fn members_are_retained_added_or_rebuilt_and_stand_in_snapshot_order() {
    let (mut directory, [_, b, _], workshop, mut balance) = following(["a", "b", "c"]);
    balance.sync(&directory.reader()).unwrap();
    remove(&mut directory, "a");
    add(&mut directory, "b", &b);
    add(&mut directory, "d", &Script::new("d"));
    workshop.built();
    let report = balance.sync(&directory.reader()).unwrap();
    assert_eq!((report.retained(), report.rebuilt(), report.added(), report.removed()), (1, 1, 1, 1));
    assert_eq!(workshop.built(), ["b", "d"]);
    let order: Vec<_> = balance.balance().endpoints().iter().map(|one| *one.candidate().key()).collect();
    assert_eq!(order, ["b", "c", "d"]);
    assert_eq!(balance.revision(), directory.revision());
}

#[test]
fn any_failing_factory_call_leaves_set_order_readiness_load_and_revision_unchanged() {
    let (mut directory, [a, _b], workshop, mut balance) = following(["a", "b"]);
    balance.sync(&directory.reader()).unwrap();
    a.hang();
    assert!(is_ready(&mut balance));
    let response = balance.call(1);
    assert!(is_ready(&mut balance));
    let before = state(&balance);
    let staged = Script::new("c");
    add(&mut directory, "c", &staged);
    add(&mut directory, "d", &Script::new("d"));
    for mishap in [Mishap::Fails, Mishap::Panics] {
        workshop.tell("d", Some(mishap));
        assert!(balance.sync(&directory.reader()).is_err());
        assert_eq!(state(&balance), before);
        assert_eq!((staged.built() > 0, staged.live()), (true, 0), "what was staged is dropped");
    }
    drop(response);
}

#[test]
fn an_equal_revision_is_a_no_op_and_an_older_one_is_stale() {
    let (mut directory, [_a], workshop, mut balance) = following(["a"]);
    let first = directory.snapshot();
    balance.apply_snapshot(&first).unwrap();
    let again = balance.apply_snapshot(&first).unwrap();
    assert_eq!((again.retained(), again.added(), again.rebuilt(), again.removed()), (1, 0, 0, 0));
    assert_eq!(workshop.built(), ["a"]);
    add(&mut directory, "b", &Script::new("b"));
    balance.sync(&directory.reader()).unwrap();
    let stale = balance.apply_snapshot(&first).unwrap_err();
    assert!(matches!(stale, ReconcileError::StaleRevision { offered, .. } if offered == Revision::new(1)));
}

#[test]
fn closures_that_return_a_service_and_a_tracker_are_factories() {
    let mut directory = Directory::new();
    directory.upsert("a", Backend::new("a")).unwrap();
    let factory = |_: &&'static str, backend: &Backend<&'static str>| {
        Ok::<_, CannotBuild>((*backend.id(), InFlight::with_limit(3).unwrap()))
    };
    let mut balance = DiscoveryBalance::new(RoundRobin::new(), factory);
    balance.sync(&directory.reader()).unwrap();
    let endpoint = &balance.balance().endpoints()[0];
    assert_eq!((*endpoint.service(), endpoint.tracker().limit()), ("a", Some(3)));
}

#[test]
fn a_factory_of_services_gives_each_generation_a_fresh_unbounded_count() {
    let mut factory = in_flight_factory(|key: &u8, (): &()| Ok::<_, CannotBuild>(*key));
    for key in 0..3 {
        let (service, tracker) = factory.build(&key, &()).unwrap();
        assert_eq!((service, tracker.current(), tracker.limit()), (key, 0, None));
    }
}

#[test]
fn a_finished_drain_removes_the_endpoint_and_a_returned_response_stays_valid() {
    let (mut directory, [a, _b], _, mut balance) = following(["a", "b"]);
    balance.sync(&directory.reader()).unwrap();
    assert!(is_ready(&mut balance));
    let response = balance.call(1);
    directory.remove(&"a").unwrap();
    balance.sync(&directory.reader()).unwrap();
    assert_eq!(balance.balance().endpoints()[0].tracker().current(), 1, "there is outstanding work");
    directory.finish_drain(&"a").unwrap();
    assert_eq!(balance.sync(&directory.reader()).unwrap().removed(), 1);
    assert_eq!((balance.balance().len(), a.live()), (1, 0));
    assert_eq!(response.now_or_never().unwrap().unwrap().by, "a");
}

#[test]
fn sync_is_one_load_that_neither_polls_nor_waits() {
    let (mut directory, [_a], _, mut balance) = following(["a"]);
    let reader = directory.reader();
    balance.sync(&reader).unwrap();
    add(&mut directory, "b", &Script::new("b"));
    add(&mut directory, "c", &Script::new("c"));
    assert_eq!(balance.balance().len(), 1, "nothing happens between two calls");
    assert_eq!(balance.sync(&reader).unwrap().added(), 2);
}
