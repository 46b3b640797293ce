//! The least loaded of all.

use super::choices::least;
use super::explain::Explanation;
use super::power_of_two::relative_load;
use crate::core::{Candidate, LoadMetric, PickError, Policy, Prepare, Rng, Selection, View};

/// Chooses the least loaded of all eligible candidates.
///
/// Load is divided by the weight, and by the part of it that a candidate gets while it ramps up. Among equals chance
/// decides. Each candidate is measured once per pick, so loads that change meanwhile cannot make it contradict itself.
///
/// Prefer [`PowerOfTwoChoices`](super::PowerOfTwoChoices) when several clients balance over the same endpoints: all of
/// them would run to the same least loaded one.
///
/// # Complexity
///
/// One scan.
///
/// # Allocation
///
/// None.
///
/// # Membership changes
///
/// There is no state that could be affected.
///
/// # Examples
///
/// ```
/// use poise::core::policy::LeastLoaded;
/// use poise::core::{Backend, Policy, Weight};
///
/// let backends = [
///     Backend::new("a").with_load(4.0).with_weight(Weight::new(4)?),
///     Backend::new("b").with_load(2.0),
/// ];
/// assert_eq!(LeastLoaded::new().pick(&backends, &())?.index(), 0, "1 per unit of weight against 2");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct LeastLoaded {
    rng: Rng,
}

impl LeastLoaded {
    /// Makes a policy that breaks ties with the generator of the thread.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a policy whose picks are reproducible in the order in which they happen.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { rng: Rng::seeded(seed) }
    }
}

impl<C: Candidate> Prepare<C> for LeastLoaded {}

impl<C: Candidate<Load: LoadMetric>, K: ?Sized> Policy<C, K> for LeastLoaded {
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, _: &K) -> Result<Selection, PickError> {
        let now = view.now();
        view.least(&self.rng, |candidate| relative_load(candidate, now))
    }

    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        let selection = self.rng.rehearse(|rng| Self { rng }.pick_from(view, key))?;
        Ok(Explanation::new(selection, least(view, selection, None, relative_load)))
    }
}
