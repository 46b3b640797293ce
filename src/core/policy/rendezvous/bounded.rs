//! The policy with bounded loads.

use std::hash::{BuildHasher, Hash};

use super::decision::BoundedDecision;
use super::factor::{BoundedLoadError, Factor};
use super::identity::{Members, Weigh};
use super::score::spread;
use super::survey::{Sample, Survey, with_scratch};
use crate::core::policy::explain::{Explanation, Reason};
use crate::core::{
    AdditiveLoad, Candidate, PickError, Policy, Prepare, Prepared, Selection, StableBuildHasher, View,
};

/// Chooses the owner of a key unless it is overloaded, and then the next one in the order of the key that is not.
///
/// The order is that of [`WeightedRendezvous`](super::WeightedRendezvous). A candidate has room when its load, with this
/// request, would be at most
///
/// ```text
/// cap = ceil(factor * (total + 1) * weight / weights)
/// ```
///
/// where `total` and `weights` are sums over the candidates that are eligible in the view. The weight of one that
/// [ramps up](Candidate::ramp) is that part of it, in the order of the key and in the caps. The factor is above one, so
/// somebody always has room; the default is 1.25. It is rounded up to a multiple of 2^-20, and caps are computed exactly.
///
/// - While requests are admitted one after the other, no admission brings a load above its cap, in whatever order requests
///   come and go. Selectors that race can exceed it by at most their number; a limit that must hold belongs to the tracker,
///   such as [`InFlight::with_limit`](crate::core::InFlight::with_limit).
/// - A key that is too hot for one member spills to the next ones in its order, always the same. Keys whose owner has room
///   stay where they are.
///
/// Source: V. Mirrokni, M. Thorup, M. Zadimoghaddam, "Consistent hashing with bounded loads", SODA 2018.
///
/// # Complexity
///
/// A scan that samples the load of every eligible candidate, each once, and a scan of the samples in the order of the key; a
/// second one of these when the owner has no room.
///
/// # Allocation
///
/// None once a thread has picked from as many members; samples are kept in memory that belongs to the thread.
///
/// # Membership changes
///
/// As for [`WeightedRendezvous`](super::WeightedRendezvous).
///
/// # Examples
///
/// ```
/// use poise::core::policy::BoundedLoadRendezvous;
/// use poise::core::{Backend, InFlight, LoadTracker, Now, View};
///
/// let caches = ["a", "b", "c"].map(|id| Backend::new(id).with_load(InFlight::new()));
/// let policy = BoundedLoadRendezvous::new();
///
/// let first = policy.decide(&View::new(&caches), "a hot key")?;
/// assert!(!first.spilled);
/// caches[first.selection.index()].load().start(&Now::lazy())?;
///
/// let second = policy.decide(&View::new(&caches), "a hot key")?;
/// assert!(second.spilled, "the cap is ceil(1.25 * 2 / 3) = 1, and the owner has one already");
/// assert_eq!(second.owner, first.owner);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct BoundedLoadRendezvous<H = StableBuildHasher> {
    factor: Factor,
    hasher: H,
}

impl BoundedLoadRendezvous {
    /// Makes the policy with a factor of 1.25 and the stable hash.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<H> BoundedLoadRendezvous<H> {
    /// Sets how far above its share a candidate may be loaded: above 1, at most 1,000. A lower factor spreads more evenly, a
    /// higher one keeps more keys with their owners.
    ///
    /// # Errors
    ///
    /// [`BoundedLoadError`] when the factor is out of range or not a number.
    pub fn with_factor(self, factor: f64) -> Result<Self, BoundedLoadError> {
        Ok(Self { factor: Factor::new(factor)?, ..self })
    }

    /// Hashes keys in another way. Members are placed by the stable hash all the same.
    pub fn with_hasher<B: BuildHasher>(self, hasher: B) -> BoundedLoadRendezvous<B> {
        BoundedLoadRendezvous { factor: self.factor, hasher }
    }

    /// Chooses as [`pick_from`](Policy::pick_from) does, and tells why.
    ///
    /// # Errors
    ///
    /// [`PickError::Empty`] or [`PickError::NoEligible`].
    pub fn decide<C, K>(&self, view: &View<'_, C>, key: &K) -> Result<BoundedDecision, PickError>
    where
        C: Candidate<Id: Hash, Load: AdditiveLoad>,
        K: Hash + ?Sized,
        H: BuildHasher,
    {
        let key = spread(self.hasher.hash_one(key));
        match view.own_table::<Members>() {
            Some(table) => self.decide_in(view, key, table),
            None => self.decide_in(view, key, view),
        }
    }

    fn decide_in<C: Candidate<Load: AdditiveLoad>>(
        &self,
        view: &View<'_, C>,
        key: u64,
        members: &impl Weigh,
    ) -> Result<BoundedDecision, PickError> {
        with_scratch(|samples| {
            let survey = Survey::new(view, members, samples)?;
            let cap = |sample: &Sample| {
                let (share, shares) = survey.share(sample);
                self.factor.cap(survey.total, share, shares)
            };
            let owner =
                survey.first(key, |sample| sample.weight > 0).ok_or(PickError::InconsistentTopology)?;
            let chosen = if owner.load < cap(&owner) {
                owner
            } else {
                // Somebody has room unless the sum of the loads was cut off.
                survey.first(key, |sample| sample.load < cap(sample)).unwrap_or(owner)
            };
            Ok(BoundedDecision {
                selection: view.select(chosen.slot),
                owner: view.select(owner.slot),
                spilled: chosen.slot != owner.slot,
                load: chosen.load,
                cap: cap(&chosen),
            })
        })
    }
}

impl<C: Candidate<Id: Hash>, H> Prepare<C> for BoundedLoadRendezvous<H> {
    fn prepare(&self, view: &View<'_, C>, _: Option<&Prepared>) -> Result<Prepared, PickError> {
        if view.is_empty() {
            return Ok(Prepared::none());
        }
        Ok(Prepared::keep(view.len(), Members::new(view)?))
    }
}

impl<C, K, H> Policy<C, K> for BoundedLoadRendezvous<H>
where
    C: Candidate<Id: Hash, Load: AdditiveLoad>,
    K: Hash + ?Sized,
    H: BuildHasher,
{
    #[inline]
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        self.decide(view, key).map(|decision| decision.selection)
    }

    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        let BoundedDecision { selection, owner, spilled, load, cap } = self.decide(view, key)?;
        Ok(Explanation::new(selection, Reason::Bounded { owner: owner.index(), spilled, load, cap }))
    }
}
