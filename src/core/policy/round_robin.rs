//! Each in turn.

use crate::core::view::{LANES, Memo};
use crate::core::{Candidate, PickError, Policy, Prepare, Rng, Selection, View};
use crate::sync::{AtomicU64, Ordering};

/// Says that nobody is owed a turn.
const NOBODY: u32 = u32::MAX;

/// Chooses each eligible candidate in turn.
///
/// A candidate that was passed over because it could not be chosen keeps its turn and is served as soon as it can be, so
/// one that is ready on every other pick is not starved. One such candidate is remembered at a time. The turn of a
/// candidate that stays excluded goes to the others in equal parts, not to its neighbour.
///
/// Weights are not looked at.
///
/// A new policy, and each clone, starts at a random position, so that many short-lived balancers do not all run to the first
/// member; [`starting_at`](Self::starting_at) fixes it.
///
/// # Complexity
///
/// Constant with an eligibility; otherwise the distance to the next eligible candidate. Threads that pick at the same time
/// contend for one cache line.
///
/// # Allocation
///
/// None.
///
/// # Membership changes
///
/// The position in the turn is kept; one that lies beyond the last member is reduced by the number of members.
///
/// # Within other policies
///
/// A policy that picks a part of the members first, such as [`PriorityFailover`](super::PriorityFailover), has a turn of
/// its own for each part, up to sixteen; more parts than that share.
///
/// # Examples
///
/// ```
/// use poise::core::policy::RoundRobin;
/// use poise::core::{Backend, Policy};
///
/// let backends = ["a", "b", "c"].map(Backend::new);
/// let policy = RoundRobin::starting_at(0);
/// let picks = [(); 4].map(|()| policy.pick(&backends, &()).map(|selection| selection.index()));
/// assert_eq!(picks, [Ok(0), Ok(1), Ok(2), Ok(0)]);
/// ```
#[derive(Debug)]
pub struct RoundRobin {
    /// For each lane, the next slot in the low half and the slot that is owed a turn in the high half. Keeping both in one
    /// word makes each pick one step of one order, however many threads pick.
    turns: [AtomicU64; LANES],
}

impl RoundRobin {
    /// Makes a policy that starts at a random position.
    #[must_use]
    pub fn new() -> Self {
        // The first pick reduces the start by the number of members, which is not known yet; large enough for any.
        Self::at(Rng::thread().below(NOBODY as usize))
    }

    /// Makes a policy that starts at this position.
    #[must_use]
    pub fn starting_at(position: usize) -> Self {
        Self::at(position)
    }

    fn at(position: usize) -> Self {
        let turn = Turn { next: clamp(position), owed: NOBODY }.pack();
        Self { turns: std::array::from_fn(|_| AtomicU64::new(turn)) }
    }
}

impl Default for RoundRobin {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for RoundRobin {
    /// Makes an independent policy that starts at a random position.
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl<C: Candidate> Prepare<C> for RoundRobin {}

impl<C: Candidate, K: ?Sized> Policy<C, K> for RoundRobin {
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, _: &K) -> Result<Selection, PickError> {
        let members = clamp(view.len());
        if members == 0 {
            return Err(PickError::Empty);
        }
        let turn = &self.turns[view.lane() % LANES];
        let mut before = turn.load(Ordering::Relaxed);
        loop {
            let (slot, after) = Turn::unpack(before).take(view, members)?;
            // No ordering beyond the word itself: the cursor publishes nothing else.
            match turn.compare_exchange_weak(before, after.pack(), Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(view.select(slot)),
                Err(meanwhile) => before = meanwhile,
            }
        }
    }
}

/// Where the turn stands.
#[derive(Clone, Copy)]
struct Turn {
    next: u32,
    owed: u32,
}

impl Turn {
    #[inline]
    fn pack(self) -> u64 {
        u64::from(self.owed) << 32 | u64::from(self.next)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the two halves of the word")]
    #[inline]
    fn unpack(word: u64) -> Self {
        Self { next: word as u32, owed: (word >> 32) as u32 }
    }

    /// Serves one candidate: the one that is owed a turn, or the next one.
    #[inline]
    fn take<C: Candidate>(self, view: &View<'_, C>, members: u32) -> Result<(usize, Self), PickError> {
        let next = if self.next < members { self.next } else { self.next % members };
        let slot = if self.owed < members && view.is_promising(self.owed as usize) {
            let mut memo = Memo::new();
            if view.try_slot(self.owed as usize, &mut memo) {
                return Ok((self.owed as usize, Self { next, owed: NOBODY }));
            }
            view.first_slot_beyond(next as usize, memo)?
        } else {
            view.first_slot_from(next as usize)?
        };
        let served = clamp(slot);
        let owed = if served == next { self.owed } else { next };
        Ok((slot, Self { next: if served + 1 == members { 0 } else { served + 1 }, owed }))
    }
}

/// Cursors are 32 bits wide, which is more than any membership.
#[inline]
fn clamp(slot: usize) -> u32 {
    u32::try_from(slot).map_or(NOBODY - 1, |slot| slot.min(NOBODY - 1))
}

#[cfg(all(test, loom))]
mod models {
    use super::RoundRobin;
    use crate::core::{Backend, Policy, Status};
    use std::sync::Arc;

    /// Picks twice in one thread and once in another.
    fn three_picks(policy: RoundRobin, members: [Backend<&'static str>; 3]) -> Vec<usize> {
        let (policy, members) = (Arc::new(policy), Arc::new(members));
        let (other, others) = (Arc::clone(&policy), Arc::clone(&members));
        let pick =
            |policy: &RoundRobin, members: &[Backend<&str>]| policy.pick(members, &()).unwrap().index();
        let thread = loom::thread::spawn(move || pick(&other, &*others));
        let mut picks = vec![pick(&policy, &*members), pick(&policy, &*members)];
        picks.push(thread.join().unwrap());
        picks.sort_unstable();
        picks
    }

    #[test]
    fn loom_picks_of_two_threads_are_one_serial_order() {
        loom::model(|| {
            let picks = three_picks(RoundRobin::starting_at(1), ["a", "b", "c"].map(Backend::new));
            assert_eq!(picks, [0, 1, 2]);
        });
    }

    #[test]
    fn loom_an_excluded_member_costs_no_other_its_turn() {
        loom::model(|| {
            let [a, b, c] = ["a", "b", "c"].map(Backend::new);
            let members = [a.with_status(Status::Draining), b, c];
            let picks = three_picks(RoundRobin::starting_at(0), members);
            assert!(picks == [1, 1, 2], "the serial order is b, c, b: {picks:?}");
        });
    }
}
