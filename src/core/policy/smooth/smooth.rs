//! The policy.

use std::hash::Hash;

use super::table::Schedule;
use crate::core::policy::explain::{Explanation, Reason};
use crate::core::policy::identity::{ByIdentity, fingerprint, sorted};
use crate::core::policy::unprepared::Unprepared;
use crate::core::view::Lots;
use crate::core::{Candidate, Exclusions, PickError, Policy, Prepare, Prepared, Rng, Selection, View};

/// Chooses each eligible candidate in turn, as often as its weight says, and spreads the turns of each evenly.
///
/// The order is that of nginx: in each round everybody gains credit by its weight; who has the most is next, the first of
/// several, and pays the sum of all. With weights 5, 1 and 1 that is `a a b a c a a`. It is laid out as a schedule when a
/// membership is prepared.
///
/// - A cycle of up to 65,536 turns, or 64 for each member if that is more, is exact. Longer ones, after division by the
///   greatest common divisor of the weights, are rounded to that length, largest remainders first, and everybody has one
///   turn at least; [`ScheduleReport`](super::ScheduleReport) says how far that is off.
/// - Who cannot be chosen is passed over, and the others keep their shares of the cycle among each other.
/// - Who [ramps up](crate::core::Candidate::ramp) takes each of its turns with the chance of its part, and otherwise the next
///   turn of the cycle is taken, so that it gets that part of its weight. The schedule stays as it is.
///
/// A new policy, and each clone, starts at a random turn of the cycle; [`starting_at`](Self::starting_at) fixes it.
///
/// Source: nginx, `ngx_http_upstream_round_robin.c`.
///
/// # Complexity
///
/// A pick on a prepared view is constant: one read of the schedule, one check of the candidate, one write of the cursor.
/// Threads that pick at the same time contend for one cache line. When the hints are wrong, one scan. Without a prepared
/// table, each pick hashes every identity to find the schedule among the last four that it built.
///
/// To prepare takes the length of the cycle times the number of distinct weights.
///
/// # Allocation
///
/// None per pick on a prepared view.
///
/// # Membership changes
///
/// Credit follows identity: who stays keeps what it has, in proportion to the new length of the cycle; newcomers start
/// without. So a change of weights or of the others starves nobody. Credits that are cycles apart, which such changes do not
/// make of ordinary ones, are dropped. The cursor is part of what was prepared, so each pool has its own, and so
/// has each part that a policy such as [`PriorityFailover`](crate::core::policy::PriorityFailover)
/// divides it into.
///
/// # Examples
///
/// ```
/// use poise::core::policy::SmoothWeightedRoundRobin;
/// use poise::core::{Backend, Policy, Weight};
///
/// let heavy = Backend::new("a").with_weight(Weight::new(2)?);
/// let backends = [heavy, Backend::new("b")];
/// let policy = SmoothWeightedRoundRobin::starting_at(0);
/// let picks = [(); 6].map(|()| policy.pick(&backends, &()).map(|selection| selection.index()));
/// assert_eq!(picks, [Ok(0), Ok(1), Ok(0), Ok(0), Ok(1), Ok(0)]);
/// # Ok::<(), poise::core::ZeroWeight>(())
/// ```
#[derive(Debug, Default)]
pub struct SmoothWeightedRoundRobin {
    start: Option<usize>,
    /// Only those who ramp up leave it to chance.
    rng: Rng,
    unprepared: Unprepared,
}

impl SmoothWeightedRoundRobin {
    /// Makes a policy that starts at a random turn.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a policy that starts at this turn of the cycle, and whose picks are reproducible in the order in which they
    /// happen.
    #[must_use]
    pub fn starting_at(turn: usize) -> Self {
        let rng = Rng::seeded_apart(turn as u64, "smooth");
        Self { start: Some(turn), rng, unprepared: Unprepared::new() }
    }

    fn build<C>(
        &self,
        view: &View<'_, C>,
        previous: Option<&Prepared>,
        eligible: impl Fn(usize) -> bool,
    ) -> Result<Prepared, PickError>
    where
        C: Candidate<Id: Hash>,
    {
        let previous = previous.and_then(Prepared::own_earlier::<Schedule>);
        let start = |cycle: usize| self.start.map_or_else(|| Rng::thread().below(cycle), |turn| turn % cycle);
        let schedule = Schedule::new(sorted(view, &ByIdentity)?, previous, start, eligible)?;
        Ok(Prepared::keep(view.len(), schedule))
    }

    /// Finds or builds the schedule of a view that brings none.
    #[cold]
    fn unprepared<C: Candidate<Id: Hash>>(&self, view: &View<'_, C>) -> Result<Prepared, PickError> {
        // Nobody flips the bits of this schedule, so all are set and the members decide.
        let fingerprint = fingerprint(view, &ByIdentity);
        let build = |last: Option<&Prepared>| self.build(view, last, |_| true);
        self.unprepared.get_or_follow(fingerprint, build)
    }
}

fn schedule_of<'a, C>(prepared: &'a Prepared, view: &View<'_, C>) -> Result<&'a Schedule, PickError> {
    prepared.own::<Schedule>(view.len()).ok_or(PickError::InconsistentTopology)
}

impl Clone for SmoothWeightedRoundRobin {
    /// Makes an independent policy that starts at a random turn.
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl<C: Candidate<Id: Hash>> Prepare<C> for SmoothWeightedRoundRobin {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        if view.is_empty() {
            return Ok(Prepared::none());
        }
        self.build(view, previous, |slot| view.exclusions_at(slot).only(Exclusions::SLOW).is_empty())
    }
}

impl<C: Candidate<Id: Hash>, K: ?Sized> Policy<C, K> for SmoothWeightedRoundRobin {
    fn pick_from(&self, view: &View<'_, C>, _: &K) -> Result<Selection, PickError> {
        if view.is_empty() {
            return Err(PickError::Empty);
        }
        let lots = Lots::new(&self.rng);
        let lots = &|entry| lots.at(entry);
        let slot = match view.own_table::<Schedule>() {
            Some(schedule) => schedule.next(view, lots)?,
            None => schedule_of(&self.unprepared(view)?, view)?.next(view, lots)?,
        };
        Ok(view.select(slot))
    }

    fn explain_from(&self, view: &View<'_, C>, _: &K) -> Result<Explanation, PickError> {
        if view.is_empty() {
            return Err(PickError::Empty);
        }
        let peek = |schedule: &Schedule| {
            self.rng.rehearse(|rng| {
                let lots = Lots::new(&rng);
                schedule.peek(view, &|entry| lots.at(entry))
            })
        };
        let slot = if let Some(schedule) = view.own_table::<Schedule>() {
            peek(schedule)?
        } else {
            // What is made here is kept, so the next pick draws no start before its lots.
            let prepared = Rng::thread().rehearse(|_| self.unprepared(view))?;
            peek(schedule_of(&prepared, view)?)?
        };
        Ok(Explanation::new(view.select(slot), Reason::Turn))
    }
}
