//! From snapshots to those of subsets.

use std::future::poll_fn;
use std::hash::Hash;

use super::{Contender, Subset};
use crate::discovery::{
    Discovered, Snapshot, SnapshotPublisher, SnapshotReader, SnapshotStream, snapshot_channel,
};

impl<K: Eq + Hash, B> Snapshot<K, B> {
    /// Returns the state of those members that `scheme` chooses.
    ///
    /// The revision stays, and so do the order of the members, their keys, attributes and allocations. Where everybody is
    /// chosen it is the same state.
    ///
    /// # Complexity
    ///
    /// That of the scheme, and O(n).
    ///
    /// # Examples
    ///
    /// ```
    /// use poise::core::Backend;
    /// use poise::discovery::Directory;
    /// use poise::discovery::subset::RendezvousSubset;
    ///
    /// let mut directory = Directory::new();
    /// let resolved = ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"].map(|address| (address, Backend::new(address)));
    /// directory.replace(resolved, Backend::is_same_endpoint)?;
    ///
    /// let all = directory.reader().load();
    /// let subset = all.subset(&RendezvousSubset::new("client-7", 2)?);
    /// assert_eq!(subset.len(), 2);
    /// assert_eq!(subset.revision(), all.revision());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn subset<S: Subset + ?Sized>(&self, scheme: &S) -> Self {
        let contenders: Vec<_> = self.iter().map(contender).collect();
        let mut inside = vec![false; contenders.len()];
        for position in scheme.choose(&contenders) {
            if let Some(place) = inside.get_mut(position) {
                *place = true;
            }
        }
        if inside.iter().all(|inside| *inside) {
            return self.clone();
        }
        let members = self.iter().zip(inside).filter(|(_, inside)| *inside);
        self.with_members(members.map(|(member, _)| member.clone()))
    }
}

fn contender<K: Hash, B>(member: &Discovered<K, B>) -> Contender {
    let contender = Contender::new(member.key());
    if member.is_draining() { contender.draining() } else { contender }
}

/// Makes a reader of the subsets of what `source` reads, and the future that keeps it up to date.
///
/// The reader sees the subset of the current snapshot at once, and the others as the future is polled: spawn it, or drive
/// it beside other work. It needs no runtime.
///
/// The future ends when the publisher of `source` is gone and its last state is passed on. When it ends or is dropped, the
/// reader is [closed](SnapshotReader::is_closed): it keeps its last state, and streams end. It does not notice that
/// nobody reads any more; drop it then.
///
/// # Cancel safety
///
/// A snapshot is passed on within one poll, so whenever the future is dropped, the reader is at a state of the source.
///
/// # Examples
///
/// ```
/// use futures_util::FutureExt;
/// use poise::core::Backend;
/// use poise::discovery::Directory;
/// use poise::discovery::subset::{RendezvousSubset, subset_channel};
/// use std::pin::pin;
///
/// let mut directory = Directory::new();
/// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
/// let (reader, passing_on) = subset_channel(&directory.reader(), RendezvousSubset::new("client-7", 2)?);
/// assert_eq!(reader.load().len(), 1);
///
/// let mut passing_on = pin!(passing_on);
/// directory.upsert("b", Backend::new("10.0.0.2:80"))?;
/// directory.upsert("c", Backend::new("10.0.0.3:80"))?;
/// assert!(passing_on.as_mut().now_or_never().is_none(), "it goes on as long as the directory is there");
/// assert_eq!(reader.load().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn subset_channel<K, B, S>(
    source: &SnapshotReader<K, B>,
    scheme: S,
) -> (SnapshotReader<K, B>, impl Future<Output = ()> + use<K, B, S>)
where
    K: Eq + Hash,
    S: Subset,
{
    let current = source.subscribe();
    let (publisher, reader) = snapshot_channel(source.load().subset(&scheme));
    (reader, pass_on(current, scheme, publisher))
}

async fn pass_on<K, B, S>(mut source: SnapshotStream<K, B>, scheme: S, mut publisher: SnapshotPublisher<K, B>)
where
    K: Eq + Hash,
    S: Subset,
{
    while let Some(snapshot) = poll_fn(|cx| source.poll_next_snapshot(cx)).await {
        // The first one may be what the channel began with; there is no other that is not newer.
        if snapshot.revision() > publisher.latest().revision() {
            publisher.advance(snapshot.subset(&scheme));
        }
    }
}
