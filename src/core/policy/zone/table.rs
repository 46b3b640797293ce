//! The zones of one membership.

use super::callers::{Callers, Zone, zone_of};
use crate::core::policy::groups::{Group, Groups};
use crate::core::{Candidate, Locality, PickError, Prepared, Rng, Table, View};
use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// Holds the zones, which members they have, and how much of the traffic of the own zone each gets.
#[derive(Debug)]
pub(crate) struct ZoneTable {
    zones: Groups<Place>,
    /// Which of them is the own one.
    own: Option<usize>,
    callers: u64,
    min_healthy: usize,
    /// Whether zones are told apart at all.
    divided: AtomicBool,
    /// What the inner policy has prepared for all members together.
    pub(super) everybody: Prepared,
}

/// Tells what one zone is and gets.
#[derive(Debug)]
pub(super) struct Place {
    zone: Option<(Box<str>, Box<str>)>,
    callers: u64,
    /// The bits of a floating-point number.
    share: AtomicU64,
}

/// What the table is made for.
#[derive(Clone, Copy)]
pub(super) struct Home<'a> {
    pub(super) own: Option<&'a Locality>,
    pub(super) callers: Option<&'a Callers>,
    pub(super) min_healthy: usize,
}

impl ZoneTable {
    /// Sorts the slots of `view` into zones; `inner` prepares the inner policy for one of them.
    pub(super) fn new<C: Candidate>(
        view: &View<'_, C>,
        home: Home<'_>,
        everybody: Prepared,
        mut inner: impl FnMut(Option<Zone<'_>>, &[u32]) -> Result<Prepared, PickError>,
    ) -> Result<Self, PickError> {
        let zone = |candidate| C::locality(candidate).map(zone_of);
        let zones = Groups::new(view, zone, |zone, positions| {
            let callers = match home.callers {
                Some(callers) => zone.map_or(0, |zone| callers.in_zone(zone)),
                None => u64::from(zone.is_some()),
            };
            let name = zone.map(|(region, zone)| (region.into(), zone.into()));
            let place = Place { zone: name, callers, share: AtomicU64::new(0) };
            inner(zone, positions).map(|prepared| (place, prepared))
        })?;
        let own = home.own.map(zone_of);
        let own = zones.all().iter().position(|group| own.is_some() && group.tag.name() == own);
        let evenly = || zones.all().iter().map(|group| group.tag.callers).sum();
        let callers = home.callers.map_or_else(evenly, Callers::total);
        let divided = AtomicBool::new(false);
        let table = Self { zones, own, callers, min_healthy: home.min_healthy, divided, everybody };
        table.zones.settle(|zones| table.share_out(zones));
        Ok(table)
    }

    /// Tells whether zones are to be told apart.
    #[inline]
    pub(super) fn is_divided(&self) -> bool {
        self.divided.load(Ordering::Relaxed)
    }

    /// Returns how many zones there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.zones.all().len()
    }

    /// Asks zones, each drawn by its share, until one has somebody.
    #[inline]
    pub(super) fn serve<R>(
        &self,
        rng: &Rng,
        pick: impl FnMut(usize, &Group<Place>) -> Result<R, PickError>,
    ) -> Result<R, PickError> {
        let healthy = |group: &Group<Place>| group.health().healthy as f64;
        let own = self.own.filter(|own| self.zones.all()[*own].tag.share() >= 1.0);
        self.zones.serve(rng, own, |group| group.tag.share(), healthy, pick)
    }

    /// Returns what the inner policy had prepared for this zone.
    pub(super) fn prepared_for(&self, zone: Option<Zone<'_>>) -> Option<&Prepared> {
        let group = self.zones.all().iter().find(|group| group.tag.name() == zone)?;
        Some(&group.scope.prepared)
    }

    fn share_out(&self, zones: &[Group<Place>]) {
        let members: usize = zones.iter().map(|group| group.scope.eligibility.count()).sum();
        let upstream: u64 = zones.iter().map(|group| group.health().healthy).sum();
        let own = self.own.filter(|_| members >= self.min_healthy && upstream > 0);
        self.divided.store(own.is_some(), Ordering::Relaxed);
        let Some(own) = own else { return };
        // Both shares over the product of both totals, so that they compare without rounding.
        let shares = |group: &Group<Place>| {
            let (healthy, callers) = (group.health().healthy, group.tag.callers);
            (u128::from(healthy) * u128::from(self.callers), u128::from(callers) * u128::from(upstream))
        };
        let (held, called) = shares(&zones[own]);
        let local = if held >= called { 1.0 } else { held as f64 / called as f64 };
        let residual = |at: usize| {
            let (held, called) = shares(&zones[at]);
            if at == own { 0.0 } else { held.saturating_sub(called) as f64 }
        };
        let all: f64 = (0..zones.len()).map(residual).sum();
        for (at, group) in zones.iter().enumerate() {
            let rest = if all > 0.0 { (1.0 - local) * residual(at) / all } else { 0.0 };
            let share = if at == own { local } else { rest };
            group.tag.share.store(share.to_bits(), Ordering::Relaxed);
        }
    }
}

impl Place {
    fn name(&self) -> Option<Zone<'_>> {
        self.zone.as_ref().map(|(region, zone)| (&**region, &**zone))
    }

    #[inline]
    fn share(&self) -> f64 {
        f64::from_bits(self.share.load(Ordering::Relaxed))
    }
}

impl Table for ZoneTable {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        self.everybody.set_eligible(slot, eligible);
        self.zones.set_eligible(slot, eligible, |zones| self.share_out(zones));
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::{Home, Table, ZoneTable};
    use crate::core::{Backend, Locality, Prepared, Status, View};
    use std::sync::Arc;

    fn table(statuses: [Status; 3]) -> ZoneTable {
        let zones = ["a", "b"].map(|zone| Locality::new("eu", zone));
        let members = [0, 1, 2].map(|slot| {
            Backend::new(slot).with_locality(zones[slot / 2].clone()).with_status(statuses[slot])
        });
        let home = Home { own: Some(&zones[0]), callers: None, min_healthy: 2 };
        ZoneTable::new(&View::new(&members), home, Prepared::none(), |_, _| Ok(Prepared::none())).unwrap()
    }

    fn plan(table: &ZoneTable) -> (bool, Vec<f64>) {
        (table.is_divided(), table.zones.all().iter().map(|group| group.tag.share()).collect())
    }

    #[test]
    fn loom_racing_flips_end_with_the_shares_of_the_final_state() {
        loom::model(|| {
            let flipped = Arc::new(table([Status::Ready, Status::Draining, Status::Ready]));
            let other = Arc::clone(&flipped);
            let thread = loom::thread::spawn(move || other.set_eligible(0, false));
            flipped.set_eligible(1, true);
            thread.join().unwrap();
            assert_eq!(plan(&flipped), plan(&table([Status::Draining, Status::Ready, Status::Ready])));
        });
    }

    #[test]
    fn loom_racing_flips_below_the_least_number_end_undivided() {
        loom::model(|| {
            let flipped = Arc::new(table([Status::Ready; 3]));
            let other = Arc::clone(&flipped);
            let thread = loom::thread::spawn(move || other.set_eligible(0, false));
            flipped.set_eligible(2, false);
            thread.join().unwrap();
            assert!(!flipped.is_divided());
        });
    }
}
