//! Waiting for snapshots.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::discovery::{Revision, Snapshot, SnapshotReader, SnapshotStream};

/// Waits for the next snapshot of a stream: the newest that it has not yielded, or nothing when the publisher is gone and
/// the last one was seen.
///
/// The future borrows the stream and allocates nothing, however often it is made and polled.
///
/// # Cancel safety
///
/// Until it is ready it has taken nothing from the stream.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use poise::core::Backend;
/// use poise::discovery::Directory;
/// use poise::tokio::next_snapshot;
///
/// let mut directory = Directory::new();
/// let mut changes = directory.reader().changes();
/// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
/// assert_eq!(next_snapshot(&mut changes).await.map(|snapshot| snapshot.len()), Some(1));
///
/// drop(directory);
/// assert!(next_snapshot(&mut changes).await.is_none());
/// # Ok(())
/// # }
/// ```
pub fn next_snapshot<K, B>(stream: &mut SnapshotStream<K, B>) -> NextSnapshot<'_, K, B> {
    NextSnapshot { stream }
}

/// Waits for the next snapshot of a stream; [`next_snapshot`] makes it.
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct NextSnapshot<'a, K, B> {
    stream: &'a mut SnapshotStream<K, B>,
}

impl<K, B> Future for NextSnapshot<'_, K, B> {
    type Output = Option<Snapshot<K, B>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.get_mut().stream.poll_next_snapshot(context)
    }
}

/// Waits until `reader` sees `revision` or a newer one, and returns that snapshot; at once when it does already.
///
/// No publication between the look and the wait is missed, and nothing is left behind when it ends.
///
/// # Errors
///
/// [`RevisionUnreachable`] when the publisher has gone before it got there.
///
/// # Cancel safety
///
/// The future takes nothing from anybody, so that it can be dropped at any time.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use poise::core::Backend;
/// use poise::discovery::{Directory, Revision};
/// use poise::tokio::wait_for_revision;
///
/// let mut directory = Directory::new();
/// let reader = directory.reader();
/// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
/// assert_eq!(wait_for_revision(&reader, Revision::new(1)).await?.len(), 1);
///
/// drop(directory);
/// let error = wait_for_revision(&reader, Revision::new(2)).await.unwrap_err();
/// assert_eq!(error.to_string(), "the publisher ended at revision 1, before revision 2");
/// # Ok(())
/// # }
/// ```
pub async fn wait_for_revision<K, B>(
    reader: &SnapshotReader<K, B>,
    revision: Revision,
) -> Result<Snapshot<K, B>, RevisionUnreachable> {
    let mut last = reader.load();
    if last.revision() >= revision {
        return Ok(last);
    }
    // It yields the current snapshot first, which may be newer than the one just seen.
    let mut stream = reader.subscribe();
    while let Some(next) = next_snapshot(&mut stream).await {
        if next.revision() >= revision {
            return Ok(next);
        }
        last = next;
    }
    Err(RevisionUnreachable { last: last.revision(), wanted: revision })
}

/// Reports that a publisher has gone before it published a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevisionUnreachable {
    last: Revision,
    wanted: Revision,
}

impl RevisionUnreachable {
    /// Returns the last revision of the publisher.
    #[must_use]
    pub fn last(&self) -> Revision {
        self.last
    }

    /// Returns the revision that was waited for.
    #[must_use]
    pub fn wanted(&self) -> Revision {
        self.wanted
    }
}

impl fmt::Display for RevisionUnreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the publisher ended at revision {}, before revision {}", self.last, self.wanted)
    }
}

impl Error for RevisionUnreachable {}
