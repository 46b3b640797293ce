//! Membership: who is there, in which revision.
//!
//! A [`Directory`] has one writer and publishes immutable [`Snapshot`]s. Any number of [`SnapshotReader`]s load the
//! current one without waiting, or follow it as a [`SnapshotStream`]. Sources that make whole snapshots themselves
//! publish them through a [`snapshot_channel`], and an [`Intake`] takes the answers of a source that may fail. Nothing here
//! needs a runtime.
//!
//! 1. **Publications are states, not events.** Each snapshot is complete and coherent, and revisions only grow. A slow
//!    reader goes from the revision that it saw straight to the newest, and memory does not depend on how slow it is.
//!    When the publisher is gone, its last state is still delivered, and stays.
//! 2. **A batch happens or does not.** [`Directory::apply`] and [`Directory::replace`] make one revision of all their
//!    changes, and an error leaves everything as it was. What has no effect makes no revision.
//! 3. **Revision and generation are different things.** The *revision* counts the states of a membership. The
//!    *generation* of a member is the allocation of its backend: as long as it stays, so do the service, its
//!    connections, load and health, whatever the revision or the attributes say; a new allocation starts anew.
//!    [`Directory::amend`] keeps the allocation, [`Directory::upsert`] never does, and [`Directory::replace`] keeps
//!    those of endpoints that are the same.
//! 4. **Who leaves drains first.** [`Directory::remove`] makes a member
//!    [`Draining`](crate::core::Status::Draining): it is still in the snapshot, finishes what it has and gets nothing
//!    new. When its work is done, [`Directory::finish_drain`] lets go of it.
//! 5. **Not yet known is not empty.** Before the first publication there is [`Revision::ZERO`]. An empty
//!    [`apply`](Directory::apply) or [`replace`](Directory::replace) makes a revision that says: there is nobody.
//!
//! A client that is to connect to a few of many members only takes a [`subset`] of each snapshot.
//!
//! Where members come from: an [`Intake`] takes what a source says, [`drive`] feeds it from a stream, and with the feature
//! `tokio` `poise::tokio::Refresh` asks a source again and again. [`FullSet`] says how the sets of Kubernetes and of xDS map.
//!
//! # Examples
//!
//! ```
//! use poise::core::{Backend, Candidate, Now};
//! use poise::discovery::{Directory, Revision};
//!
//! let mut directory = Directory::new();
//! let reader = directory.reader();
//! assert_eq!(reader.load().revision(), Revision::ZERO);
//!
//! let resolved = ["10.0.0.1:80", "10.0.0.2:80"].map(|address| (address, Backend::new(address)));
//! directory.replace(resolved, Backend::is_same_endpoint)?;
//! assert_eq!(reader.load().len(), 2);
//!
//! directory.replace([("10.0.0.2:80", Backend::new("10.0.0.2:80"))], Backend::is_same_endpoint)?;
//! let snapshot = reader.load();
//! let eligible: Vec<_> = snapshot.iter().filter(|member| member.is_eligible(&Now::lazy())).collect();
//! assert_eq!(eligible.len(), 1, "the first drains");
//! # Ok::<(), poise::discovery::DirectoryError>(())
//! ```

mod change;
mod channel;
mod directory;
mod draft;
mod error;
mod member;
mod replace;
mod revision;
mod snapshot;
mod source;
mod stream;
pub mod subset;
mod wait;

#[cfg(all(test, loom))]
mod models;

pub use self::change::{Applied, Change, Effect};
pub use self::channel::{CachedReader, SnapshotPublisher, SnapshotReader, snapshot_channel};
pub use self::directory::Directory;
pub use self::error::{DirectoryError, DuplicateKey, StaleSnapshot};
pub use self::member::Discovered;
pub use self::revision::Revision;
pub use self::snapshot::Snapshot;
pub use self::source::{
    EmptyAnswer, FullSet, Intake, SourceClock, SourceError, SourcePolicy, SourceReport, SourceStatus, Taken,
    Update, drive,
};
pub use self::stream::SnapshotStream;
pub use self::wait::{NextSnapshot, RevisionUnreachable, next_snapshot, wait_for_revision};
