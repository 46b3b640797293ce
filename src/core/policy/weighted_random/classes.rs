//! Members sorted by the power of two of their weights.

use crate::core::rng::upper;
use crate::core::{Candidate, Eligibility, Exclusions, PickError, Rng, Table, View};

/// Holds the classes of one membership, the heaviest first.
#[derive(Debug)]
pub(super) struct Classes {
    all: Box<[Class]>,
    /// The class of each slot, and its slot there.
    homes: Box<[(u32, u32)]>,
}

/// Holds the members whose weights have the same highest bit.
#[derive(Debug)]
struct Class {
    largest: u32,
    /// Slots of the membership and their weights, by the slot of the class.
    members: Box<[(u32, u32)]>,
    eligibility: Eligibility,
}

/// How many powers of two there are among weights.
const CLASSES: usize = 32;

/// How many draws are made: each is accepted with a chance of a half at least, so not all of them are in vain.
const DRAWS: u32 = 64;

impl Classes {
    pub(super) fn new<C: Candidate>(view: &View<'_, C>) -> Result<Self, PickError> {
        let mut classes: [Vec<(u32, u32)>; CLASSES] = std::array::from_fn(|_| Vec::new());
        for (index, slot) in (0..view.len()).zip(0u32..) {
            let candidate = view.candidate(index).ok_or(PickError::InconsistentTopology)?;
            let weight = candidate.weight().value();
            classes[weight.leading_zeros() as usize].push((slot, weight));
        }
        let mut homes = vec![(0, 0); view.len()].into_boxed_slice();
        let mut all = Vec::new();
        for members in classes.into_iter().filter(|members| !members.is_empty()) {
            let class = u32::try_from(all.len()).unwrap_or(u32::MAX);
            for (local, (slot, _)) in (0u32..).zip(&members) {
                homes[*slot as usize] = (class, local);
            }
            all.push(Class::new(view, members));
        }
        Ok(Self { all: all.into(), homes })
    }

    /// Draws the slot of one of the members that are believed to be eligible, or of all members when hints are no use, by
    /// weight; nobody when there are none.
    #[inline]
    pub(super) fn draw(&self, rng: &Rng, everybody: bool) -> Option<usize> {
        for _ in 0..DRAWS {
            let (class, count) = self.draw_class(rng, everybody)?;
            if let Some(slot) = class.draw(rng, count) {
                return Some(slot);
            }
        }
        None
    }

    /// Draws a class, and says how many members of it are in play.
    #[inline]
    fn draw_class(&self, rng: &Rng, everybody: bool) -> Option<(&Class, usize)> {
        if let [only] = &*self.all {
            return Some((only, only.count(everybody))).filter(|(_, count)| *count > 0);
        }
        // No sum of so many weights as there are slots overflows: both are below 2^32.
        let total: u64 = self.all.iter().map(|class| class.mass(class.count(everybody))).sum();
        let drawn = rng.below_wide(total);
        // Adding up is faster than stopping at the right class, which no branch predictor foresees.
        let (mut at, mut up_to) = (0, 0);
        for class in &self.all {
            up_to += class.mass(class.count(everybody));
            at += usize::from(up_to <= drawn);
        }
        let class = self.all.get(at)?;
        Some((class, class.count(everybody))).filter(|(_, count)| *count > 0)
    }
}

impl Class {
    fn new<C: Candidate>(view: &View<'_, C>, members: Vec<(u32, u32)>) -> Self {
        let slow = |slot: u32| view.exclusions_at(slot as usize).only(Exclusions::SLOW);
        let eligibility = Eligibility::new(members.len(), |local| slow(members[local].0).is_empty());
        let largest = members.iter().map(|(_, weight)| *weight).max().unwrap_or(1);
        Self { largest, members: members.into(), eligibility }
    }

    #[inline]
    fn count(&self, everybody: bool) -> usize {
        if everybody { self.members.len() } else { self.eligibility.count() }
    }

    #[inline]
    fn mass(&self, count: usize) -> u64 {
        count as u64 * u64::from(self.largest)
    }

    /// Draws a member, and accepts it by its part of the largest weight.
    #[inline]
    fn draw(&self, rng: &Rng, count: usize) -> Option<usize> {
        // The member and its lot come from one draw, the lot from what the first left over: those draws that take a member
        // and a lot below its weight are one interval, whose length is right to within two in 2^64.
        let (place, rest) = rng.below_with_rest(count);
        let (slot, weight) = self.members[self.eligibility.nth(place)];
        Some(slot as usize).filter(|_| upper(rest, u64::from(self.largest)) < u64::from(weight))
    }
}

impl Table for Classes {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        if let Some((class, local)) = self.homes.get(slot).copied() {
            self.all[class as usize].eligibility.set(local as usize, eligible);
        }
    }
}
