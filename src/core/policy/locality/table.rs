//! The localities of one membership.

use std::collections::BTreeMap;

use crate::core::policy::groups::{Group, Groups, Health};
use crate::core::{Candidate, Locality, PickError, Prepared, Rng, Table, View, Weight};

/// Holds the localities and which members they have.
#[derive(Debug)]
pub(super) struct LocalityTable {
    localities: Groups<Place>,
    overprovisioning: u32,
}

/// Tells what one locality is.
#[derive(Debug)]
pub(super) struct Place {
    locality: Option<Locality>,
    /// What it was given instead of the sum of its members.
    weight: Option<Weight>,
}

impl LocalityTable {
    /// Sorts the slots of `view` into localities; `inner` prepares the inner policy for one of them.
    pub(super) fn new<C: Candidate>(
        view: &View<'_, C>,
        weights: &BTreeMap<Locality, Weight>,
        overprovisioning: u32,
        mut inner: impl FnMut(Option<&Locality>, &[u32]) -> Result<Prepared, PickError>,
    ) -> Result<Self, PickError> {
        let localities = Groups::new(view, C::locality, |locality, positions| {
            let weight = locality.and_then(|locality| weights.get(locality)).copied();
            let place = Place { locality: locality.cloned(), weight };
            inner(locality, positions).map(|prepared| (place, prepared))
        })?;
        Ok(Self { localities, overprovisioning })
    }

    /// Asks localities, each drawn by its share, or by its weight alone in panic mode, until one has somebody.
    #[inline]
    pub(super) fn serve<R>(
        &self,
        rng: &Rng,
        panic: bool,
        pick: impl FnMut(usize, &Group<Place>) -> Result<R, PickError>,
    ) -> Result<R, PickError> {
        let share = |group: &Group<Place>| if panic { weight(group) } else { self.share(group) };
        self.localities.serve(rng, share, weight, pick)
    }

    /// Returns what the inner policy had prepared for this locality.
    pub(super) fn prepared_for(&self, locality: Option<&Locality>) -> Option<&Prepared> {
        let same = |group: &&Group<Place>| group.tag.locality.as_ref() == locality;
        self.localities.all().iter().find(same).map(|group| &group.scope.prepared)
    }

    /// Returns the weight, less what the healthy part cannot carry.
    #[inline]
    fn share(&self, group: &Group<Place>) -> f64 {
        let Health { healthy, total } = group.health();
        let carried = healthy as f64 * f64::from(self.overprovisioning) / (total as f64 * 100.0);
        weight(group) * carried.min(1.0)
    }
}

impl Table for LocalityTable {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        // Shares are worked out from the healths at each pick: there is no plan to make.
        self.localities.set_eligible(slot, eligible, |_| ());
    }
}

#[inline]
fn weight(group: &Group<Place>) -> f64 {
    group.tag.weight.map_or(group.health().total as f64, |weight| f64::from(weight.value()))
}
