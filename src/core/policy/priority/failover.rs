//! The policy.

use super::PriorityConfig;
use super::table::PriorityTable;
use crate::core::policy::explain::{Explanation, Reason, Rehearsal};
use crate::core::policy::groups::Refusals;
use crate::core::{Candidate, ExclusionCounts, PickError, Policy, Prepare, Prepared, Rng, Selection, View};

/// Says how [`PriorityFailover`] came to its selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a decision does nothing until something is dispatched to it"]
pub struct PriorityDecision {
    /// The candidate.
    pub selection: Selection,
    /// The priority of its level.
    pub level: u32,
    /// Whether its level is in panic, so that the verdicts of health were overridden.
    pub panic: bool,
}

/// Chooses a level by how healthy the levels are, and then a member of it by an inner policy.
///
/// Members with the lowest [`priority`](Candidate::priority) form the first level. As long as it is healthy enough it gets
/// all the traffic; as it weakens, the next ones get the part that it cannot carry:
///
/// 1. The health of a level is `min(100, overprovisioning * healthy / total)`, in weights; at least 1 while anybody in it
///    is eligible.
/// 2. Each level in turn gets `health * 100 / min(100, sum of healths)` percent of the traffic until all is given out;
///    what rounding leaves goes to the first level that has any health.
/// 3. When the healths do not add up to 100, a level whose healthy part is below the panic threshold is in panic, and does
///    what [`PanicMode`](super::PanicMode) says. When every level is, each gets traffic by the weight of its members.
/// 4. A level is drawn by these percentages. If nobody in it can be chosen, because all were tried before, say, the others
///    are asked in order.
///
/// Whether the healths add up, and whether a level is below the threshold, is decided without rounding. The inner policy may
/// divide its level further, and may panic by itself there.
///
/// Source: Envoy, "Priority levels" and "Panic threshold".
///
/// # Complexity
///
/// On a prepared view, the number of levels plus a pick of the inner policy. Without one, a scan of all candidates.
///
/// # Allocation
///
/// None per pick on a prepared view.
///
/// # Membership changes
///
/// Levels are sorted anew; each level hands the inner policy what it had prepared before.
///
/// # Examples
///
/// ```
/// use poise::core::policy::{PriorityFailover, RoundRobin};
/// use poise::core::{Backend, Policy, Status};
///
/// let policy = PriorityFailover::new(RoundRobin::new());
/// let primary = Backend::new("primary");
/// let standby = Backend::new("standby").with_priority(1);
/// assert_eq!(policy.pick(&[primary.clone(), standby.clone()], &())?.index(), 0);
/// assert_eq!(policy.pick(&[primary.with_status(Status::Draining), standby], &())?.index(), 1);
/// # Ok::<(), poise::core::PickError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PriorityFailover<P> {
    inner: P,
    config: PriorityConfig,
    rng: Rng,
}

impl<P> PriorityFailover<P> {
    /// Makes the policy around an inner one, with the default configuration.
    pub fn new(inner: P) -> Self {
        Self { inner, config: PriorityConfig::default(), rng: Rng::default() }
    }

    /// Sets when levels spill and when they panic.
    #[must_use]
    pub fn with_config(self, config: PriorityConfig) -> Self {
        Self { config, ..self }
    }

    /// Makes the draw of levels reproducible.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { rng: Rng::seeded_apart(seed, "priority"), ..self }
    }

    /// Chooses as [`Policy::pick_from`] does, and says how.
    ///
    /// # Errors
    ///
    /// As [`Policy::pick_from`].
    #[inline]
    pub fn decide<C, K>(&self, view: &View<'_, C>, key: &K) -> Result<PriorityDecision, PickError>
    where
        C: Candidate,
        K: ?Sized,
        P: Policy<C, K>,
    {
        match view.own_table::<PriorityTable>() {
            Some(table) => self.decide_by(table, view, key),
            None => self.decide_unprepared(view, key),
        }
    }

    /// A decision on a view that brings no table.
    #[cold]
    fn decide_unprepared<C, K>(&self, view: &View<'_, C>, key: &K) -> Result<PriorityDecision, PickError>
    where
        C: Candidate,
        K: ?Sized,
        P: Policy<C, K>,
    {
        if view.is_empty() {
            return Err(PickError::Empty);
        }
        let known = view.sample_all();
        let view = view.knowing(&known);
        let table = PriorityTable::new(&view, self.config, |_, _| Ok(Prepared::none()))?;
        self.decide_by(&table, &view, key)
    }

    #[inline]
    fn decide_by<C, K>(
        &self,
        table: &PriorityTable,
        view: &View<'_, C>,
        key: &K,
    ) -> Result<PriorityDecision, PickError>
    where
        C: Candidate,
        K: ?Sized,
        P: Policy<C, K>,
    {
        let (drawn, panic) = table.draw(&self.rng);
        let Some(level) = table.levels().get(drawn).filter(|_| !panic) else {
            let pick = self.pick_in(table, (drawn, panic), view, key);
            return self.decide_beyond(table, drawn, pick, view, key);
        };
        let panic = view.is_panic();
        match self.inner.pick_from(&view.inner(&level.scope, drawn, panic), key) {
            Ok(selection) => Ok(PriorityDecision { selection, level: level.tag.priority, panic }),
            Err(error) => self.decide_beyond(table, drawn, Err(error), view, key),
        }
    }

    /// The part of a decision for when the level that was drawn is in panic or had nobody.
    #[cold]
    #[inline(never)]
    fn decide_beyond<C, K>(
        &self,
        table: &PriorityTable,
        drawn: usize,
        first: Result<PriorityDecision, PickError>,
        view: &View<'_, C>,
        key: &K,
    ) -> Result<PriorityDecision, PickError>
    where
        C: Candidate,
        K: ?Sized,
        P: Policy<C, K>,
    {
        let mut refusals = Refusals::default();
        if let Some(decision) = refusals.take(first)? {
            return Ok(decision);
        }
        let levels = table.levels().iter().enumerate().filter(|(lane, _)| *lane != drawn);
        for (lane, level) in levels {
            let pick = self.pick_in(table, (lane, level.tag.is_panic()), view, key);
            if let Some(decision) = refusals.take(pick)? {
                return Ok(decision);
            }
        }
        Err(refusals.into_error())
    }

    /// Picks in one level, which is in panic or not.
    #[inline(never)]
    fn pick_in<C, K>(
        &self,
        table: &PriorityTable,
        (lane, panic): (usize, bool),
        view: &View<'_, C>,
        key: &K,
    ) -> Result<PriorityDecision, PickError>
    where
        C: Candidate,
        K: ?Sized,
        P: Policy<C, K>,
    {
        let level = table.levels().get(lane).ok_or(PickError::Empty)?;
        if panic && table.fails_closed() && !view.is_panic() {
            let refusal = view.inner(&level.scope, lane, false).refuse();
            return Err(PickError::PanicRejected(reasons(refusal)));
        }
        let inner = view.inner(&level.scope, lane, panic);
        let selection = self.inner.pick_from(&inner, key)?;
        Ok(PriorityDecision { selection, level: level.tag.priority, panic: inner.is_panic() })
    }
}

fn reasons(error: PickError) -> ExclusionCounts {
    match error {
        PickError::NoEligible(counts) => counts,
        _ => ExclusionCounts::default(),
    }
}

impl<C: Candidate, P: Prepare<C>> Prepare<C> for PriorityFailover<P> {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        let earlier = previous.and_then(Prepared::own_earlier::<PriorityTable>);
        let table = PriorityTable::new(view, self.config, |priority, positions| {
            self.inner.prepare(&view.part(positions), earlier.and_then(|table| table.prepared_for(priority)))
        })?;
        Ok(Prepared::keep(view.len(), table))
    }
}

impl<C: Candidate, K: ?Sized, P: Policy<C, K>> Policy<C, K> for PriorityFailover<P> {
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        self.decide(view, key).map(|decision| decision.selection)
    }

    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        let (inner, config) = (Rehearsal::new(&self.inner), self.config);
        self.rng.rehearse(|rng| {
            let policy = PriorityFailover { inner, config, rng };
            let PriorityDecision { level, panic, .. } = policy.decide(view, key)?;
            Ok(policy.inner.within(Reason::Level { level, panic }))
        })
    }
}
