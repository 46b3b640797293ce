//! The levels of one membership.

use super::plan::plan;
use super::{PanicMode, PriorityConfig};
use crate::core::policy::groups::{Group, Groups};
use crate::core::{Candidate, PickError, Prepared, Rng, Table, View};
use crate::sync::{AtomicU32, Ordering};

/// Holds the levels, which members they have, and how much of the traffic each gets.
#[derive(Debug)]
pub(crate) struct PriorityTable {
    levels: Groups<Level>,
    config: PriorityConfig,
}

/// Tells what one level is and gets.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) priority: u32,
    /// Twice the percentage up to and including this level, plus one in panic.
    share: AtomicU32,
}

impl Level {
    #[inline]
    fn share(&self) -> (u32, bool) {
        let share = self.share.load(Ordering::Relaxed);
        (share / 2, share % 2 == 1)
    }

    /// Tells whether this level is in panic.
    #[inline]
    pub(super) fn is_panic(&self) -> bool {
        self.share().1
    }
}

impl PriorityTable {
    /// Sorts the slots of `view` into levels; `inner` prepares the inner policy for one of them.
    pub(super) fn new<C: Candidate>(
        view: &View<'_, C>,
        config: PriorityConfig,
        mut inner: impl FnMut(u32, &[u32]) -> Result<Prepared, PickError>,
    ) -> Result<Self, PickError> {
        let levels = Groups::new(view, C::priority, |priority, positions| {
            let level = Level { priority, share: AtomicU32::new(0) };
            inner(priority, positions).map(|prepared| (level, prepared))
        })?;
        levels.settle(|levels| share_out(levels, &config));
        Ok(Self { levels, config })
    }

    /// Returns the levels, the first to be used first.
    #[inline]
    pub(super) fn levels(&self) -> &[Group<Level>] {
        self.levels.all()
    }

    /// Draws a level by its part of the traffic, and tells whether it is in panic.
    #[inline]
    pub(super) fn draw(&self, rng: &Rng) -> (usize, bool) {
        let Some((up_to, panic)) = self.levels().first().map(|level| level.tag.share()) else {
            return (0, false);
        };
        // Mostly the first level gets everything, and then there is nothing to draw.
        if up_to >= 100 {
            return (0, panic);
        }
        let drawn = rng.below(100);
        // Looking at all is faster than stopping at the right one, which no branch predictor foresees.
        let passed = self.levels().iter().map(|level| usize::from(level.tag.share().0 as usize <= drawn));
        let level = passed.sum();
        self.levels().get(level).map_or((0, panic), |drawn| (level, drawn.tag.is_panic()))
    }

    #[inline]
    pub(super) fn fails_closed(&self) -> bool {
        self.config.panic_mode() == PanicMode::FailClosed
    }

    /// Returns what the inner policy had prepared for the level of this priority.
    pub(super) fn prepared_for(&self, priority: u32) -> Option<&Prepared> {
        let level = self.levels().iter().find(|level| level.tag.priority == priority)?;
        Some(&level.scope.prepared)
    }
}

impl Table for PriorityTable {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        self.levels.set_eligible(slot, eligible, |levels| share_out(levels, &self.config));
    }
}

fn share_out(levels: &[Group<Level>], config: &PriorityConfig) {
    let healths: Vec<_> = levels.iter().map(Group::health).collect();
    let mut up_to = 0;
    for (level, share) in levels.iter().zip(plan(&healths, config)) {
        up_to += share.load;
        level.tag.share.store(up_to * 2 + u32::from(share.panic), Ordering::Relaxed);
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::{PriorityConfig, PriorityTable, Table};
    use crate::core::{Backend, Prepared, Status, View};
    use std::sync::Arc;

    fn table(statuses: [Status; 3]) -> PriorityTable {
        let members = [(0, 0), (1, 0), (2, 1)].map(|(slot, priority): (usize, u32)| {
            Backend::new(slot).with_priority(priority).with_status(statuses[slot])
        });
        let prepare = |_, _: &[u32]| Ok(Prepared::none());
        PriorityTable::new(&View::new(&members), PriorityConfig::default(), prepare).unwrap()
    }

    fn shares(table: &PriorityTable) -> Vec<(u32, bool)> {
        table.levels().iter().map(|level| level.tag.share()).collect()
    }

    #[test]
    fn loom_racing_flips_end_with_the_plan_of_the_final_state() {
        loom::model(|| {
            let flipped = Arc::new(table([Status::Ready; 3]));
            let other = Arc::clone(&flipped);
            let thread = loom::thread::spawn(move || other.set_eligible(0, false));
            flipped.set_eligible(1, false);
            thread.join().unwrap();
            let expected = table([Status::Draining, Status::Draining, Status::Ready]);
            assert_eq!(shares(&flipped), shares(&expected));
        });
    }

    #[test]
    fn loom_opposite_flips_of_one_member_end_with_the_plan_of_its_last_state() {
        loom::model(|| {
            let flipped = Arc::new(table([Status::Ready; 3]));
            let other = Arc::clone(&flipped);
            let thread = loom::thread::spawn(move || other.set_eligible(0, true));
            flipped.set_eligible(0, false);
            thread.join().unwrap();
            let eligible = flipped.levels()[0].scope.eligibility.contains(0);
            let first = if eligible { Status::Ready } else { Status::Draining };
            assert_eq!(shares(&flipped), shares(&table([first, Status::Ready, Status::Ready])));
        });
    }
}
