//! A hook that keeps what it hears of operators and drains.

use std::sync::{Arc, Mutex};

use poise::tower::{Event, Hook};

#[derive(Clone, Debug, Default)]
pub(crate) struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Counts how often this was heard.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|told| *told == what).count()
    }
}

impl Hook for Told {
    fn on(&self, event: &Event<'_>) {
        let told = match event {
            Event::Operator { endpoint, verb } => format!("{verb} {endpoint}"),
            Event::Drained { endpoint } => format!("drained {endpoint}"),
            Event::Contained { what } => format!("contained {what}"),
            Event::Closed => "closed".to_owned(),
            _ => return,
        };
        self.0.lock().unwrap().push(told);
    }
}
