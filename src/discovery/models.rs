//! Models of the channel: every order in which its publisher and its readers can meet.

use std::future::poll_fn;

use loom::future::block_on;
use loom::thread;

use super::{Revision, Snapshot, SnapshotReader, SnapshotStream, snapshot_channel, wait_for_revision};

fn at(revision: u64) -> Snapshot<u8, u8> {
    Snapshot::new(Revision::new(revision), []).unwrap()
}

/// Publishes the revisions from 1 on in a thread of its own, and then goes.
fn publishing(last: u64) -> (SnapshotReader<u8, u8>, thread::JoinHandle<()>) {
    let (mut publisher, reader) = snapshot_channel(Snapshot::unknown());
    let publishing =
        thread::spawn(move || (1..=last).for_each(|revision| publisher.publish(at(revision)).unwrap()));
    (reader, publishing)
}

/// Follows a stream to its end and returns what it yielded last. A wake-up that is lost leaves it asleep, which the model
/// reports as a deadlock.
fn follow(mut stream: SnapshotStream<u8, u8>) -> u64 {
    block_on(async move {
        let mut last = None;
        while let Some(next) = poll_fn(|cx| stream.poll_next_snapshot(cx)).await {
            assert!(last < Some(next.revision()), "revisions only grow");
            last = Some(next.revision());
        }
        last.map_or(0, Revision::value)
    })
}

#[test]
fn loom_the_last_state_is_delivered_although_the_publisher_goes_at_once() {
    loom::model(|| {
        let (reader, publishing) = publishing(2);
        assert_eq!(follow(reader.subscribe()), 2, "the stream ends after the last state, not before");
        publishing.join().unwrap();
    });
}

#[test]
fn loom_every_task_that_shares_a_reader_gets_the_last_state() {
    loom::model(|| {
        let (reader, publishing) = publishing(1);
        let shared = reader.clone();
        let other = thread::spawn(move || follow(shared.subscribe()));
        assert_eq!(follow(reader.subscribe()), 1);
        assert_eq!(other.join().unwrap(), 1);
        publishing.join().unwrap();
    });
}

#[test]
fn loom_a_stream_of_changes_misses_nothing_after_its_start() {
    loom::model(|| {
        let (reader, publishing) = publishing(2);
        let last = follow(reader.changes());
        assert!(last == 2 || last == 0, "it yields the last state, unless it started there: {last}");
        assert_eq!(reader.revision(), Revision::new(2), "the stream has ended");
        publishing.join().unwrap();
    });
}

#[test]
fn loom_a_wait_for_a_revision_ends_with_it_or_with_the_publisher() {
    loom::model(|| {
        let (reader, publishing) = publishing(2);
        let reached = block_on(wait_for_revision(&reader, Revision::new(2)));
        assert_eq!(reached.map(|snapshot| snapshot.revision()), Ok(Revision::new(2)));
        publishing.join().unwrap();
    });
}

#[test]
fn loom_a_wait_for_a_revision_that_never_comes_ends_with_the_publisher() {
    loom::model(|| {
        let (reader, publishing) = publishing(1);
        let error = block_on(wait_for_revision(&reader, Revision::new(2))).unwrap_err();
        assert_eq!((error.last(), error.wanted()), (Revision::new(1), Revision::new(2)));
        publishing.join().unwrap();
    });
}
