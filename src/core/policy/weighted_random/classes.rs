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

/// Holds a member that was drawn and its lot, below the largest weight of its class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    pub(super) slot: usize,
    weight: u32,
    lot: u64,
}

impl Drawn {
    /// Tells whether its weight is too light for the lot, so that another draw has to be made.
    #[inline]
    pub(super) fn is_light(self) -> bool {
        self.lot >= u64::from(self.weight)
    }
}

impl Classes {
    pub(super) fn new<C: Candidate>(view: &View<'_, C>) -> Result<Self, PickError> {
        let mut classes: [Vec<(u32, u32)>; 32] = std::array::from_fn(|_| Vec::new());
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

    /// Draws one of the members that are believed to be eligible, or of all members when hints are no use; nobody when there
    /// are none.
    #[inline]
    pub(super) fn draw(&self, rng: &Rng, everybody: bool) -> Option<Drawn> {
        if let [only] = &*self.all {
            return Some(only.count(everybody)).filter(|count| *count > 0).map(|count| only.draw(rng, count));
        }
        // No sum of so many weights as there are slots overflows: both are below 2^32.
        let total: u64 = self.all.iter().map(|class| class.mass(class.count(everybody))).sum();
        let mut left = rng.below_wide(total);
        for class in &self.all {
            let count = class.count(everybody);
            let mass = class.mass(count);
            if left < mass {
                return Some(class.draw(rng, count));
            }
            left -= mass;
        }
        None
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

    #[inline]
    fn draw(&self, rng: &Rng, count: usize) -> Drawn {
        // The member and its lot come from one draw, the lot from what the first left over: those draws that take a member
        // and a lot below its weight are one interval, whose length is right to within two in 2^64.
        let (place, rest) = rng.below_with_rest(count);
        let (slot, weight) = self.members[self.eligibility.nth(place)];
        Drawn { slot: slot as usize, weight, lot: upper(rest, u64::from(self.largest)) }
    }
}

impl Table for Classes {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        if let Some((class, local)) = self.homes.get(slot).copied() {
            self.all[class as usize].eligibility.set(local as usize, eligible);
        }
    }
}
