//! Policies that watch another one, or do what a policy must not.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use poise::core::{PickError, Policy, Prepare, Prepared, Selection, View};

/// Counts how often a policy prepares.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted<P> {
    inner: P,
    prepared: Arc<AtomicU64>,
}

impl<P> Counted<P> {
    pub(crate) fn new(inner: P) -> Self {
        Self { inner, prepared: Arc::default() }
    }

    /// Returns the count, which goes on by itself.
    pub(crate) fn prepared(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.prepared)
    }
}

impl<C, P: Prepare<C>> Prepare<C> for Counted<P> {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        self.prepared.fetch_add(1, Ordering::Relaxed);
        self.inner.prepare(view, previous)
    }
}

impl<C, K: ?Sized, P: Policy<C, K>> Policy<C, K> for Counted<P> {
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        self.inner.pick_from(view, key)
    }
}

/// Always names this position, whoever stands there.
pub(crate) struct Stubborn(pub(crate) usize);

impl<C> Prepare<C> for Stubborn {}

impl<C, K: ?Sized> Policy<C, K> for Stubborn {
    fn pick_from(&self, _: &View<'_, C>, _: &K) -> Result<Selection, PickError> {
        Ok(Selection::new(self.0))
    }
}
