//! Members that fare worse than the others.

use std::sync::{Arc, Weak};
use std::time::Instant;

use super::super::cluster::Cluster;
use super::super::dispatch::Dispatch;
use super::super::endpoint::Endpoint;
use super::super::pool::{Member, Pool};
use super::super::signals::Outlying;
use crate::core::{LoadMetric, LoadTracker, Now};
use crate::health::{Ejector, EjectorAction, EjectorConfig};
use crate::tower::Event;

/// Sweeps over the members of the pool, and lets those return whose time is over.
pub(super) struct Outliers<K, B, S, R, L: LoadTracker> {
    ejector: Ejector,
    /// The pool that was looked at last.
    pool: Weak<Pool<K, B, S, R, L>>,
}

impl<K, B, S, R, L> Outliers<K, B, S, R, L>
where
    K: Send + Sync,
    B: Send + Sync,
    S: Clone + Send + Sync,
    R: Send,
    L: LoadTracker<Ticket: Send> + LoadMetric + Send + Sync,
{
    pub(super) fn new(config: EjectorConfig) -> Self {
        Self { ejector: Ejector::new(config), pool: Weak::new() }
    }

    /// Does what is due. After a change of the pool it takes the slots back from those that have left.
    pub(super) fn poll(&mut self, cluster: &Cluster<K, B, S, R, L>, now: &Now) {
        let pool = cluster.pool.load_full();
        let is_same = std::ptr::eq(self.pool.as_ptr(), Arc::as_ptr(&pool));
        if is_same && self.ejector.next_change().is_none_or(|at| !now.has_reached(at)) {
            return;
        }
        self.pool = Arc::downgrade(&pool);
        let judged = |endpoint| Some((endpoint, Endpoint::signals(endpoint).outlying()?));
        let members: Vec<(&Endpoint<S, R, L>, &Outlying)> =
            pool.members.iter().map(Member::endpoint).filter_map(|endpoint| judged(endpoint)).collect();
        let ejections: Vec<_> = members.iter().map(|(_, outlying)| Arc::clone(outlying.ejection())).collect();
        let actions = self.ejector.advance(now, &ejections, |at| {
            let (endpoint, outlying) = members[at];
            outlying.sample(endpoint.statistics())
        });
        for action in actions {
            let (endpoint, _) = members[action.member()];
            if matches!(action, EjectorAction::Return { .. }) {
                endpoint.start_anew(now);
                cluster.reseed(endpoint, now);
            }
            cluster.settings.conduct.tell(&event(endpoint.name(), action));
        }
    }

    /// Returns when the next sweep or return is due.
    pub(super) fn acts_at(&self) -> Option<Instant> {
        self.ejector.next_change()
    }
}

fn event(endpoint: &str, action: EjectorAction) -> Event<'_> {
    match action {
        EjectorAction::Eject { cause, epoch, until, .. } => Event::Ejected { endpoint, cause, epoch, until },
        EjectorAction::Withheld { cause, epoch, .. } => Event::Withheld { endpoint, cause, epoch },
        EjectorAction::Return { cause, epoch, .. } => Event::Returned { endpoint, cause, epoch },
    }
}
