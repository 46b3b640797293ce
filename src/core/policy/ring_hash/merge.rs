//! A ring from the one before.

use twox_hash::XxHash64;

use super::table::{Points, RingTable};
use crate::core::policy::identity::{Identity, paired};

/// Nobody's rank: a member that is no longer there.
const GONE: u32 = u32::MAX;

/// A ring of which more than one in this many points are new is laid out at once.
const FEW: usize = 8;

/// Lays the first `counts` points of each member around a ring. What `previous` has of them is taken from there, so only
/// points that are new are hashed and sorted.
///
/// Points that meet are in the order of `members`, which is the order of hashes, so it is the same in both rings.
pub(super) fn merge(members: &[Identity], counts: &[u32], previous: Option<&RingTable>) -> Points {
    let total = counts.iter().map(|count| *count as usize).sum();
    let mut points = Points::with_capacity(total);
    if let Some(previous) = previous {
        let plan = Plan::between(members, counts, previous);
        if plan.added.len() <= total / FEW {
            plan.carry_out(members, previous, &mut points);
            return points;
        }
    }
    let of = |((rank, member), count): ((u32, &Identity), &u32)| points_of(*member, rank, 0..*count);
    let mut all: Vec<Point> = (0..).zip(members).zip(counts).flat_map(of).collect();
    all.sort_unstable();
    for (hash, rank) in all {
        points.push(hash, members[rank as usize].slot);
    }
    points
}

/// A hash, and the rank of its owner in the order of identities.
type Point = (u64, u32);

/// What distinguishes two rings.
struct Plan {
    /// The new rank of each slot of the old ring.
    ranks: Vec<u32>,
    added: Vec<Point>,
    /// Entries of the old ring.
    removed: Vec<u32>,
}

impl Plan {
    fn between(members: &[Identity], counts: &[u32], previous: &RingTable) -> Self {
        let mut plan =
            Self { ranks: vec![GONE; previous.members().len()], added: Vec::new(), removed: Vec::new() };
        for (rank, ((member, old), has)) in (0u32..).zip(paired(members, previous.members()).zip(counts)) {
            let had = old.map_or(0, |old| {
                plan.ranks[old.slot as usize] = rank;
                previous.count_of(old.slot)
            });
            plan.added.extend(points_of(*member, rank, had..*has));
            let lost = old.into_iter().flat_map(|old| points_of(*member, old.slot, *has..had));
            plan.removed.extend(lost.filter_map(|(hash, slot)| previous.entry_at(slot, hash)));
        }
        for old in previous.members().iter().filter(|old| plan.ranks[old.slot as usize] == GONE) {
            plan.removed.extend(previous.entries_of(old.slot));
        }
        plan.added.sort_unstable();
        plan.removed.sort_unstable();
        plan
    }

    /// Copies what stays, run by run.
    fn carry_out(self, members: &[Identity], previous: &RingTable, points: &mut Points) {
        let slot = |rank: u32| members.get(rank as usize).map_or(GONE, |member| member.slot);
        let slots: Vec<u32> = self.ranks.iter().map(|rank| slot(*rank)).collect();
        let removed = self.removed.into_iter().map(|entry| (entry as usize, None));
        let place = |point: Point| (previous.place_of(point, &self.ranks), Some(point));
        let mut edits: Vec<_> = self.added.into_iter().map(place).chain(removed).collect();
        // At one entry, what is added goes before what is removed. Stable, so that what is added stays in order.
        edits.sort_by_key(|(entry, added)| (*entry, added.is_none()));
        let mut from = 0;
        for (entry, added) in edits {
            points.copy(previous, from..entry, &slots);
            if let Some((hash, rank)) = added {
                points.push(hash, slot(rank));
            }
            from = entry + usize::from(added.is_none());
        }
        points.copy(previous, from..previous.len(), &slots);
    }
}

/// Lists where some points of a member lie, each with `mark`.
fn points_of(member: Identity, mark: u32, which: std::ops::Range<u32>) -> impl Iterator<Item = Point> {
    which.map(move |nth| {
        let mut bytes = [0; 12];
        bytes[..8].copy_from_slice(&member.hashes[1].to_le_bytes());
        bytes[8..].copy_from_slice(&nth.to_le_bytes());
        (XxHash64::oneshot(member.hashes[0], &bytes), mark)
    })
}
