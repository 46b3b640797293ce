//! Where the callers are.

use std::collections::BTreeMap;

use crate::core::Locality;

/// Names a zone by its region and itself.
pub(super) type Zone<'a> = (&'a str, &'a str);

pub(super) fn zone_of(locality: &Locality) -> Zone<'_> {
    (locality.region(), locality.zone())
}

/// Counts the callers of each zone.
#[derive(Clone, Debug)]
pub(super) struct Callers {
    by_zone: BTreeMap<(Box<str>, Box<str>), u64>,
}

impl Callers {
    pub(super) fn of(counts: impl IntoIterator<Item = (Locality, u32)>) -> Self {
        let mut by_zone = BTreeMap::new();
        for (locality, count) in counts {
            let (region, zone) = zone_of(&locality);
            *by_zone.entry((region.into(), zone.into())).or_insert(0) += u64::from(count);
        }
        Self { by_zone }
    }

    pub(super) fn total(&self) -> u64 {
        self.by_zone.values().sum()
    }

    pub(super) fn in_zone(&self, (region, zone): Zone<'_>) -> u64 {
        self.by_zone.get(&(region.into(), zone.into())).copied().unwrap_or(0)
    }
}
