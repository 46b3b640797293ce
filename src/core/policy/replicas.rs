//! The first few owners of a key.

use std::sync::Arc;

use crate::core::{PickError, Policy, Selection, View};

/// Names not only the owner of a key but the first few distinct members in its order.
///
/// The first one is what [`Policy::pick_from`] chooses. The others are who would be chosen next if those before them were
/// excluded, so they are where copies of the key belong. References, boxes and `Arc`s of such a policy do as it does.
///
/// # Examples
///
/// ```
/// use poise::core::policy::{Maglev, Replicas};
/// use poise::core::{Backend, Policy, Selection, View};
///
/// let backends = ["a", "b", "c"].map(Backend::new);
/// let policy = Maglev::new();
/// let mut places = [Selection::new(0); 2];
/// let found = policy.pick_replicas(&View::new(&backends), "some key", &mut places)?;
///
/// assert_eq!(found, 2);
/// assert_eq!(places[0], policy.pick(&backends, "some key")?, "the owner comes first");
/// assert_ne!(places[0], places[1]);
/// # Ok::<(), poise::core::PickError>(())
/// ```
pub trait Replicas<C, K: ?Sized>: Policy<C, K> {
    /// Writes the first distinct eligible members for `key` into `into`, in order, and returns how many there are: as many
    /// as fit, or all that are eligible.
    ///
    /// # Errors
    ///
    /// As [`Policy::pick_from`]. Not finding enough members is no error, finding none is.
    fn pick_replicas(&self, view: &View<'_, C>, key: &K, into: &mut [Selection]) -> Result<usize, PickError>;
}

macro_rules! delegate_replicas {
    ($($pointer:ty),+) => {$(
        impl<C, K: ?Sized, P: Replicas<C, K> + ?Sized> Replicas<C, K> for $pointer {
            fn pick_replicas(
                &self,
                view: &View<'_, C>,
                key: &K,
                into: &mut [Selection],
            ) -> Result<usize, PickError> {
                (**self).pick_replicas(view, key, into)
            }
        }
    )+};
}

delegate_replicas!(&P, Box<P>, Arc<P>);
