//! Publications against readers, pollers and sleepers in other threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use poise::core::{Attributes, Candidate, Weight};
use poise::discovery::{Change, Directory, Revision, snapshot_channel};

use crate::support::snapshots::{Stream, at, poll, poll_once};

#[test]
fn the_last_state_reaches_a_spinning_poller_whenever_the_publisher_goes() {
    for round in 0..3_000 {
        let (mut publisher, reader) = snapshot_channel(at(1));
        let mut stream = reader.changes();
        let poller = thread::spawn(move || {
            let mut last = None;
            loop {
                match poll_once(&mut stream) {
                    Poll::Ready(Some(revision)) => last = Some(revision),
                    Poll::Ready(None) => return last,
                    Poll::Pending => std::hint::spin_loop(),
                }
            }
        });
        for _ in 0..round % 64 {
            std::hint::spin_loop();
        }
        publisher.publish(at(2)).unwrap();
        drop(publisher);
        assert_eq!(poller.join().unwrap(), Some(2), "round {round}");
    }
}

struct Unpark(Thread, AtomicBool);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.1.store(true, Ordering::SeqCst);
        self.0.unpark();
    }
}

/// Follows a stream to its end, asleep whenever it is pending.
fn last_of(mut stream: Stream) -> Option<u64> {
    let task = Arc::new(Unpark(thread::current(), AtomicBool::new(false)));
    let waker = Waker::from(Arc::clone(&task));
    let mut last = None;
    loop {
        match poll(&mut stream, &waker) {
            Poll::Ready(Some(revision)) => {
                assert!(last < Some(revision), "revisions only grow");
                last = Some(revision);
            }
            Poll::Ready(None) => return last,
            Poll::Pending => {
                while !task.1.swap(false, Ordering::SeqCst) {
                    thread::park_timeout(Duration::from_secs(60));
                }
            }
        }
    }
}

/// Law 14.
#[test]
fn no_sleeper_misses_a_publication_or_the_end() {
    for _ in 0..300 {
        let (mut publisher, reader) = snapshot_channel(at(1));
        let sleepers: Vec<_> = (0..3)
            .map(|_| {
                let stream = reader.subscribe();
                thread::spawn(move || last_of(stream))
            })
            .collect();
        for revision in 2..20 {
            publisher.publish(at(revision)).unwrap();
            if revision % 3 == 0 {
                thread::yield_now();
            }
        }
        drop(publisher);
        for sleeper in sleepers {
            assert_eq!(sleeper.join().unwrap(), Some(19));
        }
    }
}

/// Law 4, law 5.
#[test]
fn readers_see_whole_batches_of_growing_revisions() {
    let weigh = |value| Attributes::default().with_weight(Weight::new(value).unwrap());
    let mut directory = Directory::new();
    directory.apply((0..8).map(|key| Change::Upsert { key, backend: (), attributes: weigh(1) })).unwrap();
    let (reader, done) = (directory.reader(), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..2 {
            let (reader, done) = (reader.clone(), &done);
            scope.spawn(move || {
                let (mut cached, mut seen) = (reader.cached(), Revision::ZERO);
                while !done.load(Ordering::Relaxed) {
                    for snapshot in [reader.load(), cached.load().clone()] {
                        assert!(snapshot.revision() >= seen, "revisions only grow");
                        seen = snapshot.revision();
                        let uniform =
                            snapshot.iter().all(|member| u64::from(member.weight().value()) == seen.value());
                        assert!(uniform, "a batch was seen in part");
                    }
                }
            });
        }
        for value in 2..2_000 {
            directory.apply((0..8).map(|key| Change::Amend { key, attributes: weigh(value) })).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
}
