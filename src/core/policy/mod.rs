//! Policies: which candidate gets the request.
//!
//! A [`Policy`] turns a coherent [`View`](crate::core::View) into a [`Selection`](crate::core::Selection). It owns no
//! connection, spawns nothing, starts no load and decides no retry. It takes `&self`, so all threads share one without a
//! lock around it.
//!
//! | policy | chooses | per pick, prepared |
//! |---|---|---|
//! | [`RoundRobin`] | each in turn | O(1) |
//! | [`Random`] | any, with the same chance | O(1) |
//! | [`PowerOfTwoChoices`] | the less loaded of two drawn | O(1) |
//! | [`LeastLoaded`] | the least loaded of all | O(n) |
//! | [`Maglev`] | the owner of a key, by a lookup table | O(1) |
//! | [`PriorityFailover`] | a level by health, then by an inner policy | O(levels) + inner |
//!
//! # A policy of one's own
//!
//! ```
//! use poise::core::{Backend, Candidate, PickError, Policy, Prepare, Selection, View};
//!
//! /// Sends uploads to the member that has the most room.
//! #[derive(Debug)]
//! struct MostRoom;
//!
//! impl<C: Candidate<Data = u64>> Prepare<C> for MostRoom {}
//!
//! impl<C: Candidate<Data = u64>> Policy<C> for MostRoom {
//!     fn pick_from(&self, view: &View<'_, C>, (): &()) -> Result<Selection, PickError> {
//!         let most = view.eligible().max_by_key(|(_, candidate)| *candidate.data());
//!         most.map(|(selection, _)| selection).ok_or_else(|| view.refuse())
//!     }
//! }
//!
//! let backends = [Backend::new("a").with_data(10), Backend::new("b").with_data(70)];
//! assert_eq!(MostRoom.pick(&backends, &())?.index(), 1);
//! # Ok::<(), PickError>(())
//! ```

mod groups;
mod least_loaded;
mod maglev;
#[expect(clippy::module_inception, reason = "the file that defines the trait of that name")]
mod policy;
mod power_of_two;
mod priority;
mod random;
mod replicas;
mod round_robin;
mod unprepared;

pub use self::least_loaded::LeastLoaded;
pub use self::maglev::{Maglev, MaglevError};
pub use self::policy::{Policy, PolicyExt, Prepare};
pub use self::power_of_two::PowerOfTwoChoices;
pub use self::priority::{
    PanicMode, PriorityConfig, PriorityConfigError, PriorityDecision, PriorityFailover,
};
pub use self::random::Random;
pub use self::replicas::Replicas;
pub use self::round_robin::RoundRobin;
