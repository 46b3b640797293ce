//! The policy.

use std::hash::Hash;
use std::sync::Arc;

use super::UtilizationReports;
use super::table::Turns;
use crate::core::policy::identity::{ByIdentity, fingerprint, sorted};
use crate::core::policy::unprepared::Unprepared;
use crate::core::view::{DRAWS, Memo};
use crate::core::{Candidate, PickError, Policy, Prepare, Prepared, Rng, Selection, View};

/// Chooses each in turn, as often as what it reports of its utilisation says.
///
/// A member that serves `qps` requests per second at a utilisation has the weight `qps / (utilization + eps / qps * penalty)`,
/// where `eps` are those that fail: the requests that it would serve if it were fully busy. So members of different speed come
/// to the same utilisation. Weights are read from the [`UtilizationReports`] once in an update period, a second by default.
///
/// - A weight counts when its member has reported for a blackout period, and is void after a silence as long as the expiry.
/// - Members without a weight get the mean of the others. With fewer than two weights all have the same number of turns.
/// - Members whose turn it is and that cannot be chosen are passed over; after eight of them one is drawn by weight.
/// - Who [ramps up](Candidate::ramp) takes each of its turns with the chance of its part and otherwise counts as passed over, so
///   that it gets that part of its weight.
///
/// Static weights are not looked at. A new policy starts at a random turn; [`starting_at`](Self::starting_at) fixes that, and
/// what is decided by chance.
///
/// Source: gRPC A58, `weighted_round_robin`, and its static stride scheduler.
///
/// # Complexity
///
/// On a prepared view, the largest weight divided by the mean one: offers of a turn that are declined before one is taken, a
/// few instructions each. Once in an update period one pick reads all weights, O(n). Threads that pick at the same time
/// contend for one cache line. No lock is taken. On a plain slice each pick hashes every identity, and takes a lock, to find
/// the turns among the last four that it built.
///
/// # Allocation
///
/// None per pick on a prepared view, also when weights are read.
///
/// # Membership changes
///
/// Reports follow identity: who stays keeps its weight. The walk goes on where it was.
///
/// # Examples
///
/// ```
/// use poise::core::policy::{UtilizationConfig, UtilizationReport, UtilizationReports, UtilizationWeighted};
/// use poise::core::{Backend, Now, Policy, Prepare, View};
/// use std::sync::Arc;
/// use std::time::{Duration, Instant};
///
/// let config = UtilizationConfig::new().with_blackout(Duration::ZERO);
/// let reports = Arc::new(UtilizationReports::with_config(config));
/// let policy = UtilizationWeighted::starting_at(Arc::clone(&reports), 0);
///
/// let start = Instant::now();
/// let members = ["a", "b", "c"].map(Backend::new);
/// let prepared = policy.prepare(&View::new(&members).at(start), None)?;
/// for (id, utilization) in [("a", 0.9), ("b", 0.45), ("c", 0.3)] {
///     reports.record(id, UtilizationReport::new(100.0, utilization), &Now::at(start));
/// }
/// let later = start + Duration::from_secs(1);
/// let pick = || policy.pick_from(&View::new(&members).prepared(&prepared).at(later), &());
/// let picks = [(); 6].map(|()| pick().map(|selection| selection.index()));
/// assert_eq!(picks, [Ok(1), Ok(2), Ok(2), Ok(0), Ok(1), Ok(2)], "weights 1, 2 and 3");
/// # Ok::<(), poise::core::PickError>(())
/// ```
#[derive(Debug)]
pub struct UtilizationWeighted {
    reports: Arc<UtilizationReports>,
    start: Option<u64>,
    rng: Rng,
    unprepared: Unprepared,
}

/// Starts lie below this: far from where positions wrap, and more than any cycle.
const STARTS: usize = 1 << 31;

impl UtilizationWeighted {
    /// Makes a policy that starts at a random turn.
    #[must_use]
    pub fn over(reports: Arc<UtilizationReports>) -> Self {
        Self { reports, start: None, rng: Rng::thread(), unprepared: Unprepared::new() }
    }

    /// Makes a policy that starts at this offer of a turn, counted over all members, and whose picks are reproducible.
    #[must_use]
    pub fn starting_at(reports: Arc<UtilizationReports>, offer: u64) -> Self {
        Self { start: Some(offer), rng: Rng::seeded(offer), ..Self::over(reports) }
    }

    /// Returns the reports.
    #[must_use]
    pub const fn reports(&self) -> &Arc<UtilizationReports> {
        &self.reports
    }

    fn build<C: Candidate<Id: Hash>>(
        &self,
        view: &View<'_, C>,
        previous: Option<&Prepared>,
    ) -> Result<Prepared, PickError> {
        let previous = previous.and_then(Prepared::own_earlier::<Turns>);
        let start = || self.start.unwrap_or_else(|| Rng::thread().below(STARTS) as u64);
        let start = previous.map_or_else(start, Turns::position);
        let turns = Turns::new(&sorted(view, &ByIdentity)?, &self.reports, start, view.now().nanos());
        Ok(Prepared::keep(view.len(), turns))
    }

    fn choose<C: Candidate>(&self, view: &View<'_, C>, turns: &Turns) -> Result<Selection, PickError> {
        turns.refresh(self.reports.config(), view.now().nanos());
        let mut memo = Memo::new();
        match turns.serve(view, &self.rng, &mut memo) {
            Some(slot) => Ok(view.select(slot)),
            None => self.choose_by_chance(view, turns, memo),
        }
    }

    /// The part of a pick for when those whose turn it was could not be chosen.
    #[cold]
    fn choose_by_chance<C: Candidate>(
        &self,
        view: &View<'_, C>,
        turns: &Turns,
        memo: Memo<DRAWS>,
    ) -> Result<Selection, PickError> {
        let accepted = |_| view.draw_slot(&self.rng).filter(|slot| turns.accepts(&self.rng, *slot));
        let weight = |slot, _: &C| u32::try_from(turns.weight(slot)).unwrap_or(u32::MAX);
        view.draw_by_part(&self.rng, memo, None, || (0..DRAWS).find_map(accepted), weight)
    }

    #[cold]
    fn unprepared<C: Candidate<Id: Hash>>(&self, view: &View<'_, C>) -> Result<Selection, PickError> {
        let build = |last: Option<&Prepared>| self.build(view, last);
        let prepared = self.unprepared.get_or_follow(fingerprint(view, &ByIdentity), build)?;
        let turns = prepared.own::<Turns>(view.len()).ok_or(PickError::InconsistentTopology)?;
        self.choose(view, turns)
    }
}

impl Clone for UtilizationWeighted {
    /// Makes a policy over the same reports that starts at a random turn.
    fn clone(&self) -> Self {
        Self::over(Arc::clone(&self.reports))
    }
}

impl<C: Candidate<Id: Hash>> Prepare<C> for UtilizationWeighted {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        if view.is_empty() { Ok(Prepared::none()) } else { self.build(view, previous) }
    }
}

impl<C: Candidate<Id: Hash>, K: ?Sized> Policy<C, K> for UtilizationWeighted {
    fn pick_from(&self, view: &View<'_, C>, _: &K) -> Result<Selection, PickError> {
        if view.is_empty() {
            return Err(PickError::Empty);
        }
        match view.own_table::<Turns>() {
            Some(turns) => self.choose(view, turns),
            None => self.unprepared(view),
        }
    }
}
