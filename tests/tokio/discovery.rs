//! Waiting for snapshots and revisions.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use poise::discovery::{Revision, Snapshot, SnapshotPublisher, snapshot_channel};
use poise::tokio::{next_snapshot, wait_for_revision};
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::support::snapshots::at;

type Publisher = SnapshotPublisher<&'static str, u64>;

fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
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

#[tokio::test]
async fn no_publication_is_missed_however_it_races_the_wait_and_the_end() {
    const ROUNDS: u32 = 20_000;
    let (publishers, readers): (Vec<Publisher>, Vec<_>) =
        (0..ROUNDS).map(|_| snapshot_channel(at(1))).unzip();
    let go = Arc::new(AtomicU32::new(0));
    let going = Arc::clone(&go);
    let publishing = std::thread::spawn(move || {
        for (round, mut publisher) in (1..).zip(publishers) {
            let next = at(2);
            while going.load(Ordering::Acquire) < round {
                std::hint::spin_loop();
            }
            // Meets the other thread at one point after another.
            (0..round % 64).for_each(|_| std::hint::spin_loop());
            publisher.publish(next).unwrap();
        }
    });
    for (round, reader) in (1..).zip(readers) {
        go.store(round, Ordering::Release);
        let waited = timeout(Duration::from_secs(30), wait_for_revision(&reader, Revision::new(2))).await;
        let snapshot = waited.unwrap_or_else(|_| panic!("round {round} sleeps")).unwrap();
        assert_eq!(snapshot.revision().value(), 2);
    }
    publishing.join().unwrap();
}
