//! The traits that every policy implements.

use std::fmt;
use std::sync::Arc;

use super::{Explained, Explanation};
use crate::core::{Candidate, PickError, Prepared, Selection, View};

/// Computes what a policy wants of a membership, ahead of its picks.
///
/// The default wants nothing. It is a trait of its own because it does not depend on the key.
#[diagnostic::on_unimplemented(
    message = "`{Self}` prepares nothing for candidates of type `{C}`",
    note = "a policy that needs no table says so with `impl<C> Prepare<C> for ItsType {{}}`; one that needs more of its \
            candidates, such as a load or an identity to hash, cannot work on these"
)]
pub trait Prepare<C> {
    /// Builds the table for the slots of `view`. `previous` is what the policy prepared for the membership before, from
    /// which it may take what is still right.
    ///
    /// # Errors
    ///
    /// A [`PickError`] when the policy cannot work on this membership at all. Whoever keeps the pool then keeps what it
    /// had.
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        let _ = (view, previous);
        Ok(Prepared::none())
    }
}

/// Chooses one candidate of a view for a request with a key.
///
/// Policies that do not look at the key take any. References, boxes and `Arc`s of a policy are policies.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not choose among candidates of type `{C}` for a key of type `{K}`",
    note = "without a key, a request has the key `()`; a `Balancer` takes one from the request by `key` or `computed_key`, where \
            `|request| &request.user` of a `String` is a key of type `String`, and `request.user.as_str()` one of type `str`",
    note = "in a `Balancer` the candidates are its members: a policy of one's own is for every candidate, `impl<C: Candidate> \
            Policy<C, ..>`, or for those with a certain `Id`, the key of the directory, and `Data`, its backend"
)]
pub trait Policy<C, K: ?Sized = ()>: Prepare<C> {
    /// Chooses among what `view` offers.
    ///
    /// # Errors
    ///
    /// A [`PickError`] that says precisely why nobody can be chosen.
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError>;

    /// Says what [`pick_from`](Self::pick_from) would choose now and why, without a trace: the next pick is what it would
    /// have been. Policies of one's own need not, and then it says that they do not; an
    /// [example](super#a-policy-of-ones-own) does.
    ///
    /// It may take time and allocate in proportion to the number of candidates.
    ///
    /// # Errors
    ///
    /// As [`pick_from`](Self::pick_from).
    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        let _ = (view, key);
        Ok(Explanation::untold())
    }

    /// Chooses among all `candidates`, now.
    ///
    /// # Errors
    ///
    /// As [`pick_from`](Self::pick_from).
    fn pick(&self, candidates: &[C], key: &K) -> Result<Selection, PickError> {
        self.pick_from(&View::new(candidates), key)
    }
}

/// Adds conveniences to every policy.
pub trait PolicyExt<C, K: ?Sized>: Policy<C, K> {
    /// Chooses among `candidates` and returns the candidate itself.
    ///
    /// # Errors
    ///
    /// As [`Policy::pick_from`]; [`PickError::InconsistentTopology`] when the policy names a candidate that does not
    /// exist.
    fn choose<'a>(&self, candidates: &'a [C], key: &K) -> Result<&'a C, PickError> {
        let selection = self.pick(candidates, key)?;
        candidates.get(selection.index()).ok_or(PickError::InconsistentTopology)
    }

    /// Says what would be chosen under `view` and why, and whom that passes over, as [`Policy::explain_from`] does and with
    /// names.
    fn explain(&self, view: &View<'_, C>, key: &K) -> Explained
    where
        C: Candidate<Id: fmt::Display>,
    {
        Explained::new(view, self.explain_from(view, key), |candidate| candidate.id().to_string())
    }
}

impl<C, K: ?Sized, P: Policy<C, K> + ?Sized> PolicyExt<C, K> for P {}

macro_rules! delegate_policy {
    ($($pointer:ty),+) => {$(
        impl<C, P: Prepare<C> + ?Sized> Prepare<C> for $pointer {
            fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
                (**self).prepare(view, previous)
            }
        }

        impl<C, K: ?Sized, P: Policy<C, K> + ?Sized> Policy<C, K> for $pointer {
            fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
                (**self).pick_from(view, key)
            }

            fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
                (**self).explain_from(view, key)
            }
        }
    )+};
}

delegate_policy!(&P, Box<P>, Arc<P>);
