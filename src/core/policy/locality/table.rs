//! The localities of one membership.

use std::collections::BTreeMap;

use crate::core::policy::groups::{Group, Groups, Health};
use crate::core::{Candidate, Locality, PickError, Prepared, Rng, Table, View, Weight};
use crate::sync::{AtomicU64, Ordering};

/// Holds the localities and which members they have.
#[derive(Debug)]
pub(crate) struct LocalityTable {
    localities: Groups<Place>,
    overprovisioning: u32,
}

/// Tells what one locality is.
#[derive(Debug)]
pub(super) struct Place {
    locality: Option<Locality>,
    /// What it was given instead of the sum of its members.
    weight: Option<Weight>,
    /// The bits of a floating-point number.
    share: AtomicU64,
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
            let place = Place { locality: locality.cloned(), weight, share: AtomicU64::new(0) };
            inner(locality, positions).map(|prepared| (place, prepared))
        })?;
        localities.settle(|localities| share_out(localities, overprovisioning));
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
        let share = |group: &Group<Place>| if panic { weight(group) } else { group.tag.share() };
        self.localities.serve(rng, None, share, weight, pick)
    }

    /// Returns what the inner policy had prepared for this locality.
    pub(super) fn prepared_for(&self, locality: Option<&Locality>) -> Option<&Prepared> {
        let same = |group: &&Group<Place>| group.tag.locality.as_ref() == locality;
        self.localities.all().iter().find(same).map(|group| &group.scope.prepared)
    }
}

impl Place {
    #[inline]
    fn share(&self) -> f64 {
        f64::from_bits(self.share.load(Ordering::Relaxed))
    }
}

impl Table for LocalityTable {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        let plan = |localities: &[Group<Place>]| share_out(localities, self.overprovisioning);
        self.localities.set_eligible(slot, eligible, plan);
    }
}

/// Gives each locality its weight, less what the healthy part cannot carry.
fn share_out(localities: &[Group<Place>], overprovisioning: u32) {
    for group in localities {
        let Health { healthy, total } = group.health();
        let carried = healthy as f64 * f64::from(overprovisioning) / (total as f64 * 100.0);
        group.tag.share.store((weight(group) * carried.min(1.0)).to_bits(), Ordering::Relaxed);
    }
}

#[inline]
fn weight(group: &Group<Place>) -> f64 {
    group.tag.weight.map_or(group.health().total as f64, |weight| f64::from(weight.value()))
}

#[cfg(all(test, loom))]
mod models {
    use super::{BTreeMap, LocalityTable, Table};
    use crate::core::{Backend, Locality, Prepared, Status, View};
    use std::sync::Arc;

    fn table(statuses: [Status; 2]) -> LocalityTable {
        let place = Locality::new("eu", "a");
        let members =
            [0, 1].map(|slot| Backend::new(slot).with_locality(place.clone()).with_status(statuses[slot]));
        let prepare = |_: Option<&Locality>, _: &[u32]| Ok(Prepared::none());
        LocalityTable::new(&View::new(&members), &BTreeMap::new(), 100, prepare).unwrap()
    }

    fn share(table: &LocalityTable) -> f64 {
        table.localities.all()[0].tag.share()
    }

    #[test]
    fn loom_racing_flips_end_with_the_share_of_the_final_state() {
        loom::model(|| {
            let flipped = Arc::new(table([Status::Ready, Status::Draining]));
            let other = Arc::clone(&flipped);
            let thread = loom::thread::spawn(move || other.set_eligible(0, false));
            flipped.set_eligible(1, true);
            thread.join().unwrap();
            let expected = table([Status::Draining, Status::Ready]);
            assert!((share(&flipped) - share(&expected)).abs() < 1e-9);
        });
    }
}
