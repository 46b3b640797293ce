//! The order of turns in one membership, and how far it has come.

use super::turn::{Cursor, Turn};
use crate::core::policy::circle::{Circle, Looks};
use crate::core::policy::identity::{Identity, paired};
use crate::core::view::Found;
use crate::core::{Candidate, PickError, Table, View};

/// Members in the order of their turns, and whose is next.
#[derive(Debug)]
pub(crate) struct Rotation {
    circle: Circle,
    cursor: Cursor,
    /// In the order of their hashes.
    members: Box<[Identity]>,
}

impl Rotation {
    /// Arranges `members`, which are sorted and have the slots `0..members.len()`. Those that `previous` knows keep their
    /// order; when it knows none, all are in the order of their slots and the turn begins at `start` of them.
    pub(super) fn new(
        members: Vec<Identity>,
        previous: Option<&Self>,
        start: impl FnOnce(usize) -> usize,
        eligible: impl Fn(usize) -> bool,
    ) -> Self {
        let carried = previous.and_then(|previous| previous.carry(&members));
        let (order, turn) = carried.unwrap_or_else(|| {
            let order = (0..).take(members.len()).collect();
            (order, Turn::at(start(members.len())))
        });
        let circle = Circle::new(order, members.len(), 0, eligible);
        Self { circle, cursor: Cursor::new(turn), members: members.into() }
    }

    /// Serves one of the members that this was made for.
    #[inline]
    pub(super) fn serve<C: Candidate>(
        &self,
        view: &View<'_, C>,
        lots: &impl Fn(usize) -> f64,
    ) -> Result<usize, PickError> {
        self.cursor.serve(&Line { view, circle: Some(&self.circle), lots })
    }

    /// Returns who would be served.
    pub(super) fn peek<C: Candidate>(
        &self,
        view: &View<'_, C>,
        lots: &impl Fn(usize) -> f64,
    ) -> Result<usize, PickError> {
        self.cursor.peek(&Line { view, circle: Some(&self.circle), lots })
    }

    /// Continues the round with `members`: from the one that is next, or would be if those before it had not left. A
    /// newcomer comes behind its neighbour in the order of slots. `None` when nobody is known.
    fn carry(&self, members: &[Identity]) -> Option<(Box<[u32]>, Turn)> {
        let mut now = vec![None; self.members.len()];
        let mut stays = vec![false; members.len()];
        for (member, old) in paired(members, &self.members) {
            let Some(old) = old else { continue };
            now[old.slot as usize] = Some(member.slot);
            stays[member.slot as usize] = true;
        }
        let turn = self.cursor.turn();
        let (past, coming) = self.circle.owners().split_at(turn.next(self.circle.len()));
        let round = coming.iter().chain(past).filter_map(|slot| now[*slot as usize]);
        let order = joined(round, &stays);
        // What was owed to somebody who left is owed to nobody: the others have had their turns.
        let owed = turn.owed().and_then(|place| now[*self.circle.owners().get(place)? as usize]);
        let owed = owed.and_then(|slot| order.iter().position(|at| *at == slot));
        Some((order, Turn::at(0).owing(owed))).filter(|(order, _)| !order.is_empty())
    }
}

impl Table for Rotation {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        self.circle.set_eligible(slot, eligible);
    }
}

/// Inserts everybody who does not stay into the `round` of those who do, behind the last one before it who does.
fn joined(round: impl Iterator<Item = u32>, stays: &[bool]) -> Box<[u32]> {
    let slots = || (0u32..).zip(stays);
    let first = stays.iter().take_while(|stays| !**stays).count();
    let last = stays.iter().rposition(|stays| *stays);
    let mut order = Vec::with_capacity(stays.len());
    for slot in round {
        order.push(slot);
        let behind = slots().skip(slot as usize + 1).take_while(|(_, stays)| !**stays);
        order.extend(behind.map(|(slot, _)| slot));
        if last == Some(slot as usize) {
            order.extend(slots().take(first).map(|(slot, _)| slot));
        }
    }
    order.into()
}

/// Places in the order of turns: those of a circle, or without one the slots themselves.
pub(super) struct Line<'a, 'v, C, L> {
    pub(super) view: &'a View<'v, C>,
    pub(super) circle: Option<&'a Circle>,
    /// The lots of those that ramp up, by place.
    pub(super) lots: &'a L,
}

impl<C: Candidate, L: Fn(usize) -> f64> Line<'_, '_, C, L> {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.view.len()
    }

    /// Tells whether it is worth a look if the one at `place` is eligible.
    #[inline]
    pub(super) fn is_promising(&self, place: usize) -> bool {
        match self.circle {
            Some(circle) => self.view.is_panic() || circle.is_live(place),
            None => self.view.is_promising(place),
        }
    }

    /// Returns the slot at `place` if it is eligible.
    #[inline]
    pub(super) fn try_place(&self, place: usize, memo: &mut Looks) -> Option<usize> {
        let slot = self.circle.map_or(place, |circle| circle.owners()[place] as usize);
        Some(slot).filter(|slot| self.view.try_slot(*slot, memo))
    }

    /// Tells whether the one in `slot`, which is eligible, takes the turn at `place`.
    #[inline]
    pub(super) fn takes(&self, place: usize, slot: usize) -> bool {
        self.view.takes_turn(slot, || (self.lots)(place))
    }

    /// Finds the first one at or after `place` that is eligible and takes its turn.
    #[inline]
    pub(super) fn first_from(&self, place: usize) -> Result<Found, PickError> {
        match self.circle {
            Some(circle) => circle.find(self.view, place, self.lots),
            None => self.view.first_turn_from(place, self.lots),
        }
    }

    /// As [`first_from`](Self::first_from), knowing what has been sampled before.
    #[cold]
    pub(super) fn first_beyond(&self, place: usize, memo: Looks) -> Result<Found, PickError> {
        match self.circle {
            Some(circle) => circle.find_beyond(self.view, place, memo, self.lots),
            None => self.view.first_turn_beyond(place, memo, self.lots),
        }
    }
}
