//! How many candidates a pick compares.

use super::explain::Reason;
use crate::core::view::MOST;
use crate::core::{Candidate, Now, PickError, Rng, Selection, View};

/// Draws a number of distinct candidates and compares them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choices(usize);

impl Choices {
    pub(super) const TWO: Self = Self(2);

    pub(super) fn clamped(choices: usize) -> Self {
        Self(choices.clamp(1, MOST))
    }

    /// Returns how many are drawn.
    pub(super) const fn count(self) -> usize {
        self.0
    }

    /// Chooses the drawn candidate for which `cost` is least; between equals the draw decides.
    #[expect(
        clippy::inline_always,
        reason = "the common path of a pick, of which little is left beside the rest"
    )]
    #[inline(always)]
    pub(super) fn least<C: Candidate>(
        self,
        view: &View<'_, C>,
        rng: &Rng,
        cost: impl Fn(&C) -> f64,
    ) -> Result<Selection, PickError> {
        if self.0 != 2 {
            return view.least_of(self.0, rng, cost);
        }
        let pair = view.pair(rng)?;
        let Some(second) = pair.second else { return Ok(pair.first) };
        let cost_of = |selection: Selection| cost(&view.candidates()[selection.index()]);
        let (one, other) = (cost_of(pair.first), cost_of(second));
        // Of two that cost the same the first is one or the other with the same chance, as they were drawn. Which of two loads is
        // less is a coin toss for the branch predictor.
        Ok(std::hint::select_unpredictable(one <= other, pair.first, second))
    }
}

impl Default for Choices {
    fn default() -> Self {
        Self::TWO
    }
}

/// Says that the selected candidate costs the least of those that were drawn, or of all.
pub(super) fn least<C>(
    view: &View<'_, C>,
    selection: Selection,
    drawn: Option<usize>,
    cost: impl Fn(&C, &Now) -> f64,
) -> Reason {
    let chosen = view.candidates().get(selection.index());
    Reason::Least { drawn, cost: chosen.map_or(f64::NAN, |candidate| cost(candidate, view.now())) }
}
