//! Waits for snapshots take no memory, and leave none behind.

#![cfg(all(feature = "discovery", feature = "tokio", not(loom)))]

#[path = "support/allocations.rs"]
mod allocations;

use std::future::Future;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use poise::core::Attributes;
use poise::discovery::{Directory, Revision};
use poise::tokio::{next_snapshot, wait_for_revision};

use self::allocations::{ALLOCATOR, allocations};

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
