//! Memory is bounded by the membership, never by subscribers or updates.

#![cfg(feature = "discovery")]

use std::alloc::System;
use std::sync::Mutex;
use std::task::{Context, Waker};

use poise::core::Attributes;
use poise::discovery::Directory;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Counts are of the process, so that one test measures at a time.
static MEASURING: Mutex<()> = Mutex::new(());

const SLACK: usize = 64 * 1024;

fn live() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.wrapping_sub(stats.bytes_deallocated)
}

/// Returns by how much the memory in use grew, and lets `run` keep things alive until then.
fn growth<T>(run: impl FnOnce() -> T) -> usize {
    let _alone = MEASURING.lock().unwrap();
    let before = live();
    let kept = run();
    let after = live();
    drop(kept);
    after.saturating_sub(before)
}

fn directory() -> Directory<&'static str, [u8; 1024]> {
    let mut directory = Directory::new();
    directory.upsert_with("a", [0; 1024], Attributes::default()).unwrap();
    directory
}

#[test]
fn a_million_subscribers_that_wait_and_leave_cost_nothing() {
    let directory = directory();
    let (reader, mut context) = (directory.reader(), Context::from_waker(Waker::noop()));
    let grown = growth(|| {
        for _ in 0..1_000_000 {
            assert!(reader.changes().poll_next_snapshot(&mut context).is_pending());
        }
    });
    assert!(grown <= SLACK, "{grown} bytes more");
}

#[test]
fn a_million_waits_that_are_satisfied_at_once_cost_nothing() {
    let directory = directory();
    let (reader, mut context) = (directory.reader(), Context::from_waker(Waker::noop()));
    let grown = growth(|| {
        for _ in 0..1_000_000 {
            assert!(reader.subscribe().poll_next_snapshot(&mut context).is_ready());
        }
    });
    assert!(grown <= SLACK, "{grown} bytes more");
}

#[test]
fn ten_thousand_updates_that_nobody_reads_cost_nothing() {
    let mut directory = directory();
    let (reader, mut context) = (directory.reader(), Context::from_waker(Waker::noop()));
    let (mut unread, mut waiting) = (reader.subscribe(), reader.changes());
    assert!(unread.poll_next_snapshot(&mut context).is_ready());
    assert!(waiting.poll_next_snapshot(&mut context).is_pending());
    let grown = growth(|| {
        for _ in 0..10_000 {
            directory.upsert_with("a", [1; 1024], Attributes::default()).unwrap();
        }
    });
    assert!(grown <= SLACK, "{grown} bytes more");
    assert!(unread.poll_next_snapshot(&mut context).is_ready());
}

#[test]
fn a_crowd_that_has_left_takes_no_place() {
    let directory = directory();
    let (reader, mut context) = (directory.reader(), Context::from_waker(Waker::noop()));
    let grown = growth(|| {
        let mut crowd: Vec<_> = (0..100_000).map(|_| reader.changes()).collect();
        for stream in &mut crowd {
            assert!(stream.poll_next_snapshot(&mut context).is_pending());
        }
    });
    assert!(grown <= SLACK, "{grown} bytes more");
}
