//! The policy.

use std::hash::Hash;

use super::rotation::{Line, Rotation};
use super::turn::{Cursor, Turn};
use crate::core::policy::explain::{Explanation, Reason};
use crate::core::policy::identity::{ByIdentity, sorted};
use crate::core::view::{LANES, Lots};
use crate::core::{Candidate, Exclusions, PickError, Policy, Prepare, Prepared, Rng, Selection, View};

/// Chooses each eligible candidate in turn.
///
/// A candidate that was passed over because it could not be chosen keeps its turn and is served as soon as it can be, so
/// one that is ready on every other pick is not starved. One such candidate is remembered at a time. The turn of a
/// candidate that stays excluded goes to the others in equal parts, not to its neighbour.
///
/// Weights are not looked at. A candidate that [ramps up](crate::core::Candidate::ramp) takes its turn with the chance of its
/// part, and otherwise the next one has it, so that the turns of the others stay even.
///
/// A new policy, and each clone, starts at a random position, so that many short-lived balancers do not all run to the first
/// member; [`starting_at`](Self::starting_at) fixes it.
///
/// # Complexity
///
/// Constant on a prepared view, or with an eligibility; otherwise the distance to the next eligible candidate. Threads that
/// pick at the same time contend for one cache line. To prepare takes `n log n`.
///
/// # Allocation
///
/// None per pick.
///
/// # Membership changes
///
/// On a prepared view the turn follows identity. Who stays keeps its place among the others that stay, in whatever order
/// they are listed now, so none of them is served twice before another one is served once. The next in turn stays the next;
/// when it left, whoever follows is. A newcomer comes behind its neighbour in the list, at the end of the round at the
/// latest. Picks from the earlier table while the new one is being made are not known to it.
///
/// A plain slice has no memory of who was where: there the position is kept, and one that lies beyond the last member is
/// reduced by the number of members.
///
/// # Within other policies
///
/// A policy that picks a part of the members first, such as [`PriorityFailover`](crate::core::policy::PriorityFailover),
/// has a turn for each part. Without a prepared table, that is so for up to sixteen; more parts than that share.
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
///
/// The turn of a pool whose members change:
///
/// ```
/// use poise::core::policy::RoundRobin;
/// use poise::core::{Backend, Policy, Prepare, View};
///
/// let policy = RoundRobin::starting_at(0);
/// let before = ["a", "b", "c"].map(Backend::new);
/// let prepared = policy.prepare(&View::new(&before), None)?;
/// assert_eq!(policy.pick_from(&View::new(&before).prepared(&prepared), &())?.index(), 0);
///
/// let after = ["c", "b", "a"].map(Backend::new);
/// let prepared = policy.prepare(&View::new(&after), Some(&prepared))?;
/// let next = policy.pick_from(&View::new(&after).prepared(&prepared), &())?;
/// assert_eq!(after[next.index()].id(), &"b");
/// # Ok::<(), poise::core::PickError>(())
/// ```
#[derive(Debug)]
pub struct RoundRobin {
    start: Option<usize>,
    /// Only those who ramp up leave it to chance.
    rng: Rng,
    /// The turn of views without a table, for each lane.
    turns: [Cursor; LANES],
}

impl RoundRobin {
    /// Makes a policy that starts at a random position.
    #[must_use]
    pub fn new() -> Self {
        // The first pick reduces the start by the number of members, which is not known yet; large enough for any.
        Self::with(None, Rng::thread(), Rng::thread().below(u32::MAX as usize))
    }

    /// Makes a policy that starts at this position, of each part of a membership that has turns of its own, and whose picks
    /// are reproducible in the order in which they happen.
    #[must_use]
    pub fn starting_at(position: usize) -> Self {
        Self::with(Some(position), Rng::seeded_apart(position as u64, "round robin"), position)
    }

    fn with(start: Option<usize>, rng: Rng, position: usize) -> Self {
        Self { start, rng, turns: std::array::from_fn(|_| Cursor::new(Turn::at(position))) }
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

impl<C: Candidate<Id: Hash>> Prepare<C> for RoundRobin {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        if view.is_empty() {
            return Ok(Prepared::none());
        }
        let previous = previous.and_then(Prepared::own_earlier::<Rotation>);
        let start = |members| self.start.unwrap_or_else(|| Rng::thread().below(members));
        let eligible = |slot| view.exclusions_at(slot).only(Exclusions::SLOW).is_empty();
        let rotation = Rotation::new(sorted(view, &ByIdentity)?, previous, start, eligible);
        Ok(Prepared::keep(view.len(), rotation))
    }
}

impl<C: Candidate<Id: Hash>, K: ?Sized> Policy<C, K> for RoundRobin {
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, _: &K) -> Result<Selection, PickError> {
        let lots = Lots::new(&self.rng);
        let lots = &|place| lots.at(place);
        let slot = match view.own_table::<Rotation>() {
            Some(rotation) => rotation.serve(view, lots)?,
            None => self.turns[view.lane() % LANES].serve(&Line { view, circle: None, lots })?,
        };
        Ok(view.select(slot))
    }

    fn explain_from(&self, view: &View<'_, C>, _: &K) -> Result<Explanation, PickError> {
        let slot = self.rng.rehearse(|rng| {
            let lots = Lots::new(&rng);
            let lots = &|place| lots.at(place);
            match view.own_table::<Rotation>() {
                Some(rotation) => rotation.peek(view, lots),
                None => self.turns[view.lane() % LANES].peek(&Line { view, circle: None, lots }),
            }
        })?;
        Ok(Explanation::new(view.select(slot), Reason::Turn))
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::RoundRobin;
    use crate::core::{Backend, Policy, Prepare, Prepared, Status, View};
    use std::sync::Arc;

    type Members = [Backend<&'static str>; 3];

    /// Picks twice in one thread and once in another, and returns what was picked, sorted.
    fn three_picks(policy: RoundRobin, members: Members, prepared: Prepared) -> Vec<usize> {
        let shared = Arc::new((policy, members, prepared));
        let pick = |shared: &(RoundRobin, Members, Prepared)| {
            let view = View::new(&shared.1).prepared(&shared.2);
            shared.0.pick_from(&view, &()).unwrap().index()
        };
        let other = Arc::clone(&shared);
        let thread = loom::thread::spawn(move || pick(&other));
        let mut picks = vec![pick(&shared), pick(&shared)];
        picks.push(thread.join().unwrap());
        picks.sort_unstable();
        picks
    }

    /// Picks from a plain slice, and from a prepared view.
    fn both(start: usize, members: fn() -> Members, expected: [usize; 3]) {
        for prepare in [false, true] {
            loom::model(move || {
                let (policy, members) = (RoundRobin::starting_at(start), members());
                let prepared = || policy.prepare(&View::new(&members), None).unwrap();
                let prepared = if prepare { prepared() } else { Prepared::none() };
                let picks = three_picks(policy, members, prepared);
                assert!(picks == expected, "{picks:?}, prepared: {prepare}");
            });
        }
    }

    #[test]
    fn loom_picks_of_two_threads_are_one_serial_order() {
        both(1, || ["a", "b", "c"].map(Backend::new), [0, 1, 2]);
    }

    #[test]
    fn loom_an_excluded_member_costs_no_other_its_turn() {
        fn members() -> Members {
            let [a, b, c] = ["a", "b", "c"].map(Backend::new);
            [a.with_status(Status::Draining), b, c]
        }
        // The serial order is b, c, b.
        both(0, members, [1, 1, 2]);
    }
}
