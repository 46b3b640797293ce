//! The policy.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use super::table::LocalityTable;
use crate::core::policy::explain::{Explanation, Reason, Rehearsal};
use crate::core::{Candidate, Locality, PickError, Policy, Prepare, Prepared, Rng, Selection, View, Weight};

/// For how much more than its share a locality can do the work, in percent.
const OVERPROVISIONING: u32 = 140;

/// Says how [`LocalityWeighted`] came to its selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a decision does nothing until something is dispatched to it"]
pub struct LocalityDecision<'a> {
    /// The candidate.
    pub selection: Selection,
    /// Its locality, if it says one.
    pub locality: Option<&'a Locality>,
    /// Whether the view was in panic, so that localities were drawn by weight alone, sick or not.
    pub panic: bool,
}

/// Chooses a locality by its weight and by how healthy it is, and then a member of it by an inner policy.
///
/// Members that say no [`locality`](Candidate::locality) form one of their own.
///
/// 1. The weight of a locality is the sum of the weights of its members, or what [`with_weight`](Self::with_weight) says.
/// 2. What it can carry is `min(100 %, overprovisioning * healthy / total)`, in weights of its members. Overprovisioning is
///    140 %, so a locality keeps its full share until less than 100/140 of it is healthy.
/// 3. Its share is its weight times what it can carry, divided by the sum of these over all localities.
/// 4. In panic mode, the weights alone count.
/// 5. A locality is drawn by these shares. If nobody in it can be chosen, because all were tried before, say, another one is
///    drawn among the rest.
///
/// It has no panic mode of its own; within [`PriorityFailover`](crate::core::policy::PriorityFailover) each level has its localities, and
/// panics as a whole. The inner policy may divide a locality further.
///
/// Source: Envoy, "Locality weighted load balancing". What a locality can carry is not rounded here.
///
/// # Complexity
///
/// On a prepared view, the number of localities plus a pick of the inner policy. Without one, a scan of all candidates.
///
/// # Allocation
///
/// None per pick on a prepared view.
///
/// # Membership changes
///
/// Localities are sorted anew; each hands the inner policy what it had prepared before.
///
/// # Examples
///
/// ```
/// use poise::core::policy::{LocalityWeighted, RoundRobin};
/// use poise::core::{Backend, Locality, Status, View, Weight};
///
/// let (near, far) = (Locality::new("eu", "a"), Locality::new("eu", "b"));
/// let policy = LocalityWeighted::new(RoundRobin::new()).with_weight(&near, Weight::new(3)?);
/// let a = Backend::new("a").with_locality(near).with_status(Status::Draining);
/// let b = Backend::new("b").with_locality(far.clone());
/// let members = [a, b];
/// let decision = policy.decide(&View::new(&members), &())?;
/// assert_eq!((decision.selection.index(), decision.locality), (1, Some(&far)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LocalityWeighted<P> {
    inner: P,
    weights: BTreeMap<Locality, Weight>,
    overprovisioning: u32,
    rng: Rng,
}

impl<P> LocalityWeighted<P> {
    /// Makes the policy around an inner one.
    pub fn new(inner: P) -> Self {
        Self { inner, weights: BTreeMap::new(), overprovisioning: OVERPROVISIONING, rng: Rng::default() }
    }

    /// Gives a locality this weight, whatever its members weigh. It stands beside the sums of the localities that were not
    /// given one.
    #[must_use]
    pub fn with_weight(mut self, locality: &Locality, weight: Weight) -> Self {
        self.weights.insert(locality.clone(), weight);
        self
    }

    /// Sets for how much more than its share of members a locality can do the work, in percent.
    ///
    /// # Errors
    ///
    /// [`InvalidOverprovisioning`] below 100.
    pub fn with_overprovisioning_percent(self, percent: u32) -> Result<Self, InvalidOverprovisioning> {
        if percent < 100 {
            return Err(InvalidOverprovisioning { percent });
        }
        Ok(Self { overprovisioning: percent, ..self })
    }

    /// Makes the draw of localities reproducible.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { rng: Rng::seeded_apart(seed, "locality"), ..self }
    }

    /// Chooses as [`Policy::pick_from`] does, and says how.
    ///
    /// # Errors
    ///
    /// As [`Policy::pick_from`].
    pub fn decide<'a, C, K>(&self, view: &View<'a, C>, key: &K) -> Result<LocalityDecision<'a>, PickError>
    where
        C: Candidate,
        K: ?Sized,
        P: Policy<C, K>,
    {
        let selection = self.pick_from(view, key)?;
        let locality = view.candidates().get(selection.index()).and_then(C::locality);
        Ok(LocalityDecision { selection, locality, panic: view.is_panic() })
    }

    /// A pick on a view that brings no table.
    #[cold]
    fn pick_unprepared<C, K>(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError>
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
        let nothing = |_: Option<&Locality>, _: &[u32]| Ok(Prepared::none());
        let table = LocalityTable::new(&view, &self.weights, self.overprovisioning, nothing)?;
        self.pick_by(&table, &view, key)
    }

    #[inline]
    fn pick_by<C, K>(
        &self,
        table: &LocalityTable,
        view: &View<'_, C>,
        key: &K,
    ) -> Result<Selection, PickError>
    where
        C: Candidate,
        K: ?Sized,
        P: Policy<C, K>,
    {
        table.serve(&self.rng, view.is_panic(), |lane, group| {
            self.inner.pick_from(&view.inner(&group.scope, lane, false), key)
        })
    }
}

impl<P: Default> Default for LocalityWeighted<P> {
    fn default() -> Self {
        Self::new(P::default())
    }
}

impl<C: Candidate, P: Prepare<C>> Prepare<C> for LocalityWeighted<P> {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        if view.is_empty() {
            return Ok(Prepared::none());
        }
        let earlier = previous.and_then(Prepared::own_earlier::<LocalityTable>);
        let table = LocalityTable::new(view, &self.weights, self.overprovisioning, |locality, positions| {
            let earlier = earlier.and_then(|table| table.prepared_for(locality));
            self.inner.prepare(&view.part(positions), earlier)
        })?;
        Ok(Prepared::keep(view.len(), table))
    }
}

impl<C: Candidate, K: ?Sized, P: Policy<C, K>> Policy<C, K> for LocalityWeighted<P> {
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        match view.own_table::<LocalityTable>() {
            Some(table) => self.pick_by(table, view, key),
            None => self.pick_unprepared(view, key),
        }
    }

    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        let (weights, overprovisioning) = (self.weights.clone(), self.overprovisioning);
        self.rng.rehearse(|rng| {
            let inner = Rehearsal::new(&self.inner);
            let policy = LocalityWeighted { inner, weights, overprovisioning, rng };
            let LocalityDecision { locality, panic, .. } = policy.decide(view, key)?;
            let locality = locality.cloned();
            Ok(policy.inner.within(Reason::Locality { locality, panic }))
        })
    }
}

/// Reports an overprovisioning below 100 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidOverprovisioning {
    /// What was asked for.
    pub percent: u32,
}

impl fmt::Display for InvalidOverprovisioning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "overprovisioning of {} % is below 100 %", self.percent)
    }
}

impl Error for InvalidOverprovisioning {}
