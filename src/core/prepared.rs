//! What a policy computes of a membership ahead of its picks.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::policy::tables::{Kept, OwnTable};

/// Holds what a policy wants of one membership: a lookup table, a ring, a schedule.
///
/// A table is built once for a membership and shared by all threads. It never changes, except that
/// [`set_eligible`](Self::set_eligible) flips hints, which are atomics.
pub trait Table: Any + Send + Sync + fmt::Debug {
    /// Records that the member at `slot`, counted in the view that the table was prepared for, became eligible or
    /// ineligible. By default the table keeps no such hints.
    fn set_eligible(&self, slot: usize, eligible: bool) {
        let _ = (slot, eligible);
    }
}

/// Holds the table of a policy for one membership, or nothing for a policy that needs none.
///
/// Whoever keeps a pool calls [`Prepare::prepare`](crate::core::Prepare::prepare) when the membership changes, off the
/// path of requests, and keeps members and result together, so that a table only ever serves the members that it was
/// built for. A clone costs one reference count.
///
/// # Examples
///
/// ```
/// use poise::core::policy::Maglev;
/// use poise::core::{Backend, Policy, Prepare, View};
///
/// let policy = Maglev::new();
/// let backends = ["a", "b", "c"].map(Backend::new);
/// let prepared = policy.prepare(&View::new(&backends), None)?;
///
/// let fast = policy.pick_from(&View::new(&backends).prepared(&prepared), "some key")?;
/// assert_eq!(fast, policy.pick(&backends, "some key")?, "the same answer, without building anything");
/// # Ok::<(), poise::core::PickError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    members: usize,
    table: Option<Kept>,
}

impl Prepared {
    /// Makes the result of a policy that needs no table.
    #[must_use]
    pub const fn none() -> Self {
        Self { members: 0, table: None }
    }

    /// Holds a table that was built for a view of `members` slots.
    pub fn new(members: usize, table: impl Table) -> Self {
        Self { members, table: Some(Kept::Other(Arc::new(table))) }
    }

    /// Returns the table when it is a `T` and was built for `members` slots.
    ///
    /// A view with another table gets `None`, and its policy takes the slow way.
    #[must_use]
    #[inline]
    pub fn table<T: Table>(&self, members: usize) -> Option<&T> {
        let Kept::Other(table) = self.table.as_ref()? else { return None };
        let table: &dyn Any = &**table;
        if self.members == members { table.downcast_ref() } else { None }
    }

    /// Returns the table when it is a `T`, whatever it was built for: what a new one may start from.
    #[must_use]
    #[inline]
    pub fn earlier<T: Table>(&self) -> Option<&T> {
        self.table::<T>(self.members)
    }

    /// As [`new`](Self::new), of a policy of this crate.
    pub(crate) fn keep(members: usize, table: impl OwnTable) -> Self {
        Self { members, table: Some(table.keep()) }
    }

    /// As [`table`](Self::table), of a policy of this crate.
    #[inline]
    pub(crate) fn own<T: OwnTable>(&self, members: usize) -> Option<&T> {
        if self.members == members { T::of(self.table.as_ref()?) } else { None }
    }

    /// As [`earlier`](Self::earlier), of a policy of this crate.
    #[inline]
    pub(crate) fn own_earlier<T: OwnTable>(&self) -> Option<&T> {
        self.own(self.members)
    }

    /// Tells the table that the member at `slot` became eligible or ineligible.
    pub fn set_eligible(&self, slot: usize, eligible: bool) {
        if let Some(table) = &self.table {
            table.set_eligible(slot, eligible);
        }
    }
}
