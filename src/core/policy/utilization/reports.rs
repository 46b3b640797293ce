//! What all members have reported.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Weak};

use super::record::Record;
use super::{UtilizationConfig, UtilizationReport};
use crate::core::{Now, PrehashedBuildHasher, StableBuildHasher};
use crate::sync::{Mutex, lock};

const SHARDS: usize = 8;

type Shard = HashMap<u64, Weak<Record>, PrehashedBuildHasher>;

/// Keeps what members report of their utilisation, for [`UtilizationWeighted`](super::UtilizationWeighted).
///
/// Whoever sees a response [records](Self::record) the report that came with it. Members are told apart by a hash of their
/// identity; of those that no prepared membership has, nothing is kept, so memory is bounded by the membership.
///
/// # Complexity
///
/// Recording is one look-up under one of eight short locks, which no pick takes.
pub struct UtilizationReports {
    config: UtilizationConfig,
    shards: [Mutex<Shard>; SHARDS],
}

impl UtilizationReports {
    /// Makes an empty set of reports with the [default settings](UtilizationConfig).
    #[must_use]
    pub fn new() -> Self {
        Self::with_config(UtilizationConfig::new())
    }

    /// Makes an empty set of reports.
    #[must_use]
    pub fn with_config(config: UtilizationConfig) -> Self {
        Self { config, shards: std::array::from_fn(|_| Mutex::new(Shard::default())) }
    }

    /// Returns the settings.
    #[must_use]
    pub const fn config(&self) -> &UtilizationConfig {
        &self.config
    }

    /// Keeps what a member reports. A report [without a weight](UtilizationReport::weight) is ignored, as is one of a stranger.
    pub fn record<Id: Hash + ?Sized>(&self, id: &Id, report: UtilizationReport, now: &Now) {
        let identity = identity_of(id);
        let shard = lock(self.shard(identity));
        if let Some(record) = shard.get(&identity).and_then(Weak::upgrade) {
            record.report(report, &self.config, now.nanos());
        }
    }

    /// Forgets what a member has reported, for example because it was started anew.
    pub fn forget<Id: Hash + ?Sized>(&self, id: &Id) {
        let identity = identity_of(id);
        if let Some(record) = lock(self.shard(identity)).get(&identity).and_then(Weak::upgrade) {
            record.clear();
        }
    }

    /// Returns the record of a member, a new one when there is none, and lets go of those that nobody has any more.
    pub(super) fn record_of(&self, identity: u64) -> Arc<Record> {
        let mut shard = lock(self.shard(identity));
        if let Some(record) = shard.get(&identity).and_then(Weak::upgrade) {
            return record;
        }
        // As often as the map would grow, so that each insertion pays a constant part.
        if shard.len() == shard.capacity() {
            shard.retain(|_, record| record.strong_count() > 0);
        }
        let record = Arc::new(Record::new());
        shard.insert(identity, Arc::downgrade(&record));
        record
    }

    fn shard(&self, identity: u64) -> &Mutex<Shard> {
        // The highest bits: the map uses the others.
        &self.shards[(identity >> 61) as usize % SHARDS]
    }
}

impl Default for UtilizationReports {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for UtilizationReports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UtilizationReports").field("config", &self.config).finish_non_exhaustive()
    }
}

fn identity_of<Id: Hash + ?Sized>(id: &Id) -> u64 {
    StableBuildHasher::default().hash_one(id)
}
