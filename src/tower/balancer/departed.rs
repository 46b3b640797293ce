//! Endpoints that are members no more, for as long as they have work.

use std::sync::{Arc, Weak};

use super::endpoint::Endpoint;
use super::operator::Standing;
use crate::core::LoadTracker;
use crate::sync::{Mutex, lock};

/// Knows the endpoints that left and still live. Only their attempts keep them alive, so it is bounded by these.
pub(super) struct Departed<S, R, L: LoadTracker>(Mutex<Vec<Weak<Endpoint<S, R, L>>>>);

impl<S, R, L: LoadTracker> Departed<S, R, L> {
    pub(super) fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Adds those who left, and forgets those who live no more.
    pub(super) fn add<'a>(&self, endpoints: impl Iterator<Item = &'a Arc<Endpoint<S, R, L>>>)
    where
        S: 'a,
        R: 'a,
        L: 'a,
    {
        let mut departed = lock(&self.0);
        departed.retain(|endpoint| endpoint.strong_count() > 0);
        departed.extend(endpoints.map(Arc::downgrade));
    }

    /// Counts the attempts that are under way at those who left.
    pub(super) fn in_flight(&self) -> u64 {
        self.living().iter().map(|endpoint| endpoint.in_flight()).sum()
    }

    /// Counts the attempts that are under way at earlier generations of one member.
    pub(super) fn in_flight_of(&self, standing: &Arc<Standing>) -> u64 {
        let living = self.living();
        let earlier = living.iter().filter(|endpoint| Arc::ptr_eq(endpoint.standing(), standing));
        earlier.map(|endpoint| endpoint.in_flight()).sum()
    }

    /// Shares those who live. The last share of one may be what drops it, with the user's service, so no lock is held then.
    fn living(&self) -> Vec<Arc<Endpoint<S, R, L>>> {
        let mut departed = lock(&self.0);
        departed.retain(|endpoint| endpoint.strong_count() > 0);
        departed.iter().filter_map(Weak::upgrade).collect()
    }
}
