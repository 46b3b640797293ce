//! The policy.

use super::classes::Classes;
use crate::core::policy::explain::{Explanation, Reason};
use crate::core::{Candidate, PickError, Policy, Prepare, Prepared, Rng, Selection, View};

/// Chooses any eligible candidate, with a chance in proportion to its weight.
///
/// The shares are exact among the candidates that are eligible, whatever part is excluded: what an excluded one would get
/// goes to all others by weight, not to a neighbour. A candidate that ramps up gets that part of its weight.
///
/// 1. Members are sorted into classes by the three leading bits of their weights, at most 123, each with its own hints of who
///    is eligible and with its largest weight.
/// 2. A pick draws a class in proportion to the number of its eligible members times its largest weight, and one of these
///    members, all with the same chance.
/// 3. It accepts the member with the chance of its weight divided by the largest, at least four fifths and for weights below
///    eight one, and draws again otherwise, as it does when the member turns out to be excluded.
/// 4. After several misses, one scan draws from all that are eligible.
///
/// Source: rejection sampling over classes, as in Y. Matias, J. S. Vitter and W.-C. Ni, "Dynamic generation of discrete
/// random variates", Theory of Computing Systems 36(4), 2003, with one level of classes.
///
/// # Complexity
///
/// On a prepared view, the number of classes, which is small beside a scan, whatever part is excluded; in panic mode while a
/// fair part can be chosen. On a plain slice, one scan.
///
/// # Allocation
///
/// None per pick.
///
/// # Membership changes
///
/// The classes are sorted anew, in O(n). An exclusion flips bits of one class and changes the sums of those after it.
///
/// # Examples
///
/// ```
/// use poise::core::policy::WeightedRandom;
/// use poise::core::{Backend, Policy, Weight};
///
/// let backends = [Backend::new("light"), Backend::new("heavy").with_weight(Weight::new(9)?)];
/// let policy = WeightedRandom::seeded(7);
/// let heavy = (0..1_000).filter(|_| policy.pick(&backends, &()).is_ok_and(|selection| selection.index() == 1));
/// assert!((850..950).contains(&heavy.count()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct WeightedRandom {
    rng: Rng,
}

impl WeightedRandom {
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

    #[inline]
    fn pick_by<C: Candidate>(&self, classes: &Classes, view: &View<'_, C>) -> Result<Selection, PickError> {
        let Some(slot) = classes.draw(&self.rng, view.is_panic()) else { return self.scan_all(view) };
        let exclusions = view.exclusions_at(slot);
        if exclusions.is_empty() && view.is_whole(slot) {
            Ok(view.select(slot))
        } else {
            let draw = || classes.draw(&self.rng, view.is_panic());
            view.draw_again(&self.rng, Some((slot, exclusions)), draw, weight)
        }
    }

    #[cold]
    fn scan_all<C: Candidate>(&self, view: &View<'_, C>) -> Result<Selection, PickError> {
        view.draw_again(&self.rng, None, || None, weight)
    }
}

fn weight<C: Candidate>(_: usize, candidate: &C) -> u32 {
    candidate.weight().value()
}

impl<C: Candidate> Prepare<C> for WeightedRandom {
    fn prepare(&self, view: &View<'_, C>, _: Option<&Prepared>) -> Result<Prepared, PickError> {
        Classes::new(view).map(|classes| Prepared::keep(view.len(), classes))
    }
}

impl<C: Candidate, K: ?Sized> Policy<C, K> for WeightedRandom {
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, _: &K) -> Result<Selection, PickError> {
        match view.own_table::<Classes>() {
            Some(classes) => self.pick_by(classes, view),
            None => self.scan_all(view),
        }
    }

    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        let selection = self.rng.rehearse(|rng| Self { rng }.pick_from(view, key))?;
        let chosen = view.candidates().get(selection.index());
        let weight = chosen.map_or(0, |candidate| candidate.weight().value());
        Ok(Explanation::new(selection, Reason::WeightedChance { weight }))
    }
}
