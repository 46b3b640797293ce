//! Waiting for snapshots and revisions.

#![cfg(all(feature = "discovery", feature = "tokio", not(loom)))]

use std::alloc::System;
use std::future::Future;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use poise::core::Attributes;
use poise::discovery::{Directory, Revision, Snapshot, SnapshotPublisher, snapshot_channel};
use poise::tokio::{next_snapshot, wait_for_revision};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio::task::yield_now;
use tokio::time::timeout;

#[path = "support/snapshots.rs"]
#[expect(dead_code, reason = "these tests wait instead of polling by hand")]
mod snapshots;

use self::snapshots::at;

type Publisher = SnapshotPublisher<&'static str, u64>;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Counts are of the process, so that one test measures at a time.
fn alone() -> MutexGuard<'static, ()> {
    static MEASURING: Mutex<()> = Mutex::new(());
    MEASURING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn directory() -> Directory<&'static str, [u8; 64]> {
    let mut directory = Directory::new();
    directory.upsert_with("a", [0; 64], Attributes::default()).unwrap();
    directory
}

fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Returns how often memory was allocated, as the least of several rounds: what `run` allocates is in all of them, what
/// the harness of the tests allocates beside it is not.
fn allocations(mut run: impl FnMut()) -> usize {
    let mut round = || {
        let before = ALLOCATOR.stats();
        run();
        let after = ALLOCATOR.stats();
        (after.allocations + after.reallocations) - (before.allocations + before.reallocations)
    };
    (0..10).map(|_| round()).min().unwrap_or_default()
}

#[test]
fn waiting_for_the_next_snapshot_allocates_nothing_whether_it_is_there_or_not() {
    let _alone = alone();
    let directory = directory();
    let reader = directory.reader();
    let mut waiting = reader.changes();
    assert!(poll_once(next_snapshot(&mut waiting)).is_pending());
    let counted = allocations(|| {
        for _ in 0..1_000 {
            assert!(poll_once(next_snapshot(&mut reader.subscribe())).is_ready());
            assert!(poll_once(next_snapshot(&mut waiting)).is_pending());
        }
    });
    assert_eq!(counted, 0);
}

#[test]
fn a_hundred_thousand_satisfied_waits_for_a_revision_allocate_nothing() {
    let _alone = alone();
    let directory = directory();
    let reader = directory.reader();
    let counted = allocations(|| {
        for _ in 0..100_000 {
            assert!(poll_once(wait_for_revision(&reader, Revision::new(1))).is_ready());
        }
    });
    assert_eq!(counted, 0, "they neither keep nor take memory");
}

#[test]
fn a_hundred_thousand_waits_that_are_given_up_leave_nothing_behind() {
    let _alone = alone();
    let directory = directory();
    let reader = directory.reader();
    let live = || {
        let stats = ALLOCATOR.stats();
        stats.bytes_allocated.wrapping_sub(stats.bytes_deallocated)
    };
    let before = live();
    for _ in 0..100_000 {
        assert!(poll_once(wait_for_revision(&reader, Revision::new(2))).is_pending());
    }
    let grown = live().saturating_sub(before);
    assert!(grown <= 64 * 1024, "{grown} bytes more");
}

#[tokio::test]
async fn the_next_snapshot_is_the_newest_and_the_last_one_comes_before_the_end() {
    let (mut publisher, reader) = snapshot_channel(at(1));
    let mut stream = reader.subscribe();
    let revision = |snapshot: Option<Snapshot<_, _>>| snapshot.map(|snapshot| snapshot.revision().value());
    assert_eq!(revision(next_snapshot(&mut stream).await), Some(1));
    publisher.publish(at(2)).unwrap();
    publisher.publish(at(3)).unwrap();
    drop(publisher);
    assert_eq!(revision(next_snapshot(&mut stream).await), Some(3));
    assert_eq!(revision(next_snapshot(&mut stream).await), None);
}

#[tokio::test]
async fn a_wait_for_the_next_snapshot_that_is_dropped_takes_nothing() {
    let (mut publisher, reader) = snapshot_channel(at(1));
    let mut stream = reader.changes();
    assert!(poll_once(next_snapshot(&mut stream)).is_pending());
    publisher.publish(at(2)).unwrap();
    assert_eq!(next_snapshot(&mut stream).await.map(|snapshot| snapshot.revision().value()), Some(2));
}

#[tokio::test]
async fn a_wait_for_a_revision_passes_over_older_ones_and_takes_a_newer_one() {
    let (mut publisher, reader) = snapshot_channel(at(1));
    let waiting = tokio::spawn(async move { wait_for_revision(&reader, Revision::new(5)).await });
    for revision in [2, 4, 7] {
        yield_now().await;
        assert!(!waiting.is_finished(), "not before revision {revision}");
        publisher.publish(at(revision)).unwrap();
    }
    assert_eq!(waiting.await.unwrap().unwrap().revision().value(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_revision_goes_on_as_long_as_the_publisher_lives() {
    let (publisher, reader) = snapshot_channel(at(1));
    let waited = timeout(Duration::from_secs(3_600), wait_for_revision(&reader, Revision::new(2))).await;
    assert!(waited.is_err());
    drop(publisher);
    let error = wait_for_revision(&reader, Revision::new(2)).await.unwrap_err();
    assert_eq!((error.last(), error.wanted()), (Revision::new(1), Revision::new(2)));
}

#[tokio::test]
async fn a_revision_that_was_reached_is_found_after_the_publisher_is_gone() {
    let (publisher, reader) = snapshot_channel(at(3));
    drop(publisher);
    assert_eq!(wait_for_revision(&reader, Revision::new(2)).await.unwrap().revision().value(), 3);
}

/// Publishes from a thread of its own while the test waits.
fn publish(mut publisher: Publisher) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || publisher.publish(at(2)).unwrap())
}

#[tokio::test]
async fn no_publication_is_missed_however_it_races_the_wait_and_the_end() {
    for round in 0..2_000 {
        let (publisher, reader) = snapshot_channel(at(1));
        let publishing = publish(publisher);
        let waited = timeout(Duration::from_secs(30), wait_for_revision(&reader, Revision::new(2))).await;
        let snapshot = waited.unwrap_or_else(|_| panic!("round {round} sleeps")).unwrap();
        assert_eq!(snapshot.revision().value(), 2);
        publishing.join().unwrap();
    }
}
