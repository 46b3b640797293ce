//! The first few owners of a key.

use crate::core::{PickError, Policy, Selection, View};

/// Names not only the owner of a key but the first few distinct members in its order.
///
/// The first one is what [`Policy::pick_from`] chooses. The others are who would be chosen next if those before them were
/// excluded, so they are where copies of the key belong.
pub trait Replicas<C, K: ?Sized>: Policy<C, K> {
    /// Writes the first distinct eligible members for `key` into `into`, in order, and returns how many there are: as many
    /// as fit, or all that are eligible.
    ///
    /// # Errors
    ///
    /// As [`Policy::pick_from`]. Not finding enough members is no error, finding none is.
    fn pick_replicas(&self, view: &View<'_, C>, key: &K, into: &mut [Selection]) -> Result<usize, PickError>;
}
