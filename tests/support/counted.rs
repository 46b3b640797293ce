//! A policy that counts how often it prepares.

use std::sync::atomic::{AtomicU32, Ordering};

use poise::core::{PickError, Policy, Prepare, Prepared, Selection, View};

#[derive(Debug)]
pub(crate) struct Counted<P> {
    inner: P,
    prepares: AtomicU32,
}

impl<P> Counted<P> {
    pub(crate) fn new(inner: P) -> Self {
        Self { inner, prepares: AtomicU32::new(0) }
    }

    pub(crate) fn prepares(&self) -> u32 {
        self.prepares.load(Ordering::Relaxed)
    }
}

impl<C, P: Prepare<C>> Prepare<C> for Counted<P> {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        self.prepares.fetch_add(1, Ordering::Relaxed);
        self.inner.prepare(view, previous)
    }
}

impl<C, K: ?Sized, P: Policy<C, K>> Policy<C, K> for Counted<P> {
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        self.inner.pick_from(view, key)
    }
}
