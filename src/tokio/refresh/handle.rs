//! What a refresh gives to others.

use std::fmt;
use std::sync::Arc;

use super::signal::{Inbox, RefreshHint, RefreshPush};
use crate::discovery::{SnapshotReader, SourceStatus};

/// Reads the membership that a [`Refresh`](super::Refresh) keeps, and reaches it.
///
/// The refresh goes on as long as somebody can read: this handle, a reader or a stream. When the last of them is gone it
/// ends, at the latest when it would ask again.
pub struct Refreshed<K, B, E> {
    reader: SnapshotReader<K, B>,
    inbox: Arc<Inbox<K, B>>,
    status: SourceStatus<E>,
}

impl<K, B, E> Refreshed<K, B, E> {
    pub(super) fn new(
        reader: SnapshotReader<K, B>,
        inbox: Arc<Inbox<K, B>>,
        status: SourceStatus<E>,
    ) -> Self {
        Self { reader, inbox, status }
    }

    /// Returns the reader, of which a clone is what a balancer discovers by.
    #[must_use]
    pub fn reader(&self) -> &SnapshotReader<K, B> {
        &self.reader
    }

    /// Returns a handle that makes the source be asked early.
    #[must_use]
    pub fn hint(&self) -> RefreshHint {
        RefreshHint(Arc::clone(&self.inbox.signal))
    }

    /// Returns a handle that gives a set without being asked.
    #[must_use]
    pub fn pusher(&self) -> RefreshPush<K, B> {
        RefreshPush(Arc::clone(&self.inbox))
    }

    /// Returns a handle that shows how the source does.
    #[must_use]
    pub fn status(&self) -> &SourceStatus<E> {
        &self.status
    }
}

impl<K, B, E> Clone for Refreshed<K, B, E> {
    fn clone(&self) -> Self {
        Self::new(self.reader.clone(), Arc::clone(&self.inbox), self.status.clone())
    }
}

impl<K, B, E> fmt::Debug for Refreshed<K, B, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refreshed").field("reader", &self.reader).finish_non_exhaustive()
    }
}
