//! Spans of requests and attempts.

use ::tracing::field::Empty;
use ::tracing::{Span, info_span};

use crate::core::AttemptScope;

/// The target of every event and span.
pub(super) const TARGET: &str = "poise";

/// Makes a span for one request, to instrument its future with, where there is none.
///
/// The spans of its attempts stand below it. With [`without_spans`](super::TracingObserver::without_spans) it takes their
/// place: whenever an attempt ends while it is the current span, `network.peer.address`, `error.type`, `phase`, `outcome` and
/// `elapsed_seconds` are recorded in it, in the end those of the last attempt.
///
/// ```
/// use poise::observe::request_span;
/// # use std::future::Future;
/// use tracing::Instrument;
///
/// # fn instrument(response: impl Future<Output = ()>) -> impl Future<Output = ()> {
/// response.instrument(request_span())
/// # }
/// # drop(instrument(async {}));
/// ```
#[must_use = "a span does nothing until something is instrumented with it"]
pub fn request_span() -> Span {
    info_span!(
        target: TARGET,
        "request",
        network.peer.address = Empty,
        error.type = Empty,
        phase = Empty,
        outcome = Empty,
        elapsed_seconds = Empty,
    )
}

/// Makes the span of an attempt at this endpoint, if any subscriber wants to know of it.
#[inline]
pub(super) fn attempt_span(server: Option<&str>, endpoint: &str) -> Option<Box<dyn AttemptScope>> {
    let span = info_span!(
        target: TARGET,
        "attempt",
        server.address = server,
        network.peer.address = endpoint,
        http.request.resend_count = Empty,
        error.type = Empty,
        phase = Empty,
        outcome = Empty,
        elapsed_seconds = Empty,
    );
    if span.is_disabled() { None } else { Some(Box::new(AttemptSpan(span))) }
}

/// The span of one attempt.
struct AttemptSpan(Span);

impl AttemptScope for AttemptSpan {
    fn run(&self, code: &mut dyn FnMut()) {
        self.0.in_scope(code);
    }

    fn called(&self, resends: u32) {
        if resends > 0 {
            self.0.record("http.request.resend_count", resends);
        }
    }
}
