//! The levels of one membership.

use super::plan::{Health, plan};
use super::{PanicMode, PriorityConfig};
use crate::core::view::Scope;
use crate::core::{Candidate, Eligibility, Exclusions, PickError, Prepared, Table, View};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Holds the levels, which members they have, and how much of the traffic each gets.
#[derive(Debug)]
pub(super) struct PriorityTable {
    pub(super) levels: Box<[Level]>,
    /// The level of each slot, and its slot there.
    homes: Box<[(u32, u32)]>,
    config: PriorityConfig,
    /// Counts flips, so that of several threads that recompute the plan the last one has seen all.
    flips: AtomicU64,
}

/// Holds one level.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) priority: u32,
    pub(super) scope: Scope,
    weights: Box<[u32]>,
    total: u64,
    healthy: AtomicU64,
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
        let mut order = Vec::with_capacity(view.len());
        for (index, slot) in (0..view.len()).zip(0u32..) {
            let candidate = view.candidate(index).ok_or(PickError::InconsistentTopology)?;
            order.push((candidate.priority(), slot));
        }
        order.sort_unstable();
        let mut homes = vec![(0, 0); view.len()].into_boxed_slice();
        let mut levels = Vec::new();
        for (level, members) in (0u32..).zip(order.chunk_by(|a, b| a.0 == b.0)) {
            for (local, (_, slot)) in (0u32..).zip(members) {
                homes[*slot as usize] = (level, local);
            }
            levels.push(level_of(view, members, &mut inner)?);
        }
        let table = Self { levels: levels.into(), homes, config, flips: AtomicU64::new(0) };
        table.recompute();
        Ok(table)
    }

    /// Returns the level that gets the `x`-th percent of the traffic, `x` in `1..=100`.
    #[inline]
    pub(super) fn level_at(&self, x: u32) -> usize {
        self.levels.iter().position(|level| level.share().0 >= x).unwrap_or(0)
    }

    #[inline]
    pub(super) fn fails_closed(&self) -> bool {
        self.config.panic_mode() == PanicMode::FailClosed
    }

    /// Returns what the inner policy had prepared for the level of this priority.
    pub(super) fn prepared_for(&self, priority: u32) -> Option<&Prepared> {
        let level = self.levels.iter().find(|level| level.priority == priority)?;
        Some(&level.scope.prepared)
    }

    fn recompute(&self) {
        loop {
            let seen = self.flips.load(Ordering::Acquire);
            let healths: Vec<_> = self
                .levels
                .iter()
                .map(|level| Health { healthy: level.healthy.load(Ordering::Relaxed), total: level.total })
                .collect();
            let mut up_to = 0;
            for (level, share) in self.levels.iter().zip(plan(&healths, &self.config)) {
                up_to += share.load;
                level.share.store(up_to * 2 + u32::from(share.panic), Ordering::Relaxed);
            }
            // Whoever flips afterwards recomputes too; whoever flipped meanwhile may have been overwritten here. A
            // read-modify-write sees the last count, where a load may see an old one, and by releasing it puts the
            // shares above before those of whoever flips next.
            let last = self.flips.compare_exchange(seen, seen, Ordering::AcqRel, Ordering::Relaxed);
            if last.is_ok() {
                return;
            }
        }
    }
}

impl Table for PriorityTable {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        let Some((level, local)) = self.homes.get(slot).copied() else { return };
        let level = &self.levels[level as usize];
        if !level.scope.set_eligible(local as usize, eligible) {
            return;
        }
        let weight = u64::from(level.weights[local as usize]);
        if eligible {
            level.healthy.fetch_add(weight, Ordering::Relaxed);
        } else {
            level.healthy.fetch_sub(weight, Ordering::Relaxed);
        }
        // Released with the new weight, so that whoever recomputes after this count has seen it.
        self.flips.fetch_add(1, Ordering::AcqRel);
        self.recompute();
    }
}

fn level_of<C: Candidate>(
    view: &View<'_, C>,
    members: &[(u32, u32)],
    inner: &mut impl FnMut(u32, &[u32]) -> Result<Prepared, PickError>,
) -> Result<Level, PickError> {
    let slots: Vec<usize> = members.iter().map(|(_, slot)| *slot as usize).collect();
    let positions: Box<[u32]> =
        slots.iter().map(|slot| u32::try_from(view.position(*slot)).unwrap_or(u32::MAX)).collect();
    let weights: Box<[u32]> = slots
        .iter()
        .map(|slot| view.candidate(*slot).map_or(1, |candidate| candidate.weight().value()))
        .collect();
    let eligibility = Eligibility::new(slots.len(), |local| {
        view.exclusions_at(slots[local]).only(Exclusions::SLOW).is_empty()
    });
    let healthy = (0..slots.len()).filter(|local| eligibility.contains(*local));
    let healthy = healthy.map(|local| u64::from(weights[local])).sum();
    let priority = members.first().map_or(0, |(priority, _)| *priority);
    let prepared = inner(priority, &positions)?;
    Ok(Level {
        priority,
        scope: Scope { positions, eligibility, prepared },
        total: weights.iter().map(|weight| u64::from(*weight)).sum(),
        weights,
        healthy: AtomicU64::new(healthy),
        share: AtomicU32::new(0),
    })
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
        table.levels.iter().map(super::Level::share).collect()
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
            let eligible = flipped.levels[0].scope.eligibility.contains(0);
            let first = if eligible { Status::Ready } else { Status::Draining };
            assert_eq!(shares(&flipped), shares(&table([first, Status::Ready, Status::Ready])));
        });
    }
}
