//! What keeps a balancer open.

use std::sync::Arc;

use super::conduct::Conduct;
use super::dispatch::Dispatch;
use crate::core::LoadTracker;

/// Keeps a cluster open for as long as there is one.
pub(super) struct Handle<S, R, L: LoadTracker> {
    cluster: Arc<dyn Dispatch<S, R, L>>,
    conduct: Arc<Conduct<S, R>>,
}

impl<S, R, L: LoadTracker> Handle<S, R, L> {
    pub(super) fn new(cluster: Arc<dyn Dispatch<S, R, L>>) -> Self {
        Self { conduct: Arc::clone(cluster.conduct()), cluster }
    }

    pub(super) fn cluster(&self) -> &Arc<dyn Dispatch<S, R, L>> {
        &self.cluster
    }

    pub(super) fn conduct(&self) -> &Conduct<S, R> {
        &self.conduct
    }
}

impl<S, R, L: LoadTracker> Drop for Handle<S, R, L> {
    fn drop(&mut self) {
        self.cluster.close();
    }
}
