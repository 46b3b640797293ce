//! Affinity by the highest score.
//!
//! `score` mixes a key with an identity, and `scan` goes through those of all slots. `order` ranks slots by it, `by_weight` with
//! weights through `ln`, and `search` finds the first eligible ones. `identity` keeps what a membership is prepared for. With
//! bounded loads, `survey` samples everybody once, and the search is among the samples.

mod bounded;
mod by_weight;
mod decision;
mod factor;
pub(crate) mod identity;
pub(crate) mod ln;
mod order;
#[expect(clippy::module_inception, reason = "the file that defines the type of that name")]
mod rendezvous;
mod scan;
pub(crate) mod score;
mod search;
mod survey;
mod weighted;

pub use self::bounded::BoundedLoadRendezvous;
pub use self::decision::BoundedDecision;
pub use self::factor::BoundedLoadError;
pub use self::rendezvous::Rendezvous;
pub use self::weighted::WeightedRendezvous;
