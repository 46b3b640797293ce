//! Members sorted by the leading bits of their weights.

use std::collections::BTreeMap;

use crate::core::rng::upper;
use crate::core::{Candidate, Eligibility, Exclusions, PickError, Rng, Table, View};
use crate::sync::{AtomicU64, Ordering};

/// Holds the classes of one membership, the lightest first.
#[derive(Debug)]
pub(crate) struct Classes {
    all: Box<[Class]>,
    /// The masses of those in play in each class, with all classes before it.
    eligible: Box<[AtomicU64]>,
    /// The same as if everybody were in play.
    everybody: Box<[u64]>,
    /// The class of each slot, and its slot there.
    homes: Box<[(u32, u32)]>,
}

/// Holds the members whose weights begin with the same bits.
#[derive(Debug)]
struct Class {
    largest: u32,
    /// Slots of the membership and their weights, by the slot of the class.
    members: Box<[(u32, u32)]>,
    eligibility: Eligibility,
}

/// How many bits of a weight are looked at. Weights below eight have classes of their own, and from there on the lightest of
/// a class weighs four fifths of the heaviest at least.
const BITS: u32 = 3;

/// How many draws are made: so many are hardly ever in vain, as each is accepted with a chance of four fifths at least.
const DRAWS: u32 = 32;

impl Classes {
    pub(super) fn new<C: Candidate>(view: &View<'_, C>) -> Result<Self, PickError> {
        let mut classes: BTreeMap<u32, Vec<(u32, u32)>> = BTreeMap::new();
        for (index, slot) in (0..view.len()).zip(0u32..) {
            let candidate = view.candidate(index).ok_or(PickError::InconsistentTopology)?;
            let weight = candidate.weight().value();
            classes.entry(leading(weight)).or_default().push((slot, weight));
        }
        let mut homes = vec![(0, 0); view.len()].into_boxed_slice();
        for (class, members) in (0u32..).zip(classes.values()) {
            for (local, (slot, _)) in (0u32..).zip(members) {
                homes[*slot as usize] = (class, local);
            }
        }
        let all: Box<[Class]> = classes.into_values().map(|members| Class::new(view, members)).collect();
        let eligible = summed(all.iter().map(|class| class.mass(class.eligibility.count())));
        let everybody = summed(all.iter().map(|class| class.mass(class.members.len()))).collect();
        Ok(Self { eligible: eligible.map(AtomicU64::new).collect(), everybody, all, homes })
    }

    /// Draws the slot of one of the members that are believed to be eligible, or of all members when hints are no use, by
    /// weight; nobody when there are none.
    #[inline]
    pub(super) fn draw(&self, rng: &Rng, everybody: bool) -> Option<usize> {
        let (class, count) = self.draw_class(rng, everybody)?;
        class.draw(rng, count).or_else(|| self.draw_again(rng, everybody))
    }

    #[cold]
    fn draw_again(&self, rng: &Rng, everybody: bool) -> Option<usize> {
        (1..DRAWS).find_map(|_| {
            let (class, count) = self.draw_class(rng, everybody)?;
            class.draw(rng, count)
        })
    }

    /// Draws a class, and says how many members of it are in play.
    #[inline]
    fn draw_class(&self, rng: &Rng, everybody: bool) -> Option<(&Class, usize)> {
        if everybody {
            let class = self.class_at(rng, self.everybody.iter().copied())?;
            Some((class, class.members.len()))
        } else {
            let class = self.class_at(rng, self.eligible.iter().map(|sum| sum.load(Ordering::Relaxed)))?;
            Some((class, class.eligibility.count()))
        }
    }

    /// Draws a class by its mass, given the sums up to each.
    #[inline]
    fn class_at(&self, rng: &Rng, mut sums: impl DoubleEndedIterator<Item = u64>) -> Option<&Class> {
        let total = sums.next_back().filter(|total| *total > 0)?;
        let drawn = rng.below_wide(total);
        // Looking at all is faster than stopping at the right one, which no branch predictor foresees.
        self.all.get(sums.map(|sum| usize::from(sum <= drawn)).sum::<usize>())
    }
}

/// Returns the bits of a weight that its class is known by, in the order of weights.
fn leading(weight: u32) -> u32 {
    let below = (u32::BITS - weight.leading_zeros()).saturating_sub(BITS);
    (below << BITS) | (weight >> below)
}

/// Adds up masses. No sum of so many weights as there are slots overflows: both are below 2^32.
fn summed(masses: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    masses.scan(0, |sum, mass| {
        *sum += mass;
        Some(*sum)
    })
}

impl Class {
    fn new<C: Candidate>(view: &View<'_, C>, members: Vec<(u32, u32)>) -> Self {
        let slow = |slot: u32| view.exclusions_at(slot as usize).only(Exclusions::SLOW);
        let eligibility = Eligibility::new(members.len(), |local| slow(members[local].0).is_empty());
        let largest = members.iter().map(|(_, weight)| *weight).max().unwrap_or(1);
        Self { largest, members: members.into(), eligibility }
    }

    fn mass(&self, count: usize) -> u64 {
        count as u64 * u64::from(self.largest)
    }

    /// Draws one of the first `count` members, and accepts it by its part of the largest weight.
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
        let Some((class, local)) = self.homes.get(slot).copied() else { return };
        let Class { largest, eligibility, .. } = &self.all[class as usize];
        if !eligibility.set(local as usize, eligible) {
            return;
        }
        // Hints that carry nothing else: no ordering. Sums that are changed by several threads end up right, as they only
        // ever change by what a class gains or loses.
        for sum in &self.eligible[class as usize..] {
            if eligible {
                sum.fetch_add(u64::from(*largest), Ordering::Relaxed);
            } else {
                sum.fetch_sub(u64::from(*largest), Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BITS, leading};

    #[test]
    fn classes_follow_the_order_of_weights_and_are_narrow() {
        let around = (0..u32::BITS).flat_map(|bit| (0..5).map(move |by| (1u32 << bit).wrapping_add(by)));
        let mut weights: Vec<u32> = (1..2_000).chain(around).chain([u32::MAX, u32::MAX - 1]).collect();
        weights.sort_unstable();
        weights.retain(|weight| *weight > 0);
        for pair in weights.windows(2) {
            let (lighter, heavier) = (pair[0], pair[1]);
            assert!(leading(lighter) <= leading(heavier), "{lighter} before {heavier}");
            let together = leading(lighter) == leading(heavier);
            let alike = lighter == heavier || heavier >= 1 << BITS;
            let near = u64::from(lighter) * 5 >= u64::from(heavier) * 4;
            assert!(!together || (alike && near), "{lighter} with {heavier}");
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::{Classes, Ordering, Table};
    use crate::core::{Backend, View, Weight};
    use std::sync::Arc;

    fn sums(classes: &Classes) -> Vec<u64> {
        classes.eligible.iter().map(|sum| sum.load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn loom_racing_flips_end_with_the_sums_of_the_final_state() {
        loom::model(|| {
            let members =
                [1, 1, 5].map(|weight| Backend::new(weight).with_weight(Weight::new(weight).unwrap()));
            let classes = Arc::new(Classes::new(&View::new(&members)).unwrap());
            let other = Arc::clone(&classes);
            let thread = loom::thread::spawn(move || {
                other.set_eligible(0, false);
                other.set_eligible(0, true);
            });
            classes.set_eligible(2, false);
            classes.set_eligible(1, false);
            thread.join().unwrap();
            assert_eq!(sums(&classes), [1, 1]);
        });
    }
}
