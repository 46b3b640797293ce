//! Selection: candidates, views, policies and loads. No runtime, no async, no I/O.
//!
//! A [`Candidate`] is a member of the set that is chosen from; [`Backend`] is the ready-made one. A [`View`] joins the
//! candidates of one pick with everything that limits the choice, and a [`Policy`] turns it into a [`Selection`], or into a
//! [`PickError`] that says precisely why there is none.
//!
//! Whoever keeps a pool prepares it once per membership: the policy's table ([`Prepared`]) and the [`Eligibility`], which is
//! flipped at transitions. Picks then take constant time, whatever the number of members and the part of them that is
//! excluded. A plain slice works just as well, only slower.
//!
//! Attempts feed back through a [`LoadTracker`], with an [`Outcome`]. Time is an argument: a [`Now`] is one instant for one
//! decision.

mod attempt_scope;
mod attempted;
mod attributes;
mod backend;
mod candidate;
mod changes;
pub(crate) mod delegate;
mod eligibility;
mod error;
mod exclusions;
mod hash;
#[cfg(any(feature = "observe", all(feature = "tower", feature = "discovery", feature = "health")))]
pub(crate) mod histogram;
mod limited;
mod load;
#[cfg(any(feature = "observe", all(feature = "tower", feature = "discovery", feature = "health")))]
pub(crate) mod nested_scope;
mod now;
mod outcome;
mod phase;
pub mod policy;
mod prepared;
mod probe;
mod rng;
mod selection;
pub(crate) mod short;
#[cfg(any(feature = "health", feature = "tower", all(feature = "discovery", feature = "tokio")))]
pub(crate) mod spread;
#[cfg(any(feature = "observe", all(feature = "tower", feature = "discovery", feature = "health")))]
pub(crate) mod striped;
mod view;
mod weight;
mod xxh64;

pub use self::attempt_scope::AttemptScope;
pub use self::attempted::Attempted;
pub use self::attributes::{Attributes, Locality, Status};
pub use self::backend::Backend;
pub use self::candidate::Candidate;
pub use self::changes::{Changes, Listener};
pub use self::eligibility::Eligibility;
pub use self::error::PickError;
pub use self::exclusions::{Exclusion, ExclusionCounts, Exclusions};
pub use self::hash::{Prehashed, PrehashedBuildHasher, PrehashedHasher, StableBuildHasher, StableHasher};
pub use self::limited::Limited;
#[cfg(feature = "health")]
pub(crate) use self::load::Pending;
pub use self::load::{
    AdditiveLoad, AtCapacity, InFlight, LoadMetric, LoadTracker, PeakEwma, PeakEwmaConfig, PeakEwmaError,
    PeakEwmaTicket, Tracked, ZeroLimit,
};
pub use self::now::Now;
pub use self::outcome::Outcome;
pub use self::phase::Phase;
pub use self::policy::{Policy, PolicyExt, Prepare};
pub use self::prepared::{Prepared, Table};
pub use self::probe::{
    ParseProbeAnswerError, ProbeAnswer, ProbeConfig, ProbeConfigError, ProbePool, ServerLoad, Serving,
};
pub use self::rng::Rng;
pub use self::selection::{InvalidSelection, Selection};
pub use self::view::{Pair, View};
pub use self::weight::{Weight, ZeroWeight};
