//! What a policy needs to know of a member.

use std::sync::Arc;
use std::time::Instant;

use super::delegate::delegate_candidate;
use super::{Attributes, Changes, Exclusions, Locality, Now, Status, Weight};

/// Describes one member of the set that a policy chooses from.
///
/// Only identity, data and load must be given; the rest has defaults. References, boxes and `Arc`s of a candidate are
/// candidates. A wrapper delegates everything that it does not own, and adds its exclusions to those it found.
///
/// # Examples
///
/// A candidate of one's own:
///
/// ```
/// use poise::core::{Candidate, Now, Status};
///
/// struct Shard {
///     name: String,
///     online: bool,
/// }
///
/// impl Candidate for Shard {
///     type Id = str;
///     type Data = Shard;
///     type Load = ();
///
///     fn id(&self) -> &str {
///         &self.name
///     }
///     fn data(&self) -> &Shard {
///         self
///     }
///     fn load(&self) -> &() {
///         &()
///     }
///     fn status(&self) -> Status {
///         if self.online { Status::Ready } else { Status::Unavailable }
///     }
/// }
///
/// let shard = Shard { name: "a".into(), online: false };
/// assert!(!shard.is_eligible(&Now::lazy()));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a candidate",
    note = "wrap it in `Backend::new(..)`, implement `Candidate` for it, or give a directory its attributes with `upsert_with`"
)]
pub trait Candidate {
    /// What tells members apart; keyed policies hash it.
    type Id: ?Sized;
    /// What the user stores with a member.
    type Data: ?Sized;
    /// What load-aware policies measure.
    type Load: ?Sized;

    /// Returns the identity, unique in its set.
    fn id(&self) -> &Self::Id;

    /// Returns the user's data.
    fn data(&self) -> &Self::Data;

    /// Returns the load.
    fn load(&self) -> &Self::Load;

    /// Returns the relative share of traffic; one by default.
    fn weight(&self) -> Weight {
        Weight::ONE
    }

    /// Returns the administrative state; ready by default.
    fn status(&self) -> Status {
        Status::Ready
    }

    /// Returns the failover level, of which `0` is used first; `0` by default.
    fn priority(&self) -> u32 {
        0
    }

    /// Returns where the member runs; unknown by default.
    fn locality(&self) -> Option<&Locality> {
        None
    }

    /// Returns the part of its weight, in `(0, 1]`, that a member gets now because it has only just started; `1` by
    /// default.
    ///
    /// Every policy honours it when it picks, without another table: by chance, in turn or by key the member has that part of
    /// its share, and by load it is that much busier. It is no verdict of health, so it counts in panic mode too. Who is
    /// alone gets everything. More than `1` is taken for `1`; less than `0`, and what is not a number, for `0`, which gets
    /// nothing while others can be chosen. It should depend on the time only, and not fall while the member ramps up.
    fn ramp(&self, now: &Now) -> f32 {
        let _ = now;
        1.0
    }

    /// Returns every reason not to choose this member now; by default what [`Candidate::status`] says.
    fn exclusions(&self, now: &Now) -> Exclusions {
        let _ = now;
        self.status().exclusions()
    }

    /// Tells whether nothing excludes this member now.
    fn is_eligible(&self, now: &Now) -> bool {
        self.exclusions(now).is_empty()
    }

    /// Takes the handle to notify after each change of what [`exclusions`](Self::exclusions) says that is not the mere
    /// passing of time; by default it is dropped.
    ///
    /// A pool that has somebody wait for a member hears of its return in this way. A candidate keeps the last handle that
    /// it was given.
    fn watch(&self, changes: Changes) {
        drop(changes);
    }

    /// Returns the next instant at which [`exclusions`](Self::exclusions) changes although nothing happens, if there is
    /// one; by default there is none.
    fn changes_at(&self, now: &Now) -> Option<Instant> {
        let _ = now;
        None
    }

    /// Collects status, weight, priority and locality.
    fn attributes(&self) -> Attributes {
        Attributes::default()
            .with_status(self.status())
            .with_weight(self.weight())
            .with_priority(self.priority())
            .with_locality(self.locality().cloned())
    }
}

macro_rules! delegate_to_pointee {
    ($($pointer:ty),+) => {$(
        impl<C: Candidate + ?Sized> Candidate for $pointer {
            type Id = C::Id;
            type Data = C::Data;
            type Load = C::Load;

            delegate_candidate!(self => (**self));
        }
    )+};
}

delegate_to_pointee!(&C, Box<C>, Arc<C>);
