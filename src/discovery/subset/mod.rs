//! Which part of a large membership one client connects to.
//!
//! A thousand clients of ten thousand members would hold ten million connections. A client that keeps to a *subset* of
//! twenty holds twenty, and what matters is who gets which: every member as many clients as any other, and few
//! connections that move when the membership changes. A [`Subset`] scheme settles that without anybody being asked: a
//! pure function of the client and the members, whatever their order, that is the same in every process.
//!
//! | scheme | a client is | connections of a member | one member joins or goes |
//! |---|---|---|---|
//! | [`RendezvousSubset`] | a name | as if drawn at random | `k/n` of the subsets exchange one member |
//! | [`LotSubset`] | a number: `0, 1, 2 …` | nearly even | at most about `(k + 32)/n` exchange one |
//!
//! Both are for subsets of `k` among `n` members. Where clients have numbers without large gaps, as replicas of a
//! deployment do, lots are worth it, the more so the fewer connections each member has; otherwise it is rendezvous.
//!
//! 1. **Members that drain cost no place.** A scheme goes through the members in the order of the client until it has `k`
//!    that do not drain, and takes those in that drain on its way. So a client keeps who drains until it is gone, and has
//!    somebody in its place from the start.
//! 2. **Nothing else counts.** Health, readiness and [`Unavailable`](crate::core::Status::Unavailable) come and go, and
//!    moving connections for them would help nobody; weights, priorities and localities are for the picks among the
//!    subset.
//! 3. **A subset is a state like any other.** [`Snapshot::subset`](super::Snapshot::subset) keeps revision, order and
//!    allocations, so all that is said of snapshots holds for it: services, load and health stay.
//!
//! # From snapshots to subsets
//!
//! What takes a [`SnapshotReader`](super::SnapshotReader) takes that of a [`subset_channel`] as well. Streams need no
//! more than a `map`:
//!
//! ```
//! use futures_util::{FutureExt, StreamExt};
//! use poise::core::Backend;
//! use poise::discovery::Directory;
//! use poise::discovery::subset::RendezvousSubset;
//!
//! let mut directory = Directory::new();
//! let scheme = RendezvousSubset::new("client-7", 2)?;
//! let mut subsets = directory.reader().subscribe().map(|snapshot| snapshot.subset(&scheme));
//!
//! let resolved = ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"].map(|address| (address, Backend::new(address)));
//! directory.replace(resolved, Backend::is_same_endpoint)?;
//! let subset = subsets.next().now_or_never().flatten();
//! assert_eq!(subset.map(|subset| subset.len()), Some(2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod filter;
mod lots;
mod rendezvous;
mod ring;
mod scheme;

pub use self::error::SubsetError;
pub use self::filter::subset_channel;
pub use self::lots::LotSubset;
pub use self::rendezvous::RendezvousSubset;
pub use self::scheme::{Contender, Subset};
