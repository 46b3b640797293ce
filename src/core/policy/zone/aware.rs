//! The policy.

use super::callers::{Callers, Zone, zone_of};
use super::table::{Home, ZoneTable};
use crate::core::policy::explain::{Explanation, Reason, Rehearsal};
use crate::core::{Candidate, Locality, PickError, Policy, Prepare, Prepared, Rng, Selection, View};

/// Below so many healthy members, a zone is too little to keep traffic in.
const MIN_HEALTHY: usize = 6;

/// Says how [`ZoneAware`] came to its selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a decision does nothing until something is dispatched to it"]
pub struct ZoneDecision<'a> {
    /// The candidate.
    pub selection: Selection,
    /// Where it runs, if it says so.
    pub zone: Option<&'a Locality>,
    /// Whether that is the own zone.
    pub local: bool,
}

/// Keeps traffic in the own zone as far as that zone can carry it, and then chooses a member by an inner policy.
///
/// A zone is a region and a zone in it; what is below a zone does not matter. Members that say no
/// [`locality`](Candidate::locality) form a zone without callers.
///
/// 1. A zone holds a share of the healthy members, by weight, and a share of the callers. The callers are those that balance
///    over the same members, this one included.
/// 2. When the own zone holds at least as great a share of the members as of the callers, everything stays in it.
/// 3. Otherwise the part `members / callers` of these shares stays, and the rest goes to the zones that have more members
///    than callers, in proportion to the surplus.
/// 4. If nobody in the drawn zone can be chosen, another one is drawn among the rest.
///
/// When every caller does so, all members carry the same. Zones are not told apart, and the inner policy sees all members at
/// once, below six healthy members, in panic mode, and when the own zone is unknown or has no members.
///
/// Source: Envoy, "Zone aware routing". Shares are compared exactly here, not in parts of 10,000.
///
/// # Complexity
///
/// On a prepared view, the number of zones plus a pick of the inner policy. Without one, a scan of all candidates.
///
/// # Allocation
///
/// None per pick on a prepared view.
///
/// # Membership changes
///
/// Zones are sorted anew; each hands the inner policy what it had prepared before. What the inner policy prepares is kept
/// twice: by zone, and for all members.
///
/// # Examples
///
/// ```
/// use poise::core::policy::{Random, ZoneAware};
/// use poise::core::{Backend, Locality, View};
///
/// let zones = ["a", "b", "c"].map(|zone| Locality::new("eu", zone));
/// let members: Vec<_> = (0..9).map(|at| Backend::new(at).with_locality(zones[at % 3].clone())).collect();
/// let policy = ZoneAware::new(Random::new(), zones[1].clone());
/// let decision = policy.decide(&View::new(&members), &())?;
/// assert!(decision.local, "each zone has a third of the members, and is taken to have a third of the callers");
/// # Ok::<(), poise::core::PickError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ZoneAware<P> {
    inner: P,
    own: Option<Locality>,
    callers: Option<Callers>,
    min_healthy: usize,
    rng: Rng,
}

impl<P> ZoneAware<P> {
    /// Makes the policy of a caller in this zone around an inner one. Without a zone, the inner policy sees all members.
    pub fn new(inner: P, own: impl Into<Option<Locality>>) -> Self {
        Self { inner, own: own.into(), callers: None, min_healthy: MIN_HEALTHY, rng: Rng::default() }
    }

    /// Says how many callers each zone has, in any unit. Until then they are taken to be spread evenly over the zones that
    /// have members.
    ///
    /// Whoever prepares views prepares them anew with the changed policy.
    #[must_use]
    pub fn with_callers(self, callers: impl IntoIterator<Item = (Locality, u32)>) -> Self {
        Self { callers: Some(Callers::of(callers)), ..self }
    }

    /// Sets how many healthy members there must be for zones to be told apart; six by default.
    #[must_use]
    pub fn with_min_healthy(self, members: usize) -> Self {
        Self { min_healthy: members, ..self }
    }

    /// Makes the draw of zones reproducible.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { rng: Rng::seeded_apart(seed, "zone"), ..self }
    }

    /// Chooses as [`Policy::pick_from`] does, and says how.
    ///
    /// # Errors
    ///
    /// As [`Policy::pick_from`].
    pub fn decide<'a, C, K>(&self, view: &View<'a, C>, key: &K) -> Result<ZoneDecision<'a>, PickError>
    where
        C: Candidate,
        K: ?Sized,
        P: Policy<C, K>,
    {
        let selection = self.pick_from(view, key)?;
        let zone = view.candidates().get(selection.index()).and_then(C::locality);
        let own = self.own.as_ref().map(zone_of);
        Ok(ZoneDecision { selection, zone, local: own.is_some() && zone.map(zone_of) == own })
    }

    fn home(&self) -> Home<'_> {
        Home { own: self.own.as_ref(), callers: self.callers.as_ref(), min_healthy: self.min_healthy }
    }

    fn pick_by<C, K>(&self, table: &ZoneTable, view: &View<'_, C>, key: &K) -> Result<Selection, PickError>
    where
        C: Candidate,
        K: ?Sized,
        P: Policy<C, K>,
    {
        if view.is_panic() || !table.is_divided() {
            return self.inner.pick_from(&view.for_inner(&table.everybody, table.len()), key);
        }
        table
            .serve(&self.rng, |lane, group| self.inner.pick_from(&view.inner(&group.scope, lane, false), key))
    }
}

impl<C: Candidate, P: Prepare<C>> Prepare<C> for ZoneAware<P> {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        let earlier = previous.and_then(Prepared::own_earlier::<ZoneTable>);
        let everybody = self.inner.prepare(view, earlier.map(|table| &table.everybody))?;
        let table = ZoneTable::new(view, self.home(), everybody, |zone, positions| {
            let earlier = earlier.and_then(|table| table.prepared_for(zone));
            self.inner.prepare(&view.part(positions), earlier)
        })?;
        Ok(Prepared::keep(view.len(), table))
    }
}

impl<C: Candidate, K: ?Sized, P: Policy<C, K>> Policy<C, K> for ZoneAware<P> {
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        if view.is_empty() {
            return Err(PickError::Empty);
        }
        if let Some(table) = view.own_table::<ZoneTable>() {
            return self.pick_by(table, view, key);
        }
        let known = view.sample_all();
        let view = view.knowing(&known);
        let nothing = |_: Option<Zone<'_>>, _: &[u32]| Ok(Prepared::none());
        let table = ZoneTable::new(&view, self.home(), Prepared::none(), nothing)?;
        self.pick_by(&table, &view, key)
    }

    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        let (own, callers, min_healthy) = (self.own.clone(), self.callers.clone(), self.min_healthy);
        self.rng.rehearse(|rng| {
            let inner = Rehearsal::new(&self.inner);
            let policy = ZoneAware { inner, own, callers, min_healthy, rng };
            let ZoneDecision { zone, local, .. } = policy.decide(view, key)?;
            let zone = zone.cloned();
            Ok(policy.inner.within(Reason::Zone { zone, local }))
        })
    }
}
