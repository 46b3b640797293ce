//! A ring from the one before.

use twox_hash::XxHash64;

use super::table::{Points, RingTable};
use crate::core::policy::identity::{Identity, paired};

/// Nobody's rank: a member that is no longer there.
const GONE: u32 = u32::MAX;

/// Lays the first `counts` points of each member around a ring. What `previous` has of them is taken from there, so only
/// points that are new are hashed and sorted.
///
/// Points that meet are in the order of `members`, which is the order of hashes, so it is the same in both rings.
pub(super) fn merge(members: &[Identity], counts: &[u32], previous: Option<&RingTable>) -> Points {
    let mut changes = Changes::between(members, counts, previous);
    let mut points = Points::with_capacity(counts.iter().map(|count| *count as usize).sum());
    let push = |points: &mut Points, (hash, rank): Point| points.push(hash, members[rank as usize].slot);
    for (hash, owner) in previous.into_iter().flat_map(RingTable::iter) {
        let point = (hash, changes.ranks[owner as usize]);
        if point.1 == GONE || changes.removed.next_if_eq(&point).is_some() {
            continue;
        }
        while let Some(added) = changes.added.next_if(|added| *added < point) {
            push(&mut points, added);
        }
        push(&mut points, point);
    }
    changes.added.for_each(|added| push(&mut points, added));
    points
}

/// A hash, and the rank of its owner in the order of identities.
type Point = (u64, u32);
type Sorted = std::iter::Peekable<std::vec::IntoIter<Point>>;

/// What distinguishes two rings.
struct Changes {
    /// The new rank of each slot of the old ring.
    ranks: Vec<u32>,
    added: Sorted,
    /// What those lose that stay.
    removed: Sorted,
}

impl Changes {
    fn between(members: &[Identity], counts: &[u32], previous: Option<&RingTable>) -> Self {
        let before = previous.map_or(&[][..], |previous| previous.members());
        let mut ranks = vec![GONE; before.len()];
        let (mut added, mut removed) = (Vec::new(), Vec::new());
        let now = paired(members, before).zip(counts);
        for (rank, ((identity, old), has)) in (0u32..).zip(now) {
            let had = old.map_or(0, |old| previous.map_or(0, |ring| ring.points_of(old.slot)));
            if let Some(rank_of_old) = old.and_then(|old| ranks.get_mut(old.slot as usize)) {
                *rank_of_old = rank;
            }
            added.extend((had..*has).map(|nth| (point(identity, nth), rank)));
            removed.extend((*has..had).map(|nth| (point(identity, nth), rank)));
        }
        Self { ranks, added: sorted(added), removed: sorted(removed) }
    }
}

fn sorted(mut points: Vec<Point>) -> Sorted {
    points.sort_unstable();
    points.into_iter().peekable()
}

/// Where the `nth` point of a member lies.
fn point(identity: &Identity, nth: u32) -> u64 {
    let mut bytes = [0; 12];
    bytes[..8].copy_from_slice(&identity.hashes[1].to_le_bytes());
    bytes[8..].copy_from_slice(&nth.to_le_bytes());
    XxHash64::oneshot(identity.hashes[0], &bytes)
}
