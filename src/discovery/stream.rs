//! Snapshots as they come.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::stream::Stream;

use super::channel::Shared;
use super::{Revision, Snapshot};
use crate::sync::Arc;
use crate::sync::wakers::WakerKey;

/// Yields snapshots of growing revisions, always the newest.
///
/// Each stream has its own cursor and its own waker. Snapshots are states and no events: whoever polls rarely skips
/// those between, and nothing is kept for it. After the publisher is gone the stream still yields the last state if it
/// has not done so, and then ends.
///
/// It knows no runtime; [`SnapshotReader::subscribe`](super::SnapshotReader::subscribe) and
/// [`changes`](super::SnapshotReader::changes) make it. Dropping it frees its waker at once.
///
/// # Cancel safety
///
/// A poll that is pending has taken nothing, so a future over the next item can be dropped at any time.
///
/// # Examples
///
/// ```
/// use futures_util::{FutureExt, StreamExt};
/// use poise::core::Backend;
/// use poise::discovery::Directory;
///
/// let mut directory = Directory::new();
/// let mut changes = directory.reader().changes();
/// assert!(changes.next().now_or_never().is_none());
///
/// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
/// directory.upsert("b", Backend::new("10.0.0.2:80"))?;
/// drop(directory);
/// let last = changes.next().now_or_never().flatten();
/// assert_eq!(last.map(|snapshot| snapshot.len()), Some(2));
/// assert!(changes.next().now_or_never().flatten().is_none());
/// # Ok::<(), poise::discovery::DirectoryError>(())
/// ```
#[must_use = "streams do nothing unless polled"]
pub struct SnapshotStream<K, B> {
    shared: Arc<Shared<K, B>>,
    seen: Option<Revision>,
    waker: WakerKey,
}

impl<K, B> SnapshotStream<K, B> {
    pub(super) fn new(shared: Arc<Shared<K, B>>, seen: Option<Revision>) -> Self {
        Self { shared, seen, waker: WakerKey::default() }
    }

    /// Returns the newest snapshot if the stream has not yielded it, nothing at the end, and else has the task woken
    /// when there is a newer one.
    ///
    /// # Cancel safety
    ///
    /// A pending poll has taken nothing.
    pub fn poll_next_snapshot(&mut self, cx: &mut Context<'_>) -> Poll<Option<Snapshot<K, B>>> {
        if let Poll::Ready(next) = self.look() {
            return Poll::Ready(next);
        }
        // What is published before this is seen by the second look; what is published after it wakes.
        self.shared.wakers.register(&mut self.waker, cx.waker());
        self.look()
    }

    fn look(&mut self) -> Poll<Option<Snapshot<K, B>>> {
        // The end is read before the state: if it has come, the state is the last one.
        let closed = self.shared.is_closed();
        if let Some(next) = self.newer() {
            self.seen = Some(next.revision());
            return Poll::Ready(Some(next));
        }
        if closed {
            self.shared.wakers.remove(&mut self.waker);
            return Poll::Ready(None);
        }
        Poll::Pending
    }

    fn newer(&self) -> Option<Snapshot<K, B>> {
        let current = self.shared.current.load();
        let is_newer = self.seen.is_none_or(|seen| seen < current.revision());
        is_newer.then(|| Snapshot::clone(&current))
    }
}

impl<K, B> Stream for SnapshotStream<K, B> {
    type Item = Snapshot<K, B>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_next_snapshot(cx)
    }
}

impl<K, B> Drop for SnapshotStream<K, B> {
    fn drop(&mut self) {
        self.shared.wakers.remove(&mut self.waker);
    }
}

impl<K, B> fmt::Debug for SnapshotStream<K, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotStream").field("seen", &self.seen).finish_non_exhaustive()
    }
}
