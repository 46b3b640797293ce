//! Who has left and when that is over.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::{Duration, Instant};

use crate::core::Now;
use crate::discovery::{Discovered, Snapshot};

/// Knows until when each member drains that the source took away.
///
/// A member that the source itself names as draining is none of them: it stays as long as it is named.
#[derive(Debug)]
pub(super) struct Departures<K> {
    drain: Duration,
    until: HashMap<K, Option<Instant>>,
}

impl<K: Clone + Eq + Hash> Departures<K> {
    pub(super) fn new(drain: Duration) -> Self {
        Self { drain, until: HashMap::new() }
    }

    /// Notes who left with a full set: those that drain and are not named.
    pub(super) fn after_set<B>(&mut self, after: &Snapshot<K, B>, is_named: impl Fn(&K) -> bool, now: &Now) {
        self.until.retain(|key, _| !is_named(key));
        let left = after.iter().filter(|member| member.is_draining() && !is_named(member.key()));
        for member in left {
            self.note(member.key(), now);
        }
        self.forget_the_gone(after);
    }

    /// Notes who left with changes; `touched` has the keys in their order, and whether each was removed.
    pub(super) fn after_changes<B>(&mut self, after: &Snapshot<K, B>, touched: &[(K, bool)], now: &Now) {
        for (key, removed) in touched {
            if *removed {
                self.note(key, now);
            } else {
                self.until.remove(key);
            }
        }
        self.forget_the_gone(after);
    }

    fn note(&mut self, key: &K, now: &Now) {
        if !self.until.contains_key(key) {
            self.until.insert(key.clone(), now.instant().checked_add(self.drain));
        }
    }

    pub(super) fn forget_the_gone<B>(&mut self, after: &Snapshot<K, B>) {
        self.until.retain(|key, _| after.get(key).is_some_and(Discovered::is_draining));
    }

    pub(super) fn is_over(&self, key: &K, now: &Now) -> bool {
        let until = self.until.get(key).copied().flatten();
        until.is_some_and(|until| now.has_reached(until))
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.until.values().copied().flatten().min()
    }
}
