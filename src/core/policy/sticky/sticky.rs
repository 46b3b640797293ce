//! The policy.

use std::borrow::Borrow;
use std::hash::Hash;

use super::StickyKey;
use super::identities::{Identities, is};
use crate::core::policy::explain::{Explanation, Reason, Rehearsal};
use crate::core::{Candidate, PickError, Policy, Prepare, Prepared, Selection, View};

/// Says how [`Sticky`] came to its selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a decision does nothing until something is dispatched to it"]
pub struct StickyDecision {
    /// The candidate.
    pub selection: Selection,
    /// Whether it is the earlier choice. If not, its identity is what the next request should carry.
    pub kept: bool,
}

/// Keeps to the member that served a request before, while that one can be chosen, and otherwise chooses by an inner policy.
///
/// Who served before is part of the [`StickyKey`], by identity. It is kept when a member of that identity is in the view and
/// nothing excludes it there: not when it drains, is sick, was tried already or lies outside of the scope. Then, and when
/// the key names nobody or somebody who is gone, the inner policy chooses by the key of the request. A member that was built
/// anew under the same identity counts as the same.
///
/// Nothing is remembered between picks, so memory does not grow with the number of keys, and any process makes the same
/// choice.
///
/// # Complexity
///
/// On a prepared view, a binary search among the members, plus a pick of the inner policy when the earlier choice cannot be
/// kept; that pick may look at it once more. Without a prepared table, a scan of the identities.
///
/// # Allocation
///
/// None of its own per pick.
///
/// # Membership changes
///
/// The index of identities is sorted anew, in O(n log n).
///
/// # Examples
///
/// ```
/// use poise::core::policy::{RoundRobin, Sticky, StickyKey};
/// use poise::core::{Backend, Status, View};
///
/// let policy = Sticky::new(RoundRobin::starting_at(0));
/// let mut members = ["a", "b", "c"].map(Backend::new);
/// let cookie = StickyKey::<(), str>::new(&()).with_earlier("c");
/// let decision = policy.decide(&View::new(&members), &cookie)?;
/// assert_eq!((decision.selection.index(), decision.kept), (2, true));
///
/// members[2] = Backend::new("c").with_status(Status::Draining);
/// let decision = policy.decide(&View::new(&members), &cookie)?;
/// assert_eq!((decision.selection.index(), decision.kept), (0, false));
/// # Ok::<(), poise::core::PickError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Sticky<P> {
    inner: P,
}

impl<P> Sticky<P> {
    /// Makes the policy around one that chooses when there is no earlier choice to keep.
    pub const fn new(inner: P) -> Self {
        Self { inner }
    }

    /// Chooses as [`Policy::pick_from`] does, and says how.
    ///
    /// # Errors
    ///
    /// As [`Policy::pick_from`].
    pub fn decide<C, K, Q>(
        &self,
        view: &View<'_, C>,
        key: &StickyKey<'_, K, Q>,
    ) -> Result<StickyDecision, PickError>
    where
        C: Candidate<Id: Borrow<Q>>,
        K: ?Sized,
        Q: Hash + Eq + ?Sized,
        P: Policy<C, K>,
    {
        let table = view.own_table::<Identities>();
        let find = |identity: &Q| match table {
            Some(table) => table.find(view, identity),
            None => (0..view.len()).find(|slot| is(view, *slot, identity)),
        };
        let earlier = key.earlier().and_then(find).filter(|slot| view.exclusions_at(*slot).is_empty());
        if let Some(slot) = earlier {
            return Ok(StickyDecision { selection: view.select(slot), kept: true });
        }
        let none = Prepared::none();
        let view = view.for_inner(table.map_or(&none, |table| &table.inner), 0);
        let selection = self.inner.pick_from(&view, key.key())?;
        Ok(StickyDecision { selection, kept: false })
    }
}

impl<C: Candidate<Id: Hash>, P: Prepare<C>> Prepare<C> for Sticky<P> {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        let earlier = previous.and_then(Prepared::own_earlier::<Identities>);
        let inner = self.inner.prepare(view, earlier.map(|table| &table.inner))?;
        Ok(Prepared::keep(view.len(), Identities::new(view, inner)))
    }
}

impl<C, K, Q, P> Policy<C, StickyKey<'_, K, Q>> for Sticky<P>
where
    C: Candidate<Id: Hash + Borrow<Q>>,
    K: ?Sized,
    Q: Hash + Eq + ?Sized,
    P: Policy<C, K>,
{
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, key: &StickyKey<'_, K, Q>) -> Result<Selection, PickError> {
        self.decide(view, key).map(|decision| decision.selection)
    }

    fn explain_from(&self, view: &View<'_, C>, key: &StickyKey<'_, K, Q>) -> Result<Explanation, PickError> {
        let policy = Sticky::new(Rehearsal::new(&self.inner));
        let StickyDecision { selection, kept } = policy.decide(view, key)?;
        let reason = Reason::Earlier { kept };
        Ok(if kept { Explanation::new(selection, reason) } else { policy.inner.within(reason) })
    }
}
