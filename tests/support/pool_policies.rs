//! Policies that watch another one, or do what a policy must not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use poise::core::{Candidate, PickError, Policy, Prepare, Prepared, Selection, Table, View};

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

/// What a policy says that refuses.
pub(crate) const TWINS: PickError = PickError::DuplicateIdentity { first: 0, second: 1 };

/// How a policy does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Fine,
    /// It says that it cannot work on this membership.
    Refuses,
    Panics,
}

/// Says how a policy does from now on.
#[derive(Clone, Debug)]
pub(crate) struct Switch(Arc<Mutex<Mood>>);

impl Switch {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(Mood::Fine)))
    }

    pub(crate) fn set(&self, mood: Mood) {
        *self.0.lock().unwrap() = mood;
    }

    fn obey(&self) -> Result<(), PickError> {
        let mood = *self.0.lock().unwrap();
        assert_ne!(mood, Mood::Panics, "told to panic");
        if mood == Mood::Refuses { Err(TWINS) } else { Ok(()) }
    }
}

/// Does as another policy, while it is in the mood.
#[derive(Debug)]
pub(crate) struct Moody<P> {
    inner: P,
    preparing: Switch,
    picking: Switch,
}

impl<P> Moody<P> {
    pub(crate) fn new(inner: P) -> Self {
        Self { inner, preparing: Switch::new(), picking: Switch::new() }
    }

    pub(crate) fn when_preparing(&self) -> Switch {
        self.preparing.clone()
    }

    pub(crate) fn when_picking(&self) -> Switch {
        self.picking.clone()
    }
}

impl<C, P: Prepare<C>> Prepare<C> for Moody<P> {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        self.preparing.obey()?;
        self.inner.prepare(view, previous)
    }
}

impl<C, K: ?Sized, P: Policy<C, K>> Policy<C, K> for Moody<P> {
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        self.picking.obey()?;
        self.inner.pick_from(view, key)
    }
}

/// Prepares a table that cannot stand flips.
#[derive(Debug)]
pub(crate) struct Brittle<P>(pub(crate) P);

#[derive(Debug)]
struct Glass;

impl Table for Glass {
    fn set_eligible(&self, _: usize, _: bool) {
        panic!("told to panic");
    }
}

impl<C, P> Prepare<C> for Brittle<P> {
    fn prepare(&self, view: &View<'_, C>, _: Option<&Prepared>) -> Result<Prepared, PickError> {
        Ok(Prepared::new(view.len(), Glass))
    }
}

impl<C, K: ?Sized, P: Policy<C, K>> Policy<C, K> for Brittle<P> {
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        self.0.pick_from(view, key)
    }
}

/// Refuses memberships of more than two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AtMostTwo;

impl<C: Candidate> Prepare<C> for AtMostTwo {
    fn prepare(&self, view: &View<'_, C>, _: Option<&Prepared>) -> Result<Prepared, PickError> {
        if view.len() > 2 { Err(PickError::WeightOverflow) } else { Ok(Prepared::none()) }
    }
}

impl<C: Candidate> Policy<C> for AtMostTwo {
    fn pick_from(&self, view: &View<'_, C>, (): &()) -> Result<Selection, PickError> {
        view.first_from(0)
    }
}
