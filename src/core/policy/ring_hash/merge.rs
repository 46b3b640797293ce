//! A ring from the one before.

use twox_hash::XxHash64;

use super::edits::{Edit, Edits};
use super::table::{Points, RingTable};
use crate::core::policy::identity::{Identity, paired};

/// Nobody's rank: a member that is no longer there.
const GONE: u32 = u32::MAX;

/// A ring of which more than one in this many points are new is laid out at once.
const FEW: usize = 8;

/// Below one edit for so many points, to derive from the ring before is faster than to derive from the points.
const SPARSE: usize = 1_024;

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
        plan.removed.dedup();
        plan
    }

    /// Copies what stays, run by run.
    fn carry_out(self, members: &[Identity], previous: &RingTable, points: &mut Points) {
        let slot = |rank: u32| members.get(rank as usize).map_or(GONE, |member| member.slot);
        let slots: Vec<u32> = self.ranks.iter().map(|rank| slot(*rank)).collect();
        let origins = origins(&slots, members.len());
        let edits = self.edits(previous, slot);
        let is_sparse = edits.len() <= previous.len() / SPARSE;
        // Where lists of entries are derived, the owners of those few that have another slot now are corrected by them.
        let slots = Some(&slots[..]).filter(|_| !is_sparse || renumbered(&origins) > members.len() / FEW);
        let mut from = 0;
        for Edit { entry, hash, added } in edits.iter() {
            points.copy(previous, from..entry as usize, slots);
            if let Some(slot) = added {
                points.push(hash, slot);
            }
            from = entry as usize + usize::from(added.is_none());
        }
        points.copy(previous, from..previous.len(), slots);
        if is_sparse {
            points.derive(previous, &edits, &origins);
        }
    }

    fn edits(&self, previous: &RingTable, slot: impl Fn(u32) -> u32) -> Edits {
        let place = |point| u32::try_from(previous.place_of(point, &self.ranks)).unwrap_or(u32::MAX);
        let add = |point: &Point| Edit { entry: place(*point), hash: point.0, added: Some(slot(point.1)) };
        let remove = |entry: &u32| Edit { entry: *entry, hash: previous.hash_of(*entry), added: None };
        Edits::new(
            self.added.iter().map(add).chain(self.removed.iter().map(remove)).collect(),
            previous.len(),
        )
    }
}

/// Counts the slots whose owners had another one before.
fn renumbered(origins: &[u32]) -> usize {
    (0..).zip(origins).filter(|(slot, origin)| slot != *origin).count()
}

/// Inverts which new slot each old one became.
fn origins(slots: &[u32], members: usize) -> Vec<u32> {
    let mut origins = vec![GONE; members];
    for (old, slot) in (0..).zip(slots) {
        if let Some(origin) = origins.get_mut(*slot as usize) {
            *origin = old;
        }
    }
    origins
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
