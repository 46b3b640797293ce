//! What keeps a balancer open.

use std::sync::Arc;

use super::dispatch::Dispatch;
use crate::core::LoadTracker;

/// Keeps a cluster open for as long as there is one.
pub(super) struct Handle<S, R, L: LoadTracker> {
    cluster: Arc<dyn Dispatch<S, R, L>>,
}

impl<S, R, L: LoadTracker> Handle<S, R, L> {
    pub(super) fn new(cluster: Arc<dyn Dispatch<S, R, L>>) -> Self {
        Self { cluster }
    }

    pub(super) fn cluster(&self) -> &Arc<dyn Dispatch<S, R, L>> {
        &self.cluster
    }
}

impl<S, R, L: LoadTracker> Drop for Handle<S, R, L> {
    fn drop(&mut self) {
        self.cluster.close();
    }
}
