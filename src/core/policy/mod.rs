//! Policies: which candidate gets the request.
//!
//! A [`Policy`] turns a coherent [`View`](crate::core::View) into a [`Selection`](crate::core::Selection). It owns no
//! connection, spawns nothing, starts no load and decides no retry. It takes `&self`, so all threads share one without a
//! lock around it.
//!
//! Which one to take is the subject of the [`guide`].
//!
//! | policy | chooses | per pick, prepared |
//! |---|---|---|
//! | [`RoundRobin`] | each in turn | O(1) |
//! | [`SmoothWeightedRoundRobin`] | each in turn, by weight | O(1) |
//! | [`Random`] | any, with the same chance | O(1) |
//! | [`PowerOfTwoChoices`] | the less loaded of two drawn | O(1) |
//! | [`WeightedRandom`] | any, with a chance by weight | O(1) |
//! | [`LeastRequests`] | of two drawn, the one with fewer requests for its weight | O(1) |
//! | [`LeastLoaded`] | the least loaded of all | O(n) |
//! | [`Prequal`] | the quickest by probes, of those that are not busier than most | O(1), O(log n) to find it |
//! | [`UtilizationWeighted`] | each in turn, by what members report of their utilisation | O(1) where reports are alike |
//! | [`Maglev`] | the owner of a key, by a lookup table | O(1) |
//! | [`RingHash`] | the owner of a key, by points on a ring | O(1), O(log points) where points crowd |
//! | [`Rendezvous`] | the owner of a key, by the highest score | O(n), a few instructions each |
//! | [`WeightedRendezvous`] | the same, in exact proportion to the weights | O(n) |
//! | [`BoundedLoadRendezvous`] | the first in the order of a key that has room | O(n) |
//! | [`PriorityFailover`] | a level by health, then by an inner policy | O(levels) + inner |
//! | [`LocalityWeighted`] | a locality by weight and health, then by an inner policy | O(localities) + inner |
//! | [`ZoneAware`] | the own zone as far as it can carry, then by an inner policy | O(zones) + inner |
//! | [`Fallback`] | by one policy, and by another when that finds nobody | inner |
//! | [`Sticky`] | whom the key names while it can be chosen, else by an inner policy | O(log n) + inner |
//!
//! # A policy of one's own
//!
//! ```
//! use poise::core::policy::{Explanation, Reason};
//! use poise::core::{Backend, Candidate, PickError, Policy, PolicyExt, Prepare, Selection, View};
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
//!
//!     // Not required: what `explain` shows of a policy. This one may pick for that, as its picks leave no trace.
//!     fn explain_from(&self, view: &View<'_, C>, key: &()) -> Result<Explanation, PickError> {
//!         Ok(Explanation::new(self.pick_from(view, key)?, Reason::Own("with the most room".into())))
//!     }
//! }
//!
//! let backends = [Backend::new("a").with_data(10), Backend::new("b").with_data(70)];
//! assert_eq!(MostRoom.pick(&backends, &())?.index(), 1);
//! let explained = MostRoom.explain(&View::new(&backends), &());
//! assert_eq!(explained.to_string(), "2 of 2 are eligible\nchooses b at 1: with the most room\n");
//! # Ok::<(), PickError>(())
//! ```
//!
//! In a `tower::Balancer` the candidates are its members, whose `Id` is the key of the directory and whose `Data` is the backend.
//! For requests with a key it is a `Policy<C, TypeOfTheKey>`.

mod choices;
mod circle;
mod explain;
mod fallback;
mod groups;
pub mod guide;
mod identity;
mod keys;
mod least_loaded;
mod least_requests;
mod locality;
mod maglev;
mod nearest;
mod owned;
#[expect(clippy::module_inception, reason = "the file that defines the trait of that name")]
mod policy;
mod power_of_two;
mod prequal;
mod priority;
mod quotas;
mod random;
pub(crate) mod rendezvous;
mod replicas;
mod ring_hash;
mod round_robin;
mod smooth;
mod sticky;
pub(super) mod tables;
mod unprepared;
mod utilization;
mod weighted_random;
mod zone;

pub use self::explain::{Explained, Explanation, PassedOver, Reason};
pub use self::fallback::{Fallback, FallbackDecision};
pub use self::identity::{ByIdentity, ByName, Naming};
pub use self::keys::{HashKey, KeyBytes};
pub use self::least_loaded::LeastLoaded;
pub use self::least_requests::{InvalidBias, LeastRequests};
pub use self::locality::{InvalidOverprovisioning, LocalityDecision, LocalityWeighted};
pub use self::maglev::{Maglev, MaglevError};
pub use self::policy::{Policy, PolicyExt, Prepare};
pub use self::power_of_two::PowerOfTwoChoices;
pub use self::prequal::Prequal;
pub use self::priority::{
    PanicMode, PriorityConfig, PriorityConfigError, PriorityDecision, PriorityFailover,
};
pub use self::random::Random;
pub use self::rendezvous::{
    BoundedDecision, BoundedLoadError, BoundedLoadRendezvous, Rendezvous, WeightedRendezvous,
};
pub use self::replicas::Replicas;
pub use self::ring_hash::{EnvoyRing, PointsBy, RingHash, RingHashError, RingMembers, RingReport};
pub use self::round_robin::RoundRobin;
pub use self::smooth::{ScheduleReport, SmoothWeightedRoundRobin};
pub use self::sticky::{Sticky, StickyDecision, StickyKey};
pub use self::utilization::{
    UtilizationConfig, UtilizationConfigError, UtilizationReport, UtilizationReports, UtilizationWeighted,
};
pub use self::weighted_random::WeightedRandom;
pub use self::zone::{ZoneAware, ZoneDecision};
