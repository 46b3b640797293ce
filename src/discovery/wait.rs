//! Waiting for snapshots.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::{Revision, Snapshot, SnapshotReader, SnapshotStream};

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
/// use futures_util::FutureExt;
/// use poise::core::Backend;
/// use poise::discovery::{Directory, next_snapshot};
///
/// let mut directory = Directory::new();
/// let mut changes = directory.reader().changes();
/// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
/// let next = next_snapshot(&mut changes).now_or_never().expect("there is one already");
/// assert_eq!(next.map(|snapshot| snapshot.len()), Some(1));
///
/// assert!(next_snapshot(&mut changes).now_or_never().is_none(), "it would have to wait");
/// drop(directory);
/// assert!(next_snapshot(&mut changes).now_or_never().expect("it has ended").is_none());
/// # Ok::<(), poise::discovery::DirectoryError>(())
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
/// use futures_util::FutureExt;
/// use poise::core::Backend;
/// use poise::discovery::{Directory, Revision, wait_for_revision};
///
/// let mut directory = Directory::new();
/// let reader = directory.reader();
/// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
/// let reached = wait_for_revision(&reader, Revision::new(1)).now_or_never().expect("it is there already")?;
/// assert_eq!(reached.len(), 1);
///
/// drop(directory);
/// let ended = wait_for_revision(&reader, Revision::new(2)).now_or_never().expect("nothing more comes");
/// assert_eq!(ended.unwrap_err().to_string(), "the publisher ended at revision 1, before revision 2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
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
