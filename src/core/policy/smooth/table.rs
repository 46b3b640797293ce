//! The schedule of one membership, and how far it has come.

use super::ScheduleReport;
use super::order::{Order, order};
use super::turns::Turns;
use crate::core::policy::circle::Circle;
use crate::core::policy::identity::{Identity, paired};
use crate::core::{Candidate, PickError, Table, View};
use crate::sync::{AtomicUsize, Ordering};

/// Turns in order, and whose is next.
#[derive(Debug)]
pub(crate) struct Schedule {
    circle: Circle,
    /// The entry whose turn is next.
    cursor: AtomicUsize,
    turns: Turns,
    /// The credit of each slot before the first entry.
    credits: Box<[i64]>,
    /// In the order of their hashes.
    members: Box<[Identity]>,
}

impl Schedule {
    /// Schedules `members`, which are sorted and have the slots `0..members.len()`. Those that `previous` knows keep the
    /// credit that they have there; when it knows none, the turn begins at `start` of the cycle.
    pub(super) fn new(
        members: Vec<Identity>,
        previous: Option<&Self>,
        start: impl FnOnce(usize) -> usize,
        eligible: impl Fn(usize) -> bool,
    ) -> Result<Self, PickError> {
        let mut weights = vec![1; members.len()];
        for member in &members {
            weights[member.slot as usize] = member.weight;
        }
        let turns = Turns::by_weight(&weights)?;
        let carried = previous.and_then(|previous| previous.carry(&members, turns.cycle));
        let carried = carried.and_then(|credits| Some((0, in_order(&turns, &credits)?, credits)));
        let from_rest = || {
            let credits = vec![0; members.len()];
            let order = in_order(&turns, &credits).ok_or(PickError::InconsistentTopology)?;
            Ok((start(turns.cycle as usize), order, credits))
        };
        let (cursor, Order { slots, lead }, credits) = carried.map_or_else(from_rest, Ok)?;
        Ok(Self {
            circle: Circle::new(slots.into(), members.len(), lead, eligible),
            cursor: AtomicUsize::new(cursor),
            turns,
            credits: credits.into(),
            members: members.into(),
        })
    }

    pub(super) fn report(&self) -> ScheduleReport {
        ScheduleReport { cycle: self.turns.cycle as usize, share_error: self.turns.error }
    }

    /// Returns who would be next.
    pub(super) fn peek<C: Candidate>(
        &self,
        view: &View<'_, C>,
        lots: &impl Fn(usize) -> f64,
    ) -> Result<usize, PickError> {
        self.circle.find(view, self.cursor.load(Ordering::Relaxed), lots).map(|found| found.slot)
    }

    /// Serves the next one that can be and takes its turn, and moves on behind it.
    #[inline]
    pub(super) fn next<C: Candidate>(
        &self,
        view: &View<'_, C>,
        lots: &impl Fn(usize) -> f64,
    ) -> Result<usize, PickError> {
        let mut before = self.cursor.load(Ordering::Relaxed);
        loop {
            let found = self.circle.find(view, before, lots)?;
            let after = self.circle.after(found.entry);
            // No ordering beyond the word itself: the cursor publishes nothing else.
            match self.cursor.compare_exchange_weak(before, after, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(found.slot),
                Err(meanwhile) => before = meanwhile,
            }
        }
    }

    /// Converts the credits of those of `members` that are known to a cycle of another length. Rounding, and what those
    /// had that left, goes to the first one, so that nothing is won or lost. `None` when nobody is known.
    fn carry(&self, members: &[Identity], cycle: u32) -> Option<Vec<i64>> {
        let at = self.cursor.load(Ordering::Relaxed);
        let mut credits = vec![0; members.len()];
        let mut first = None;
        for (member, old) in paired(members, &self.members) {
            let Some(old) = old else { continue };
            let credit = i128::from(self.credit(old.slot as usize, at));
            credits[member.slot as usize] = scaled(credit, cycle, self.turns.cycle);
            first = Some(first.map_or(member.slot, |first| member.slot.min(first)));
        }
        let sum: i64 = credits.iter().sum();
        credits[first? as usize] -= sum;
        Some(credits)
    }

    /// Returns the credit of `slot` before the turn at `entry`.
    fn credit(&self, slot: usize, entry: usize) -> i64 {
        let served = self.circle.entries_of(slot).partition_point(|at| (*at as usize) < entry);
        let whole = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.credits[slot] + whole(entry) * i64::from(self.turns.each[slot])
            - whole(served) * i64::from(self.turns.cycle)
    }
}

fn in_order(turns: &Turns, credits: &[i64]) -> Option<Order> {
    order(&turns.each, turns.cycle, credits)
}

/// Returns `credit * to / from`, rounded, halves away from zero.
fn scaled(credit: i128, to: u32, from: u32) -> i64 {
    let (to, from) = (i128::from(to), i128::from(from));
    let rounded = (2 * credit * to + credit.signum() * from) / (2 * from);
    i64::try_from(rounded).unwrap_or(0)
}

impl Table for Schedule {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        self.circle.set_eligible(slot, eligible);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::Schedule;
    use crate::core::policy::SmoothWeightedRoundRobin;
    use crate::core::{Backend, Policy, Prepare, Status, View, Weight};
    use std::sync::Arc;

    /// Picks twice in one thread and once in another, and returns what was picked, sorted.
    fn three_picks(members: [Backend<&'static str>; 3]) -> Vec<usize> {
        let policy = SmoothWeightedRoundRobin::starting_at(0);
        let prepared = policy.prepare(&View::new(&members), None).unwrap();
        assert!(prepared.own_earlier::<Schedule>().is_some());
        let shared = Arc::new((policy, members, prepared));
        let pick = |shared: &(SmoothWeightedRoundRobin, [Backend<&str>; 3], _)| {
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

    #[test]
    fn loom_picks_of_two_threads_are_one_walk_along_the_schedule() {
        loom::model(|| {
            let two = Weight::new(2).unwrap();
            let [a, b, c] = ["a", "b", "c"].map(Backend::new);
            assert_eq!(three_picks([a.with_weight(two), b, c]), [0, 1, 2], "the order is a b c a");
        });
    }

    #[test]
    fn loom_an_excluded_member_costs_no_other_its_turn() {
        loom::model(|| {
            let [a, b, c] = ["a", "b", "c"].map(Backend::new);
            let picks = three_picks([a.with_status(Status::Draining), b, c]);
            assert_eq!(picks, [1, 1, 2], "the order is b c b");
        });
    }
}
