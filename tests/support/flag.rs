//! A health signal that a test sets.

use std::sync::{Arc, Mutex};

use poise::core::{Backend, Changes, Exclusion, Exclusions, Now};
use poise::health::{HealthChecked, HealthSignal};

/// Objects while it is down.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flag(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    is_down: bool,
    changes: Changes,
}

pub(crate) type Flagged = HealthChecked<Backend<&'static str>, Flag>;

impl Flag {
    pub(crate) fn on(&self, name: &'static str) -> Flagged {
        HealthChecked::new(Backend::new(name), self.clone())
    }

    /// Sets it and tells whoever watches.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.set_down_silently(is_down);
        let changes = self.0.lock().unwrap().changes.clone();
        changes.notify();
    }

    /// Sets it and tells nobody.
    pub(crate) fn set_down_silently(&self, is_down: bool) {
        self.0.lock().unwrap().is_down = is_down;
    }
}

impl HealthSignal for Flag {
    fn exclusions(&self, _: &Now) -> Exclusions {
        Exclusions::NONE.with_if(Exclusion::Probe, self.0.lock().unwrap().is_down)
    }

    fn watch(&self, changes: Changes) {
        self.0.lock().unwrap().changes = changes;
    }
}
