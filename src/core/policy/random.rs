//! Any eligible candidate, with the same chance.

use super::explain::{Explanation, Reason};
use crate::core::{Candidate, PickError, Policy, Prepare, Rng, Selection, View};

/// Chooses any eligible candidate, all with the same chance.
///
/// Weights are not looked at. A candidate that [ramps up](Candidate::ramp) gets that part of the chance.
///
/// # Complexity
///
/// Constant with an eligibility, whatever part is excluded. On a plain slice constant while a fair part is eligible, and
/// one scan at worst.
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
/// use poise::core::policy::Random;
/// use poise::core::{Backend, Policy};
///
/// let backends = ["a", "b", "c"].map(Backend::new);
/// assert!(Random::seeded(7).pick(&backends, &())?.index() < 3);
/// # Ok::<(), poise::core::PickError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Random {
    rng: Rng,
}

impl Random {
    /// Makes a policy that draws from the generator of the thread.
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

impl<C: Candidate> Prepare<C> for Random {}

impl<C: Candidate, K: ?Sized> Policy<C, K> for Random {
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, _: &K) -> Result<Selection, PickError> {
        view.uniform(&self.rng)
    }

    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        let selection = self.rng.rehearse(|rng| Self { rng }.pick_from(view, key))?;
        Ok(Explanation::new(selection, Reason::Chance))
    }
}
