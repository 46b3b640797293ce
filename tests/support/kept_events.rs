//! A subscriber that keeps events, and what they are compared with.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ::tracing::level_filters::LevelFilter;
use ::tracing::{Event, Level, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use super::fields::{Fields, Value};

/// An event as it was told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kept {
    pub(crate) level: Level,
    pub(crate) target: String,
    pub(crate) message: String,
    /// All fields but the message.
    pub(crate) fields: BTreeMap<&'static str, Value>,
}

#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<Kept>>>);

impl Events {
    /// Keeps the events down to this level.
    pub(crate) fn subscriber(&self, down_to: LevelFilter) -> impl Subscriber + Send + Sync + 'static {
        Registry::default().with(self.clone()).with(down_to)
    }

    pub(crate) fn all(&self) -> Vec<Kept> {
        self.0.lock().unwrap().clone()
    }

    /// Returns the events with these words, in the order in which they were told.
    pub(crate) fn saying(&self, messages: &[&str]) -> Vec<Kept> {
        self.all().into_iter().filter(|kept| messages.contains(&&*kept.message)).collect()
    }
}

impl<S: Subscriber> Layer<S> for Events {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        let Some(Value::Text(message)) = fields.0.remove("message") else { panic!("{event:?} says nothing") };
        self.0.lock().unwrap().push(Kept {
            level: *metadata.level(),
            target: metadata.target().to_owned(),
            message,
            fields: fields.0,
        });
    }
}

pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.into())
}

pub(crate) fn number(number: u64) -> Value {
    Value::Integer(number)
}

/// Makes the event that is expected.
pub(crate) fn said(level: Level, message: &str, fields: &[(&'static str, Value)]) -> Kept {
    let fields = fields.iter().cloned().collect();
    Kept { level, target: "poise".into(), message: message.into(), fields }
}

pub(crate) fn at(endpoint: &str) -> (&'static str, Value) {
    ("network.peer.address", text(endpoint))
}

pub(crate) fn reason(reason: &str) -> (&'static str, Value) {
    ("reason", text(reason))
}

pub(crate) fn epoch(epoch: u64) -> (&'static str, Value) {
    ("epoch", number(epoch))
}
