//! The fewest requests in flight for its weight.

use std::error::Error;
use std::fmt;

use super::choices::{Choices, least};
use super::explain::Explanation;
use super::power_of_two::effective_weight;
use crate::core::{AdditiveLoad, Candidate, Now, PickError, Policy, Prepare, Rng, Selection, View};

/// Draws two distinct eligible candidates and chooses the one with the greatest `weight / (active + 1)^bias`.
///
/// `active` is the number of requests in flight and the weight is reduced while a candidate ramps up. With the default bias
/// of 1, of two idle candidates the heavier one is chosen, and one with twice the weight carries about twice as many
/// requests. A greater bias runs harder from who is busy; with 0 the load does not matter, and the heaviest of those drawn
/// is chosen. Equals are decided by a coin.
///
/// Source: Envoy, "Weighted least request". There the value is the weight of a schedule when weights differ; here it is
/// compared, so that a candidate's load counts at once.
///
/// # Complexity
///
/// Constant with an eligibility. On a plain slice constant while a fair part is eligible, and one scan at worst. One scan
/// [over all](Self::with_full_scan).
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
/// use poise::core::policy::LeastRequests;
/// use poise::core::{Backend, InFlight, LoadTracker, Now, Policy, Weight};
///
/// let light = Backend::new("light").with_load(InFlight::new());
/// let heavy = Backend::new("heavy").with_load(InFlight::new()).with_weight(Weight::new(2)?);
/// heavy.load().start(&Now::lazy())?;
/// heavy.load().start(&Now::lazy())?;
/// assert_eq!(LeastRequests::new().pick(&[light, heavy], &())?.index(), 0, "1 / 1 against 2 / 3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LeastRequests {
    rng: Rng,
    bias: f64,
    among: Among,
}

#[derive(Clone, Copy, Debug)]
enum Among {
    Drawn(Choices),
    All,
}

impl LeastRequests {
    /// Makes a policy with two choices and a bias of 1 that draws from the generator of the thread.
    #[must_use]
    pub fn new() -> Self {
        Self { rng: Rng::thread(), bias: 1.0, among: Among::Drawn(Choices::TWO) }
    }

    /// Makes such a policy whose picks are reproducible in the order in which they happen.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { rng: Rng::seeded(seed), ..Self::new() }
    }

    /// Sets how much requests in flight count: at least 0, where they do not count, and finite.
    ///
    /// # Errors
    ///
    /// [`InvalidBias`] when it is negative, infinite or not a number.
    pub fn with_bias(self, bias: f64) -> Result<Self, InvalidBias> {
        if bias.is_finite() && bias >= 0.0 { Ok(Self { bias, ..self }) } else { Err(InvalidBias) }
    }

    /// Draws so many distinct candidates instead of two: at least one and at most sixteen, numbers beyond being taken for
    /// these.
    #[must_use]
    pub fn choices(self, choices: usize) -> Self {
        Self { among: Among::Drawn(Choices::clamped(choices)), ..self }
    }

    /// Compares all eligible candidates instead of a few, at the cost of a scan.
    #[must_use]
    pub fn with_full_scan(self) -> Self {
        Self { among: Among::All, ..self }
    }

    /// Returns the inverse of what is to be greatest.
    #[inline]
    fn cost<C: Candidate<Load: AdditiveLoad>>(&self, candidate: &C, now: &Now) -> f64 {
        let requests = candidate.load().count() as f64 + 1.0;
        // The default needs no power, which is most of what a pick costs.
        let requests =
            if self.bias.to_bits() == 1f64.to_bits() { requests } else { raised(requests, self.bias) };
        let cost = requests / effective_weight(candidate, now);
        if cost.is_nan() { f64::INFINITY } else { cost }
    }
}

/// Apart, as a power is only computed ahead of a comparison where it is seen.
#[inline(never)]
fn raised(requests: f64, bias: f64) -> f64 {
    requests.powf(bias)
}

impl Default for LeastRequests {
    fn default() -> Self {
        Self::new()
    }
}

impl<C: Candidate> Prepare<C> for LeastRequests {}

impl<C: Candidate<Load: AdditiveLoad>, K: ?Sized> Policy<C, K> for LeastRequests {
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, _: &K) -> Result<Selection, PickError> {
        let cost = |candidate: &C| self.cost(candidate, view.now());
        match self.among {
            Among::Drawn(choices) => choices.least(view, &self.rng, cost),
            Among::All => view.least(&self.rng, cost),
        }
    }

    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        let selection = self.rng.rehearse(|rng| Self { rng, ..*self }.pick_from(view, key))?;
        let drawn = match self.among {
            Among::Drawn(choices) => Some(choices.count()),
            Among::All => None,
        };
        let cost = |candidate: &C, now: &Now| self.cost(candidate, now);
        Ok(Explanation::new(selection, least(view, selection, drawn, cost)))
    }
}

/// Reports a bias that is negative, infinite or not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidBias;

impl fmt::Display for InvalidBias {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a bias must be a finite number of at least 0")
    }
}

impl Error for InvalidBias {}
