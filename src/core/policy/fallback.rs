//! A second policy for when the first finds nobody.

use super::explain::{Explanation, Reason, Rehearsal};
use crate::core::{PickError, Policy, Prepare, Prepared, Selection, Table, View};

/// Says how [`Fallback`] came to its selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a decision does nothing until something is dispatched to it"]
pub struct FallbackDecision {
    /// The candidate.
    pub selection: Selection,
    /// Whether the second policy chose it.
    pub fell_back: bool,
}

/// Chooses by one policy and, when that finds nobody, by another.
///
/// Finding nobody is [`PickError::NoEligible`] or [`PickError::PanicRejected`]. Other errors say that the first policy cannot
/// work on this membership at all, and come through. When the second one finds nobody either, its error is the answer.
///
/// The two picks are independent: the second one looks again at the candidates that the first one found excluded.
///
/// # Complexity
///
/// That of the first policy, and when it finds nobody also that of the second.
///
/// # Allocation
///
/// None of its own per pick.
///
/// # Membership changes
///
/// Both policies are prepared, each from what it had prepared before.
///
/// # Examples
///
/// ```
/// use poise::core::policy::{Fallback, PanicMode, PriorityConfig, PriorityFailover, Random};
/// use poise::core::{Backend, Policy};
///
/// let config = PriorityConfig::default().with_panic_mode(PanicMode::FailClosed);
/// let strict = PriorityFailover::new(Random::new()).with_config(config);
/// let policy = Fallback::new(strict, Random::new());
/// assert_eq!(policy.pick(&[Backend::new("a")], &())?.index(), 0);
/// # Ok::<(), poise::core::PickError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Fallback<A, B> {
    first: A,
    second: B,
}

impl<A, B> Fallback<A, B> {
    /// Makes the policy of two others.
    pub const fn new(first: A, second: B) -> Self {
        Self { first, second }
    }

    /// Chooses as [`Policy::pick_from`] does, and says how.
    ///
    /// # Errors
    ///
    /// As [`Policy::pick_from`].
    pub fn decide<C, K>(&self, view: &View<'_, C>, key: &K) -> Result<FallbackDecision, PickError>
    where
        K: ?Sized,
        A: Policy<C, K>,
        B: Policy<C, K>,
    {
        let none = Prepared::none();
        let (first, second) = match view.own_table::<FallbackTable>() {
            Some(table) => (&table.first, &table.second),
            None => (&none, &none),
        };
        match self.first.pick_from(&view.for_inner(first, 0), key) {
            Ok(selection) => Ok(FallbackDecision { selection, fell_back: false }),
            Err(PickError::NoEligible(_) | PickError::PanicRejected(_)) => {
                let selection = self.second.pick_from(&view.for_inner(second, 1), key)?;
                Ok(FallbackDecision { selection, fell_back: true })
            }
            Err(error) => Err(error),
        }
    }
}

impl<C, A: Prepare<C>, B: Prepare<C>> Prepare<C> for Fallback<A, B> {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        let earlier = previous.and_then(Prepared::own_earlier::<FallbackTable>);
        let first = self.first.prepare(view, earlier.map(|table| &table.first))?;
        let second = self.second.prepare(view, earlier.map(|table| &table.second))?;
        Ok(Prepared::keep(view.len(), FallbackTable { first, second }))
    }
}

impl<C, K: ?Sized, A: Policy<C, K>, B: Policy<C, K>> Policy<C, K> for Fallback<A, B> {
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        self.decide(view, key).map(|decision| decision.selection)
    }

    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        let policy = Fallback::new(Rehearsal::new(&self.first), Rehearsal::new(&self.second));
        let FallbackDecision { fell_back, .. } = policy.decide(view, key)?;
        let reason = Reason::Fallback { fell_back };
        Ok(if fell_back { policy.second.within(reason) } else { policy.first.within(reason) })
    }
}

/// Holds what both policies have prepared.
#[derive(Debug)]
pub(crate) struct FallbackTable {
    first: Prepared,
    second: Prepared,
}

impl Table for FallbackTable {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        self.first.set_eligible(slot, eligible);
        self.second.set_eligible(slot, eligible);
    }
}
