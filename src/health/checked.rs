//! A candidate with a health signal.

use std::time::Instant;

use crate::core::delegate::delegate_candidate;
use crate::core::{Candidate, Changes, Exclusions, Now};

use super::HealthSignal;

/// Adds a health signal to a candidate.
///
/// Identity, data, load and every attribute are those of the candidate. Its exclusions are the candidate's and the
/// signal's together, so both must agree before it is chosen: health never revives what is draining or unavailable, and
/// the administrative state stays as it is whatever health says. Wrappers nest, each a gate of its own.
///
/// # Examples
///
/// ```
/// use poise::core::{Backend, Candidate, Exclusion, Now, Status};
/// use poise::health::{CircuitConfig, HealthChecked, PassiveHealth};
/// use std::time::Duration;
///
/// let circuit = PassiveHealth::new(CircuitConfig::new(3, Duration::from_secs(1))?);
/// let checked = HealthChecked::new(Backend::new("a").with_status(Status::Draining), circuit);
///
/// checked.health().force_open();
/// let exclusions = checked.exclusions(&Now::lazy());
/// assert!(exclusions.contains(Exclusion::Circuit));
/// assert_eq!(exclusions.deciding(), Some(Exclusion::Draining));
/// # Ok::<(), poise::health::CircuitConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HealthChecked<Backend, Health> {
    backend: Backend,
    health: Health,
}

impl<Backend, Health> HealthChecked<Backend, Health> {
    /// Puts `health` beside `backend`.
    pub const fn new(backend: Backend, health: Health) -> Self {
        Self { backend, health }
    }

    /// Returns the candidate.
    pub const fn backend(&self) -> &Backend {
        &self.backend
    }

    /// Returns the signal.
    pub const fn health(&self) -> &Health {
        &self.health
    }

    /// Takes both apart again.
    pub fn into_parts(self) -> (Backend, Health) {
        (self.backend, self.health)
    }
}

impl<Backend: Candidate, Health: HealthSignal> Candidate for HealthChecked<Backend, Health> {
    type Id = Backend::Id;
    type Data = Backend::Data;
    type Load = Backend::Load;

    delegate_candidate!(self => self.backend, except: exclusions, watch, changes_at);

    fn exclusions(&self, now: &Now) -> Exclusions {
        self.backend.exclusions(now) | self.health.exclusions(now)
    }

    fn watch(&self, changes: Changes) {
        self.backend.watch(changes.clone());
        self.health.watch(changes);
    }

    fn changes_at(&self, now: &Now) -> Option<Instant> {
        self.backend.changes_at(now).into_iter().chain(self.health.changes_at(now)).min()
    }
}
