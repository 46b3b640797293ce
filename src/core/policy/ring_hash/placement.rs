//! Where the points of members lie.

use std::fmt;
use std::fmt::Display;
use std::hash::Hash;

use super::budget::Budget;
use super::merge::merge;
use super::table::{Points, RingTable};
use crate::core::policy::identity::{ByIdentity, ByName, Identity, Naming, Text};
use crate::core::{Candidate, PickError, View};

/// Points, and how many a unit of weight stands for if that was up to the policy.
type Placed = (Points, Option<f64>);

/// Lays the points of members around a ring.
pub trait Placement<C>: Naming<C> {
    /// Returns the points of `members`, which are those of `view` in the order of their hashes. `previous` is a ring that
    /// the same placement made.
    fn place(
        &self,
        view: &View<'_, C>,
        members: &[Identity],
        budget: Budget,
        previous: Option<&RingTable>,
    ) -> Result<Placed, PickError>;
}

impl<C: Candidate<Id: Hash>> Placement<C> for ByIdentity {
    fn place(
        &self,
        _: &View<'_, C>,
        members: &[Identity],
        budget: Budget,
        previous: Option<&RingTable>,
    ) -> Result<Placed, PickError> {
        let weights: Vec<u32> = members.iter().map(|member| member.weight).collect();
        let (scale, counts) = budget.points(&weights)?;
        // Another placement has reported no scale, and its points are not those of this one.
        let previous = previous.filter(|previous| previous.report().points_per_weight.is_some());
        Ok((merge(members, &counts, previous), Some(scale)))
    }
}

/// Places members as Envoy's `ring_hash` does.
#[derive(Clone, Copy, Debug)]
pub struct EnvoyRing {
    pub(super) min: u32,
    pub(super) max: u32,
}

impl<C: Candidate<Id: Display>> Naming<C> for EnvoyRing {
    fn hash(&self, candidate: &C) -> u64 {
        ByName.hash(candidate)
    }

    fn hash_again(&self, candidate: &C) -> u64 {
        ByName.hash_again(candidate)
    }

    fn hashes(&self, candidate: &C) -> [u64; 2] {
        ByName.hashes(candidate)
    }
}

impl<C: Candidate<Id: Display>> Placement<C> for EnvoyRing {
    /// Follows Envoy's arithmetic to the last bit: running sums in floating point, in the order of the list.
    fn place(
        &self,
        view: &View<'_, C>,
        members: &[Identity],
        _: Budget,
        _: Option<&RingTable>,
    ) -> Result<Placed, PickError> {
        if members.len() > self.max as usize {
            return Err(PickError::CapacityExceeded { candidates: members.len(), places: self.max as usize });
        }
        let total: f64 = members.iter().map(|member| f64::from(member.weight)).sum();
        let least = members.iter().map(|member| f64::from(member.weight) / total).fold(1.0, f64::min);
        let scale = ((least * f64::from(self.min)).ceil() / least).min(f64::from(self.max));
        let mut points = Vec::new();
        let (mut placed, mut target) = (0.0, 0.0);
        for (index, slot) in (0..view.len()).zip(0u32..) {
            let candidate = view.candidate(index).ok_or(PickError::InconsistentTopology)?;
            let name = Text::of(0, candidate.id()).with("_");
            target += scale * (f64::from(candidate.weight().value()) / total);
            let mut nth = 0u32;
            while placed < target {
                points.push((name.clone().with(&nth).finish(), slot, slot));
                placed += 1.0;
                nth += 1;
            }
        }
        Ok((in_order(points), None))
    }
}

/// Tells a function that lays out the points of one member what the membership is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingMembers {
    /// The number of members.
    pub count: usize,
    /// The sum of their weights.
    pub weight: u64,
}

/// Places members at the points that a function of the user returns.
#[derive(Clone, Copy)]
pub struct PointsBy<F>(pub(super) F);

impl<C: Candidate<Id: Hash>, F> Naming<C> for PointsBy<F> {
    fn hash(&self, candidate: &C) -> u64 {
        ByIdentity.hash(candidate)
    }

    fn hash_again(&self, candidate: &C) -> u64 {
        ByIdentity.hash_again(candidate)
    }

    fn hashes(&self, candidate: &C) -> [u64; 2] {
        ByIdentity.hashes(candidate)
    }
}

impl<C, F> Placement<C> for PointsBy<F>
where
    C: Candidate<Id: Hash>,
    F: Fn(&C, &RingMembers, &mut Vec<u64>),
{
    fn place(
        &self,
        view: &View<'_, C>,
        members: &[Identity],
        budget: Budget,
        _: Option<&RingTable>,
    ) -> Result<Placed, PickError> {
        let weight = members.iter().map(|member| u64::from(member.weight)).sum();
        let all = RingMembers { count: members.len(), weight };
        let (mut points, mut of_member) = (Vec::new(), Vec::new());
        for (rank, member) in (0u32..).zip(members) {
            let candidate = view.candidate(member.slot as usize).ok_or(PickError::InconsistentTopology)?;
            of_member.clear();
            (self.0)(candidate, &all, &mut of_member);
            points.extend(of_member.iter().map(|point| (*point, rank, member.slot)));
            if points.len() > budget.max as usize {
                let places = budget.max as usize;
                return Err(PickError::CapacityExceeded { candidates: members.len(), places });
            }
        }
        Ok((in_order(points), None))
    }
}

impl<F> fmt::Debug for PointsBy<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PointsBy").finish_non_exhaustive()
    }
}

/// Sorts points, given with the rank and the slot of their owner.
fn in_order(mut points: Vec<(u64, u32, u32)>) -> Points {
    points.sort_unstable();
    let mut sorted = Points::with_capacity(points.len());
    for (hash, _, slot) in points {
        sorted.push(hash, slot);
    }
    sorted
}
