//! One publisher, many readers: order, wake-ups and the end.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Wake, Waker};

use futures_util::{FutureExt, StreamExt};
use poise::core::Backend;
use poise::discovery::{
    CachedReader, Directory, Discovered, Revision, Snapshot, SnapshotPublisher, SnapshotReader,
    SnapshotStream, snapshot_channel,
};

use crate::support::snapshots::{Stream, at, poll, poll_once};

#[derive(Default)]
struct Count(AtomicUsize);

impl Count {
    fn value(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_slow_load_that_ends_late_does_not_overwrite_what_is_newer() {
    let (mut publisher, reader) = snapshot_channel(Snapshot::unknown());
    let slow = at(1);
    publisher.publish(at(2)).unwrap();
    let mut changes = reader.changes();
    for (refused, text) in [
        (slow, "revision 1 is not newer than revision 2"),
        (at(2), "revision 2 is not newer than revision 2"),
    ] {
        let revision = refused.revision();
        let error = publisher.publish(refused).unwrap_err();
        assert_eq!(error.to_string(), text);
        assert_eq!((error.published(), error.snapshot().revision()), (Revision::new(2), revision));
        assert_eq!(**error.into_snapshot().members()[0].backend(), revision.value(), "it is given back");
    }
    assert_eq!(reader.revision(), Revision::new(2));
    assert_eq!(publisher.latest().revision(), Revision::new(2));
    assert!(poll_once(&mut changes).is_pending());
}

#[test]
fn a_subscription_yields_the_current_state_first_and_changes_begin_after_it() {
    let (mut publisher, reader) = snapshot_channel(at(3));
    let (mut all, mut changes) = (reader.subscribe(), reader.changes());
    assert_eq!(poll_once(&mut all), Poll::Ready(Some(3)));
    assert!(poll_once(&mut all).is_pending());
    assert!(poll_once(&mut changes).is_pending());
    publisher.publish(at(4)).unwrap();
    assert_eq!(poll_once(&mut all), Poll::Ready(Some(4)));
    assert_eq!(poll_once(&mut changes), Poll::Ready(Some(4)));
}

#[test]
fn what_is_not_yet_known_is_a_state_too() {
    let directory = Directory::<&str, u64>::new();
    let mut stream = directory.reader().subscribe();
    assert_eq!(poll_once(&mut stream), Poll::Ready(Some(0)));
    assert!(poll_once(&mut stream).is_pending());
}

#[test]
fn a_slow_subscriber_skips_to_the_newest_and_others_do_not_notice() {
    let (mut publisher, reader) = snapshot_channel(at(10));
    let (mut slow, mut quick) = (reader.subscribe(), reader.subscribe());
    assert_eq!(poll_once(&mut slow), Poll::Ready(Some(10)));
    for revision in 11..=14 {
        publisher.publish(at(revision)).unwrap();
        assert_eq!(poll_once(&mut quick), Poll::Ready(Some(revision)));
    }
    assert_eq!(poll_once(&mut slow), Poll::Ready(Some(14)));
    assert!(poll_once(&mut slow).is_pending());
}

#[test]
fn the_last_state_is_delivered_after_the_publisher_is_gone_and_then_the_end() {
    let (mut publisher, reader) = snapshot_channel(at(1));
    let mut stream = reader.changes();
    publisher.publish(at(2)).unwrap();
    assert!(!reader.is_closed());
    drop(publisher);
    assert!(reader.is_closed());
    assert_eq!(poll_once(&mut stream), Poll::Ready(Some(2)));
    for _ in 0..3 {
        assert_eq!(poll_once(&mut stream), Poll::Ready(None), "the end stays the end");
    }
    assert_eq!(poll_once(&mut reader.changes()), Poll::Ready(None));
    assert_eq!(poll_once(&mut reader.subscribe()), Poll::Ready(Some(2)));
    assert_eq!(reader.load().revision(), Revision::new(2), "readers keep the last state");
}

#[test]
fn dropping_a_directory_ends_its_streams_after_the_last_state() {
    let mut directory = Directory::new();
    let mut stream = directory.reader().subscribe();
    directory.upsert("a", Backend::new("a")).unwrap();
    drop(directory);
    assert_eq!(stream.next().now_or_never().flatten().map(|last| last.len()), Some(1));
    assert!(matches!(stream.next().now_or_never(), Some(None)));
}

#[test]
fn a_pending_task_is_woken_by_a_publication_and_by_the_end() {
    let (mut publisher, reader) = snapshot_channel(at(1));
    let (woken, mut stream) = (Arc::new(Count::default()), reader.changes());
    let waker = Waker::from(Arc::clone(&woken));
    assert!(poll(&mut stream, &waker).is_pending());
    assert!(poll(&mut stream, &waker).is_pending());
    publisher.publish(at(2)).unwrap();
    assert_eq!(woken.value(), 1, "once, however often it polled");
    assert!(poll(&mut stream, &waker).is_ready());
    assert!(poll(&mut stream, &waker).is_pending());
    drop(publisher);
    assert_eq!(woken.value(), 2);
}

#[test]
fn only_the_task_that_polled_last_is_woken() {
    let (mut publisher, reader) = snapshot_channel(at(1));
    let (first, second, mut stream) =
        (Arc::new(Count::default()), Arc::new(Count::default()), reader.changes());
    assert!(poll(&mut stream, &Waker::from(Arc::clone(&first))).is_pending());
    assert!(poll(&mut stream, &Waker::from(Arc::clone(&second))).is_pending());
    publisher.publish(at(2)).unwrap();
    assert_eq!((first.value(), second.value()), (0, 1));
}

#[test]
fn a_dropped_or_ended_stream_lets_go_of_its_waker_at_once() {
    let (publisher, reader) = snapshot_channel(at(1));
    let task = Arc::new(Count::default());
    let (mut dropped, mut ended) = (reader.changes(), reader.changes());
    for stream in [&mut dropped, &mut ended] {
        assert!(poll(stream, &Waker::from(Arc::clone(&task))).is_pending());
    }
    assert_eq!(Arc::strong_count(&task), 3);
    drop(dropped);
    assert_eq!(Arc::strong_count(&task), 2);
    drop(publisher);
    assert_eq!(poll(&mut ended, &Waker::from(Arc::clone(&task))), Poll::Ready(None));
    assert_eq!((Arc::strong_count(&task), task.value()), (1, 1));
}

/// A task that owns a stream of the channel on which it waits; its end frees that stream's waker.
struct Owner(#[expect(dead_code, reason = "held for its destructor")] Mutex<Stream>);

impl Wake for Owner {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn the_end_of_a_task_in_its_waker_may_come_back_to_the_channel() {
    let (mut publisher, reader) = snapshot_channel(at(1));
    let owner = || {
        let mut owned = reader.changes();
        assert!(poll_once(&mut owned).is_pending());
        Waker::from(Arc::new(Owner(Mutex::new(owned))))
    };
    let mut stream = reader.changes();
    assert!(poll(&mut stream, &owner()).is_pending());
    assert!(poll(&mut stream, &owner()).is_pending());
    publisher.publish(at(2)).unwrap();
    assert!(poll(&mut stream, &owner()).is_ready());
    assert!(poll(&mut stream, &owner()).is_pending());
    drop(stream);
    assert_eq!(poll_once(&mut reader.changes()), Poll::Pending);
}

struct Broken;

impl Wake for Broken {
    fn wake(self: Arc<Self>) {
        panic!("this task cannot be woken");
    }
}

#[test]
fn a_waker_that_panics_keeps_nobody_asleep_and_undoes_nothing() {
    let (mut publisher, reader) = snapshot_channel(at(1));
    let (mut broken, mut sound) = (reader.changes(), reader.changes());
    let woken = Arc::new(Count::default());
    assert!(poll(&mut broken, &Waker::from(Arc::new(Broken))).is_pending());
    assert!(poll(&mut sound, &Waker::from(Arc::clone(&woken))).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| publisher.publish(at(2)))).is_err());
    assert_eq!((woken.value(), reader.revision().value()), (1, 2));
    assert_eq!(poll_once(&mut sound), Poll::Ready(Some(2)));
    publisher.publish(at(3)).unwrap();
    assert_eq!(poll_once(&mut broken), Poll::Ready(Some(3)));
}

#[test]
fn a_cached_reader_follows_and_outlives_the_publisher() {
    let (mut publisher, reader) = snapshot_channel(at(1));
    let mut cached = reader.cached();
    assert_eq!(cached.load().revision().value(), 1);
    publisher.publish(at(2)).unwrap();
    let mut twin = cached.clone();
    drop((publisher, reader));
    assert_eq!((cached.load().revision().value(), twin.load().revision().value()), (2, 2));
}

#[test]
fn all_parts_can_be_shared_and_shown_whatever_the_backend_is() {
    struct Opaque;
    fn check<T: Send + Sync + Unpin + Debug>() {}
    check::<Directory<&str, Opaque>>();
    check::<Snapshot<&str, Opaque>>();
    check::<SnapshotPublisher<&str, Opaque>>();
    check::<SnapshotReader<&str, Opaque>>();
    check::<CachedReader<&str, Opaque>>();
    check::<SnapshotStream<&str, Opaque>>();
    check::<Discovered<&str, Opaque>>();
}
