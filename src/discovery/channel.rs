//! From one publisher to many readers.

use std::fmt;
use std::mem;
use std::ops::Deref;

use super::{Revision, Snapshot, SnapshotStream, StaleSnapshot};
use crate::sync::swap::{ArcSwap, Cache};
use crate::sync::wakers::WakerSet;
use crate::sync::{Arc, AtomicBool, Ordering};

/// Makes a publisher and a reader of snapshots that the caller makes itself.
///
/// This is for sources that number their states: whatever is not newer than `initial` and all that was published since
/// is refused, so that a slow load that ends late cannot undo what came in meanwhile. For all else there is
/// [`Directory`](super::Directory).
///
/// ```
/// use poise::core::Attributes;
/// use poise::discovery::{Discovered, Revision, Snapshot, snapshot_channel};
/// use std::sync::Arc;
///
/// let at = |revision| {
///     let member = Discovered::new("a", Arc::new("10.0.0.1:80"), Attributes::default());
///     Snapshot::new(Revision::new(revision), [member])
/// };
/// let (mut publisher, reader) = snapshot_channel(Snapshot::unknown());
/// publisher.publish(at(5)?)?;
/// assert_eq!(reader.load().revision(), Revision::new(5));
///
/// let refused = publisher.publish(at(4)?).unwrap_err();
/// assert_eq!(refused.to_string(), "revision 4 is not newer than revision 5");
/// assert_eq!(refused.into_snapshot().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn snapshot_channel<K, B>(initial: Snapshot<K, B>) -> (SnapshotPublisher<K, B>, SnapshotReader<K, B>) {
    let shared = Arc::new(Shared {
        current: ArcSwap::from_pointee(initial.clone()),
        closed: AtomicBool::new(false),
        wakers: WakerSet::new(),
    });
    let publisher = SnapshotPublisher { shared, latest: initial };
    let reader = publisher.reader();
    (publisher, reader)
}

pub(super) struct Shared<K, B> {
    pub(super) current: ArcSwap<Snapshot<K, B>>,
    closed: AtomicBool,
    pub(super) wakers: WakerSet,
}

impl<K, B> Shared<K, B> {
    pub(super) fn load(&self) -> Snapshot<K, B> {
        Snapshot::clone(&self.current.load())
    }

    /// Tells whether the current snapshot is the last one.
    pub(super) fn is_closed(&self) -> bool {
        // Acquire: with the end, the last state is seen too.
        self.closed.load(Ordering::Acquire)
    }
}

/// Publishes snapshots of growing revisions.
///
/// There is one publisher of a channel. Dropping it ends the streams of its readers after the last state.
pub struct SnapshotPublisher<K, B> {
    shared: Arc<Shared<K, B>>,
    latest: Snapshot<K, B>,
}

impl<K, B> SnapshotPublisher<K, B> {
    /// Makes `snapshot` the current one and wakes the streams.
    ///
    /// # Errors
    ///
    /// [`StaleSnapshot`] gives the snapshot back when its revision is not newer than the current one.
    ///
    /// # Complexity
    ///
    /// O(s) for s streams that wait.
    pub fn publish(&mut self, snapshot: Snapshot<K, B>) -> Result<(), StaleSnapshot<K, B>> {
        if snapshot.revision() <= self.latest.revision() {
            return Err(StaleSnapshot::new(snapshot, self.latest.revision()));
        }
        self.advance(snapshot);
        Ok(())
    }

    /// Returns the current snapshot.
    #[must_use]
    pub fn latest(&self) -> &Snapshot<K, B> {
        &self.latest
    }

    /// Returns a reader.
    #[must_use]
    pub fn reader(&self) -> SnapshotReader<K, B> {
        SnapshotReader { shared: Arc::clone(&self.shared) }
    }

    /// Tells whether anybody can see what is published: a reader or a stream.
    ///
    /// It may be old by the time it is known, as a reader may go at any time; without one, none comes but from here.
    #[must_use]
    pub fn has_readers(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }

    /// Publishes a snapshot that is known to be newer.
    pub(super) fn advance(&mut self, snapshot: Snapshot<K, B>) {
        // The old state goes last: the destructors of its backends may panic, and keep nobody asleep.
        let _old = mem::replace(&mut self.latest, snapshot.clone());
        let _seen = self.shared.current.swap(Arc::new(snapshot));
        self.shared.wakers.wake_all();
    }
}

impl<K, B> Drop for SnapshotPublisher<K, B> {
    fn drop(&mut self) {
        // Release: whoever sees the end sees the last state.
        self.shared.closed.store(true, Ordering::Release);
        self.shared.wakers.wake_all();
    }
}

impl<K, B> fmt::Debug for SnapshotPublisher<K, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotPublisher").field("latest", &self.latest).finish_non_exhaustive()
    }
}

/// Reads the current snapshot, from any thread and without waiting.
///
/// A clone reads the same channel. Readers outlive the publisher and go on seeing its last state.
pub struct SnapshotReader<K, B> {
    pub(super) shared: Arc<Shared<K, B>>,
}

impl<K, B> SnapshotReader<K, B> {
    /// Returns the current snapshot.
    ///
    /// # Complexity
    ///
    /// O(1) and wait-free: no publication and no other reader delays it. It counts a reference in a place that all
    /// readers share; where that shows, use [`cached`](Self::cached).
    #[must_use]
    pub fn load(&self) -> Snapshot<K, B> {
        self.shared.load()
    }

    /// Returns the current revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.shared.current.load().revision()
    }

    /// Makes a reader that keeps what it saw last, for one task or thread that reads often.
    #[must_use]
    pub fn cached(&self) -> CachedReader<K, B> {
        CachedReader { cache: Cache::new(Current(Arc::clone(&self.shared))) }
    }

    /// Makes a stream that yields the current snapshot first and then each newer one.
    #[must_use = "streams do nothing unless polled"]
    pub fn subscribe(&self) -> SnapshotStream<K, B> {
        SnapshotStream::new(Arc::clone(&self.shared), None)
    }

    /// Makes a stream that yields the snapshots that are newer than the current one.
    #[must_use = "streams do nothing unless polled"]
    pub fn changes(&self) -> SnapshotStream<K, B> {
        SnapshotStream::new(Arc::clone(&self.shared), Some(self.revision()))
    }

    /// Tells whether the publisher is gone, so that the current snapshot is the last one.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }
}

impl<K, B> Clone for SnapshotReader<K, B> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<K, B> fmt::Debug for SnapshotReader<K, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotReader")
            .field("current", &**self.shared.current.load())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

/// Reads the current snapshot at the cost of one load while it stays the same.
///
/// It keeps the snapshot that it saw last alive until it is asked again.
///
/// ```
/// use poise::core::Backend;
/// use poise::discovery::Directory;
///
/// let mut directory = Directory::new();
/// let mut cached = directory.reader().cached();
/// assert!(cached.load().is_empty());
/// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
/// assert_eq!(cached.load().len(), 1);
/// # Ok::<(), poise::discovery::DirectoryError>(())
/// ```
pub struct CachedReader<K, B> {
    cache: Cache<Current<K, B>, Arc<Snapshot<K, B>>>,
}

impl<K, B> CachedReader<K, B> {
    /// Returns the current snapshot.
    pub fn load(&mut self) -> &Snapshot<K, B> {
        self.cache.load()
    }
}

impl<K, B> Clone for CachedReader<K, B> {
    fn clone(&self) -> Self {
        Self { cache: self.cache.clone() }
    }
}

impl<K, B> fmt::Debug for CachedReader<K, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedReader").finish_non_exhaustive()
    }
}

/// Leads a cache to the pointer that it follows.
struct Current<K, B>(Arc<Shared<K, B>>);

impl<K, B> Deref for Current<K, B> {
    type Target = ArcSwap<Snapshot<K, B>>;

    fn deref(&self) -> &Self::Target {
        &self.0.current
    }
}

impl<K, B> Clone for Current<K, B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
