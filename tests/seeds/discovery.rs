//! Discovery: one writer, coherent snapshots, subscribers of their own.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use poise::core::policy::RoundRobin;
use poise::core::{Attributes, Backend, Candidate, Now, Policy, Status, Weight};
use poise::discovery::{Change, Directory, Discovered, Revision, Snapshot, snapshot_channel};
use poise::tokio::{next_snapshot, wait_for_revision};

use crate::membership::{allocation, directory, keys, status};
use crate::wakes::Wakes;

type Stream = poise::discovery::SnapshotStream<&'static str, Backend<&'static str>>;

fn poll(stream: &mut Stream, wakes: &Wakes) -> Poll<Option<u64>> {
    let polled = wakes.poll(std::pin::pin!(stream.next()));
    polled.map(|next| next.map(|snapshot| snapshot.revision().value()))
}

#[test]
fn a_batch_is_one_new_revision() {
    let mut directory = directory(&["a", "b"]);
    let before = directory.revision().value();
    let changes = [
        Change::upsert("c", Backend::new("c")),
        Change::Amend { key: "a", attributes: Attributes::default().with_weight(Weight::new(3).unwrap()) },
        Change::Remove { key: "b" },
    ];
    directory.apply(changes).unwrap();
    assert_eq!(directory.revision().value(), before + 1);
}

#[test]
fn a_batch_that_fails_is_not_applied_in_part() {
    let mut directory = directory(&["a"]);
    let before = directory.snapshot();
    let failing = [Change::upsert("b", Backend::new("b")), Change::FinishDrain { key: "a" }];
    assert!(directory.apply(failing).is_err());
    assert_eq!(directory.revision(), before.revision());
    assert_eq!(keys(&directory.reader().load()), ["a"]);
}

#[test]
fn readers_keep_older_snapshots_alive_while_the_new_one_becomes_visible() {
    let mut directory = directory(&["a"]);
    let reader = directory.reader();
    let old = reader.load();
    directory.upsert("b", Backend::new("b")).unwrap();
    assert_eq!((keys(&old), keys(&reader.load())), (vec!["a"], vec!["a", "b"]));
    drop(directory);
    assert_eq!(keys(&old), ["a"]);
}

#[test]
fn an_update_is_atomic_from_the_perspective_of_a_selector() {
    let mut directory = directory(&["a", "b"]);
    let snapshot = directory.snapshot();
    let policy = RoundRobin::new();
    let first =
        *policy.pick(snapshot.members(), &()).map(|one| &snapshot.members()[one.index()]).unwrap().id();
    for key in ["a", "b"] {
        directory.remove(&key).unwrap();
        directory.finish_drain(&key).unwrap();
    }
    let second = policy.pick(snapshot.members(), &()).unwrap();
    assert_ne!(*snapshot.members()[second.index()].id(), first, "both are there, as before");
}

#[test]
fn a_slow_subscriber_skips_to_a_revision_that_is_complete_by_itself() {
    let mut directory = directory(&["a"]);
    let mut stream = directory.reader().subscribe();
    let first = directory.revision().value();
    assert_eq!(poll(&mut stream, &Wakes::default()), Poll::Ready(Some(first)));
    for key in ["b", "c", "d", "e"] {
        directory.upsert(key, Backend::new(key)).unwrap();
    }
    let newest = stream.next().now_or_never().flatten().unwrap();
    assert_eq!(newest.revision().value(), first + 4);
    assert_eq!(keys(&newest), ["a", "b", "c", "d", "e"]);
    assert!(stream.next().now_or_never().is_none(), "it is state and no log of events");
}

#[test]
fn a_removal_drains_first_and_only_a_finished_drain_lets_go() {
    let mut directory = directory(&["a", "b"]);
    directory.remove(&"a").unwrap();
    assert_eq!(status(&directory, "a"), Some(Status::Draining));
    assert!(!directory.get(&"a").unwrap().is_eligible(&Now::lazy()), "it is ineligible at once");
    directory.finish_drain(&"a").unwrap();
    assert_eq!(keys(&directory.snapshot()), ["b"]);
}

#[test]
fn outstanding_work_keeps_its_backend_beyond_the_drain() {
    let mut directory = directory(&["a"]);
    let handle = allocation(&directory, "a");
    directory.remove(&"a").unwrap();
    assert!(Arc::strong_count(&handle) > 1);
    directory.finish_drain(&"a").unwrap();
    assert_eq!((*handle.id(), Arc::strong_count(&handle)), ("a", 1));
}

#[test]
fn revisions_increase_strictly_and_stale_state_replaces_nothing() {
    let at = |revision| {
        let member = Discovered::new("a", Arc::new(revision), Attributes::default());
        Snapshot::new(Revision::new(revision), [member]).unwrap()
    };
    let (mut publisher, reader) = snapshot_channel(at(5));
    for stale in [4, 5] {
        assert!(publisher.publish(at(stale)).is_err());
        assert_eq!(reader.revision(), Revision::new(5));
    }
    publisher.publish(at(6)).unwrap();
    assert_eq!(**reader.load().members()[0].backend(), 6);
}

#[test]
fn the_key_names_the_member_and_the_allocation_its_generation() {
    let mut directory = directory(&["a"]);
    let first = directory.get(&"a").unwrap().clone();
    directory.amend(&"a", Attributes::default().with_status(Status::Draining)).unwrap();
    let drained = directory.get(&"a").unwrap().clone();
    assert!(drained.same_generation(&first), "a transition of membership alone");
    directory.upsert("a", Backend::new("a")).unwrap();
    let renewed = directory.get(&"a").unwrap();
    assert_eq!(renewed.backend(), first.backend(), "an equal value");
    assert!(!renewed.same_generation(&first), "and a new generation");
}

#[test]
fn adding_a_backend_does_not_mutate_the_value_of_the_caller() {
    let backend = Backend::new("a").with_weight(Weight::new(7).unwrap());
    let mut directory = Directory::new();
    directory.upsert("a", backend.clone()).unwrap();
    directory.amend(&"a", Attributes::default()).unwrap();
    assert_eq!(**directory.get(&"a").unwrap().backend(), backend);
}

#[test]
fn a_subscription_begins_with_the_current_snapshot_and_changes_after_it() {
    let mut directory = directory(&["a"]);
    let current = directory.revision().value();
    let (mut subscription, mut changes) = (directory.reader().subscribe(), directory.reader().changes());
    assert_eq!(poll(&mut subscription, &Wakes::default()), Poll::Ready(Some(current)));
    assert_eq!(poll(&mut changes, &Wakes::default()), Poll::Pending);
    directory.upsert("b", Backend::new("b")).unwrap();
    for stream in [&mut subscription, &mut changes] {
        assert_eq!(poll(stream, &Wakes::default()), Poll::Ready(Some(current + 1)));
    }
}

#[test]
fn each_subscriber_has_a_cursor_and_a_waker_of_its_own() {
    let mut directory = directory(&["a"]);
    let mut streams = [directory.reader().changes(), directory.reader().changes()];
    let wakes = [Wakes::default(), Wakes::default()];
    for (stream, wakes) in streams.iter_mut().zip(&wakes) {
        assert!(poll(stream, wakes).is_pending());
    }
    directory.upsert("b", Backend::new("b")).unwrap();
    assert_eq!(wakes.each_ref().map(Wakes::count), [1, 1]);
    assert!(poll(&mut streams[0], &wakes[0]).is_ready());
    directory.upsert("c", Backend::new("c")).unwrap();
    let next = streams.each_mut().map(|stream| poll(stream, &Wakes::default()));
    assert_eq!(next, [Poll::Ready(Some(3)); 2], "the slow one skips, the other one does not notice");
}

#[test]
fn the_end_of_the_publisher_wakes_subscribers_and_comes_after_the_final_state() {
    let mut directory = directory(&["a"]);
    let (mut waiting, mut late) = (directory.reader().changes(), directory.reader().changes());
    let wakes = Wakes::default();
    directory.upsert("b", Backend::new("b")).unwrap();
    assert!(poll(&mut waiting, &wakes).is_ready());
    assert!(poll(&mut waiting, &wakes).is_pending());
    drop(directory);
    assert_eq!(wakes.count(), 1);
    assert_eq!(poll(&mut waiting, &wakes), Poll::Ready(None));
    assert_eq!(poll(&mut late, &wakes), Poll::Ready(Some(2)), "the final state is observed");
    assert_eq!(poll(&mut late, &wakes), Poll::Ready(None));
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_minimum_revision_misses_no_publication() {
    let mut directory = directory(&["a"]);
    let mut stream = directory.reader().subscribe();
    assert_eq!(next_snapshot(&mut stream).await.unwrap().revision().value(), 1);
    let reader = directory.reader();
    let waiting = tokio::spawn(async move {
        let reached = wait_for_revision(&reader, Revision::new(3)).await;
        reached.map(|snapshot| snapshot.revision())
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    directory.upsert("b", Backend::new("b")).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!waiting.is_finished());
    directory.upsert("c", Backend::new("c")).unwrap();
    assert_eq!(waiting.await.unwrap().unwrap(), Revision::new(3));
}

#[test]
fn streams_need_no_runtime() {
    let directory = directory(&["a"]);
    let mut stream = directory.reader().subscribe();
    let polled = stream.poll_next_snapshot(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(polled, Poll::Ready(Some(snapshot)) if snapshot.len() == 1));
}
