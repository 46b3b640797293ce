//! Who comes first in an order.

use super::order::Order;
use super::scan::Slots;
use crate::core::view::{Memo, SAMPLES};
use crate::core::{Candidate, ExclusionCounts, PickError, Selection, View};

/// Returns the first eligible slot. Who ramps up ranks lower, as if it had that part of its weight.
///
/// Ranks are compared before anybody is asked if it is eligible: the first one mostly is.
#[inline]
pub(super) fn first<C: Candidate>(view: &View<'_, C>, order: &impl Order) -> Result<usize, PickError> {
    let first = match view.few() {
        Some(few) => order.first(Slots::Those(few), |_| true),
        None => order.first(Slots::all(view.len()), |slot| view.is_promising(slot)),
    };
    let Some(slot) = first else { return exact(view, order, &Memo::new()) };
    let exclusions = view.exclusions_at(slot);
    if exclusions.is_empty() && view.is_whole(slot) {
        Ok(slot)
    } else {
        beyond(view, order, slot, Memo::of(slot, exclusions))
    }
}

/// The part of [`first`] for when the first one that was believed to be eligible is not, or ramps up: asks the next few, then
/// everybody.
#[cold]
fn beyond<C: Candidate>(
    view: &View<'_, C>,
    order: &impl Order,
    first: usize,
    mut memo: Memo,
) -> Result<usize, PickError> {
    if view.try_slot(first, &mut memo) {
        return Ok(first_by_part(view, order, first, &memo));
    }
    if view.hint().is_some() {
        let mut places = [Selection::new(0); SAMPLES];
        let mut leaders = Leaders::new(order, &mut places, |slot| order.rank(slot));
        (0..view.len()).for_each(|slot| leaders.offer(slot, || view.is_promising(slot)));
        let next = leaders.slots().find(|slot| view.try_slot(*slot, &mut memo));
        if let Some(slot) = next {
            return Ok(if view.is_whole(slot) { slot } else { first_by_part(view, order, slot, &memo) });
        }
    }
    exact(view, order, &memo)
}

/// Returns the first one of those that are believed to be eligible when `first`, which would be the first one and is eligible,
/// ramps up.
fn first_by_part<C: Candidate>(view: &View<'_, C>, order: &impl Order, first: usize, memo: &Memo) -> usize {
    let promising = (0..view.len()).filter(|slot| *slot == first || view.is_promising(*slot));
    let part = |slot| view.sample(slot, memo).is_empty().then(|| view.part_at(slot));
    order.by_part().first_by_part(Slots::Those(promising), part).unwrap_or(first)
}

/// Asks everybody whose rank is higher than that of the first eligible one so far, which is right whatever the hints say.
fn exact<C: Candidate>(view: &View<'_, C>, order: &impl Order, memo: &Memo) -> Result<usize, PickError> {
    let mut counts = ExclusionCounts::default();
    let found = order.by_part().first_by_part(Slots::all(view.len()), |slot| {
        let exclusions = view.sample(slot, memo);
        if !exclusions.is_empty() {
            counts.add(exclusions);
            return None;
        }
        Some(view.part_at(slot))
    });
    // Where nobody was eligible, everybody has been asked and counted.
    found.ok_or_else(|| view.refusal(counts))
}

/// Writes the first eligible candidates into `into`, in order, and returns how many there are.
pub(super) fn replicas<C: Candidate>(
    view: &View<'_, C>,
    order: &impl Order,
    into: &mut [Selection],
) -> Result<usize, PickError> {
    if into.is_empty() {
        return Ok(0);
    }
    let mut counts = ExclusionCounts::default();
    let order = &order.by_part();
    let mut leaders = Leaders::new(order, into, |slot| order.rank(slot).lowered(view.part_at(slot)));
    for slot in 0..view.len() {
        leaders.offer(slot, || {
            let exclusions = view.exclusions_at(slot);
            if !exclusions.is_empty() {
                counts.add(exclusions);
            }
            exclusions.is_empty()
        });
    }
    let found = leaders.len;
    into[..found].iter_mut().for_each(|place| *place = view.select(place.index()));
    if found == 0 { Err(view.refusal(counts)) } else { Ok(found) }
}

/// Keeps the highest slots of those that are offered, as many as there are places.
struct Leaders<'a, O: Order, R> {
    order: &'a O,
    /// Slots, the first `len` of them, highest first.
    places: &'a mut [Selection],
    len: usize,
    /// The lowest place and its rank, once all are taken.
    last: Option<(usize, O::Rank)>,
    /// Returns the rank that counts of a slot that was let in, which is at most that of the order.
    rank: R,
}

impl<'a, O: Order, R: Fn(usize) -> O::Rank> Leaders<'a, O, R> {
    /// Makes an empty list of at least one place.
    fn new(order: &'a O, places: &'a mut [Selection], rank: R) -> Self {
        Self { order, places, len: 0, last: None, rank }
    }

    /// Takes a slot in if it is higher than the lowest, and then only if `admits` says so.
    #[inline]
    fn offer(&mut self, slot: usize, admits: impl FnOnce() -> bool) {
        if self.order.better(slot, self.last).is_some() && admits() {
            let rank = (self.rank)(slot);
            if self.last.is_none_or(|(_, last)| rank > last) {
                self.insert(slot, rank);
            }
        }
    }

    fn insert(&mut self, slot: usize, rank: O::Rank) {
        let behind = |place: &Selection| (self.rank)(place.index()) >= rank;
        let at = self.places[..self.len].partition_point(behind);
        let end = self.len.min(self.places.len() - 1);
        self.places.copy_within(at..end, at + 1);
        self.places[at] = Selection::new(slot);
        self.len = end + 1;
        if self.len == self.places.len() {
            let last = self.places[end].index();
            self.last = Some((last, (self.rank)(last)));
        }
    }

    fn slots(&self) -> impl Iterator<Item = usize> {
        self.places[..self.len].iter().map(|place| place.index())
    }
}
