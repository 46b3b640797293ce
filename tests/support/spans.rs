//! A subscriber that keeps spans, with what happened in them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use ::tracing::level_filters::LevelFilter;
use ::tracing::span::{Attributes, Id, Record};
use ::tracing::{Event, Subscriber};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use super::fields::{Fields, Value};

/// A span as it was at the end.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) id: u64,
    pub(crate) name: &'static str,
    pub(crate) target: &'static str,
    pub(crate) parent: Option<u64>,
    pub(crate) fields: BTreeMap<&'static str, Value>,
    /// The messages of the events in it.
    pub(crate) events: Vec<String>,
    pub(crate) closed: bool,
}

impl Kept {
    pub(crate) fn get(&self, field: &str) -> Option<&str> {
        match self.fields.get(field)? {
            Value::Text(text) => Some(text),
            other => panic!("{field} is {other:?}"),
        }
    }

    pub(crate) fn text(&self, field: &str) -> &str {
        self.get(field).unwrap_or_else(|| panic!("{field} is not in {self:?}"))
    }

    pub(crate) fn integer(&self, field: &str) -> u64 {
        match self.fields.get(field) {
            Some(Value::Integer(number)) => *number,
            other => panic!("{field} is {other:?}"),
        }
    }

    pub(crate) fn real(&self, field: &str) -> f64 {
        match self.fields.get(field) {
            Some(Value::Real(number)) => *number,
            other => panic!("{field} is {other:?}"),
        }
    }
}

/// All spans so far, in the order in which they were made. Identifiers of spans that are closed are used again, so that
/// spans are told apart by their number.
#[derive(Default)]
struct Book {
    spans: Vec<Kept>,
    open: HashMap<u64, usize>,
    entered: i64,
}

impl Book {
    fn span(&mut self, id: &Id) -> Option<&mut Kept> {
        let at = *self.open.get(&id.into_u64())?;
        self.spans.get_mut(at)
    }
}

#[derive(Clone, Default)]
pub(crate) struct Spans(Arc<Mutex<Book>>);

impl Spans {
    pub(crate) fn subscriber(&self) -> impl Subscriber + Send + Sync + 'static {
        Registry::default().with(self.clone())
    }

    pub(crate) fn subscriber_above_info(&self) -> impl Subscriber + Send + Sync + 'static {
        Registry::default().with(self.clone()).with(LevelFilter::WARN)
    }

    pub(crate) fn all(&self) -> Vec<Kept> {
        self.0.lock().unwrap().spans.clone()
    }

    pub(crate) fn named(&self, name: &str) -> Vec<Kept> {
        self.all().into_iter().filter(|span| span.name == name).collect()
    }

    pub(crate) fn one(&self, name: &str) -> Kept {
        let mut named = self.named(name);
        assert_eq!(named.len(), 1, "{named:#?}");
        named.remove(0)
    }

    /// Returns how many spans are entered now, on any thread.
    pub(crate) fn entered(&self) -> i64 {
        self.0.lock().unwrap().entered
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let parent = context.span(id).and_then(|span| Some(span.parent()?.id()));
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let mut book = self.0.lock().unwrap();
        let parent = parent.and_then(|parent| Some(book.span(&parent)?.id));
        let number = book.spans.len();
        book.open.insert(id.into_u64(), number);
        book.spans.push(Kept {
            id: number as u64,
            name: attributes.metadata().name(),
            target: attributes.metadata().target(),
            parent,
            fields: fields.0,
            events: Vec::new(),
            closed: false,
        });
    }

    fn on_record(&self, id: &Id, record: &Record<'_>, _: Context<'_, S>) {
        let mut fields = Fields::default();
        record.record(&mut fields);
        if let Some(span) = self.0.lock().unwrap().span(id) {
            span.fields.extend(fields.0);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let Some(id) = context.event_span(event).map(|span| span.id()) else { return };
        let mut fields = Fields::default();
        event.record(&mut fields);
        if let (Some(span), Some(Value::Text(message))) =
            (self.0.lock().unwrap().span(&id), fields.0.remove("message"))
        {
            span.events.push(message);
        }
    }

    fn on_enter(&self, _: &Id, _: Context<'_, S>) {
        self.0.lock().unwrap().entered += 1;
    }

    fn on_exit(&self, _: &Id, _: Context<'_, S>) {
        self.0.lock().unwrap().entered -= 1;
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        let mut book = self.0.lock().unwrap();
        if let Some(span) = book.span(&id) {
            span.closed = true;
        }
        book.open.remove(&id.into_u64());
    }
}
