//! Snapshots whose content tells their revision, and streams of them.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use poise::core::Attributes;
use poise::discovery::{Discovered, Revision, Snapshot, SnapshotStream};

pub(crate) type Stream = SnapshotStream<&'static str, u64>;

pub(crate) fn at(revision: u64) -> Snapshot<&'static str, u64> {
    let member = Discovered::new("a", Arc::new(revision), Attributes::default());
    Snapshot::new(Revision::new(revision), [member]).unwrap()
}

pub(crate) fn poll(stream: &mut Stream, waker: &Waker) -> Poll<Option<u64>> {
    let polled = stream.poll_next_snapshot(&mut Context::from_waker(waker));
    polled.map(|next| next.map(|snapshot| snapshot.revision().value()))
}

pub(crate) fn poll_once(stream: &mut Stream) -> Poll<Option<u64>> {
    poll(stream, Waker::noop())
}
