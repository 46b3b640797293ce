//! The less loaded of two.

use super::choices::{Choices, least};
use super::explain::Explanation;
use crate::core::view::part;
use crate::core::{Candidate, LoadMetric, Now, PickError, Policy, Prepare, Rng, Selection, View, Weight};

/// Draws two distinct eligible candidates and chooses the less loaded one.
///
/// [`choices`](Self::choices) draws another number of them, [`choices_when_busy`](Self::choices_when_busy) more where two
/// are not enough. Load is divided by the weight, and by the part of it that a candidate gets while it ramps up. Equal
/// loads are decided by a coin. With two candidates the busier one is never chosen; with one it is chosen.
///
/// Source: M. Mitzenmacher, "The power of two choices in randomized load balancing", IEEE TPDS 12(10), 2001. It comes close
/// to the least loaded of all at the cost of two samples, and does not herd when loads are stale. That is so where members
/// are alike. Where half of them are slow, a quarter of all pairs are two slow ones, however long their queues are.
///
/// # Complexity
///
/// Constant with an eligibility: two draws, or as many as there are choices. On a plain slice constant while a fair part is
/// eligible, and one scan at worst.
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
/// use poise::core::policy::PowerOfTwoChoices;
/// use poise::core::{Backend, InFlight, LoadTracker, Now, Policy};
///
/// let backends = ["busy", "idle"].map(|id| Backend::new(id).with_load(InFlight::new()));
/// backends[0].load().start(&Now::lazy())?;
/// assert_eq!(PowerOfTwoChoices::new().pick(&backends, &())?.index(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PowerOfTwoChoices {
    rng: Rng,
    choices: Choices,
    when_busy: Option<Choices>,
}

impl PowerOfTwoChoices {
    /// Makes a policy that draws from the generator of the thread.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a policy whose picks are reproducible in the order in which they happen.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { rng: Rng::seeded(seed), ..Self::default() }
    }

    /// Draws so many distinct candidates instead of two: at least one and at most sixteen, numbers beyond being taken for
    /// these. One is a random choice. Where members are alike three are a little better than two, and more add little;
    /// where they differ in speed, two may not be enough at all.
    #[must_use]
    pub fn choices(self, choices: usize) -> Self {
        Self { choices: Choices::clamped(choices), ..self }
    }

    /// Draws so many candidates anew when the one chosen of the first is not [idle](LoadMetric::is_idle), and chooses of
    /// these. At least one and at most sixteen are drawn; without this nothing is drawn anew.
    ///
    /// A pick costs two samples while there is little to do, and more only where that keeps requests out of queues. Of `d`
    /// choices all are of the slow half of the members with a chance of `2^-d`, and near its limit a pool needs that to be no
    /// more than the share of the requests that this half can take. Where its members take three times as long that is a
    /// quarter, the limit of two choices; where they take fifteen times as long it is a sixteenth, that of four.
    ///
    /// ```
    /// use poise::core::policy::PowerOfTwoChoices;
    /// use poise::core::{Backend, InFlight, LoadTracker, Now, Policy};
    ///
    /// let backends = [3, 2, 1].map(|busy| Backend::new(busy).with_load(InFlight::new()));
    /// for backend in &backends {
    ///     for _ in 0..*backend.id() {
    ///         backend.load().start(&Now::lazy())?;
    ///     }
    /// }
    /// let policy = PowerOfTwoChoices::new().choices_when_busy(3);
    /// assert_eq!(policy.pick(&backends, &())?.index(), 2, "nobody is idle, so that all three are compared");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn choices_when_busy(self, choices: usize) -> Self {
        Self { when_busy: Some(Choices::clamped(choices)), ..self }
    }

    /// Chooses among so many others, as the one of the first draw is busy.
    #[inline(never)]
    fn draw_anew<C>(&self, choices: Choices, view: &View<'_, C>) -> Result<Selection, PickError>
    where
        C: Candidate<Load: LoadMetric>,
    {
        choices.least(view, &self.rng, |candidate| relative_load(candidate, view.now()))
    }
}

impl<C: Candidate> Prepare<C> for PowerOfTwoChoices {}

impl<C: Candidate<Load: LoadMetric>, K: ?Sized> Policy<C, K> for PowerOfTwoChoices {
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, _: &K) -> Result<Selection, PickError> {
        let picked = self.choices.least(view, &self.rng, |candidate| relative_load(candidate, view.now()))?;
        match self.when_busy {
            // Two have been compared already.
            Some(more) if view.len() > 2 && !view.candidates()[picked.index()].load().is_idle(view.now()) => {
                self.draw_anew(more, view)
            }
            _ => Ok(picked),
        }
    }

    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        let selection = self.rng.rehearse(|rng| Self { rng, ..*self }.pick_from(view, key))?;
        let drawn = Some(self.choices.count());
        Ok(Explanation::new(selection, least(view, selection, drawn, relative_load)))
    }
}

/// Returns the weight, less what a candidate that ramps up does not get yet.
#[inline]
pub(super) fn effective_weight<C: Candidate>(candidate: &C, now: &Now) -> f64 {
    share(candidate.weight(), candidate.ramp(now))
}

#[inline]
fn share(weight: Weight, ramp: f32) -> f64 {
    f64::from(weight.value()) * part(ramp)
}

/// Returns the load per unit of weight, at least zero; what is not a number counts as infinite, as does any load of who gets
/// nothing of its weight.
#[inline]
pub(super) fn relative_load<C: Candidate<Load: LoadMetric>>(candidate: &C, now: &Now) -> f64 {
    let (weight, ramp) = (candidate.weight(), candidate.ramp(now));
    let load = candidate.load().measure(now);
    if load > 0.0 && weight == Weight::ONE && ramp >= 1.0 {
        // The common case needs no division.
        return load;
    }
    let relative =
        if load <= 0.0 { if ramp > 0.0 { 0.0 } else { f64::INFINITY } } else { load / share(weight, ramp) };
    if relative.is_nan() { f64::INFINITY } else { relative }
}
