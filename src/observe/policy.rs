//! A policy that tells what it picks.

use super::contain::contain;
use super::{Observer, PickEvent};
use crate::core::policy::Explanation;
use crate::core::{PickError, Policy, Prepare, Prepared, Selection, View};

/// Tells an observer what a policy answers, and changes nothing about the answers.
///
/// Preparation and picks are those of the policy. Each pick is told once, with the exact result.
///
/// A balancer tells its observers of its picks itself; give it the policy as it is, lest each pick is counted twice.
///
/// # Examples
///
/// ```
/// use poise::observe::{ObservedPolicy, PickVerdict};
/// use poise::prelude::*;
///
/// let recorder = Recorder::new();
/// let policy = ObservedPolicy::new(RoundRobin::starting_at(0), recorder.clone());
///
/// let backends = [Backend::new("10.0.0.1:80"), Backend::new("10.0.0.2:80")];
/// assert_eq!(policy.pick(&backends, &())?.index(), 0);
/// assert_eq!(policy.pick(&backends[..0], &()), Err(PickError::Empty));
///
/// let counts = recorder.snapshot();
/// assert_eq!(counts.picks(PickVerdict::Selected), 1);
/// assert_eq!(counts.picks(PickVerdict::Empty), 1);
/// # Ok::<(), PickError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ObservedPolicy<P, O> {
    policy: P,
    observer: O,
}

impl<P, O> ObservedPolicy<P, O> {
    /// Observes `policy`.
    pub const fn new(policy: P, observer: O) -> Self {
        Self { policy, observer }
    }

    /// Returns the policy.
    pub const fn policy(&self) -> &P {
        &self.policy
    }

    /// Returns the observer.
    pub const fn observer(&self) -> &O {
        &self.observer
    }

    /// Takes both apart again.
    pub fn into_parts(self) -> (P, O) {
        (self.policy, self.observer)
    }
}

impl<P, O: Observer> ObservedPolicy<P, O> {
    fn told(&self, result: Result<Selection, PickError>) -> Result<Selection, PickError> {
        contain(|| self.observer.pick(&PickEvent::of(&result)));
        result
    }
}

impl<C, P: Prepare<C>, O: Observer> Prepare<C> for ObservedPolicy<P, O> {
    fn prepare(&self, view: &View<'_, C>, previous: Option<&Prepared>) -> Result<Prepared, PickError> {
        self.policy.prepare(view, previous)
    }
}

impl<C, K: ?Sized, P: Policy<C, K>, O: Observer> Policy<C, K> for ObservedPolicy<P, O> {
    fn pick_from(&self, view: &View<'_, C>, key: &K) -> Result<Selection, PickError> {
        self.told(self.policy.pick_from(view, key))
    }

    fn explain_from(&self, view: &View<'_, C>, key: &K) -> Result<Explanation, PickError> {
        self.policy.explain_from(view, key)
    }

    fn pick(&self, candidates: &[C], key: &K) -> Result<Selection, PickError> {
        self.told(self.policy.pick(candidates, key))
    }
}
