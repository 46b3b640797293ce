//! Structured events.

use ::tracing::dispatcher::has_been_set;
use ::tracing::field::Empty;
use ::tracing::{Span, debug, info, info_span, trace, warn};

use super::labels;
use super::{
    AttemptEvent, CircuitChange, CircuitEvent, ClosedEvent, FailFastEvent, HedgeEvent, HedgeVerdict,
    MembershipEvent, Observer, PanicEvent, PickEvent, RetryEvent,
};
use crate::core::ExclusionCounts;

/// Makes what it hears events of `tracing`, with the target `poise`.
///
/// | event | level | fields |
/// |---|---|---|
/// | circuit opened | warn | `network.peer.address` |
/// | circuit closed | info | `network.peer.address` |
/// | membership took effect | info | `revision`, `members`, `unbuilt` |
/// | requests fail at once | warn | |
/// | requests no longer fail at once | info | |
/// | code of the user panicked | warn | `what` |
/// | a balancer was closed | debug | `members`, `unbuilt` |
/// | a pick was refused | debug | `error.type`, `candidates` |
/// | a retry was denied | debug | |
/// | a hedge was denied | debug | |
/// | a request is hedged, a hedge had the answer first | trace | `network.peer.address` of a new hedge |
/// | an attempt failed | debug | `network.peer.address`, `phase`, `error.type`, `elapsed_seconds` |
/// | any other attempt ended | trace | `network.peer.address`, `phase`, `outcome`, `elapsed_seconds` |
///
/// Numbers are recorded as numbers. The name of the endpoint is that of the member, which is an address when the keys of
/// discovery are. Keys and errors of requests are not written down.
///
/// No span is entered, so none is held across an await: whoever wants the events of a request inside a span instruments the
/// future of the request. Made by [`request_span`], such a span also learns which endpoint was called and how it went.
///
/// # Examples
///
/// ```
/// use poise::observe::{CircuitChange, CircuitEvent, Observer, TracingObserver};
///
/// TracingObserver::new().circuit(&CircuitEvent::new("10.0.0.1:80", CircuitChange::Tripped));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TracingObserver;

/// The target of every event and span.
const TARGET: &str = "poise";

impl TracingObserver {
    /// Makes an observer.
    #[must_use = "an observer does nothing until it is told something"]
    pub const fn new() -> Self {
        Self
    }
}

/// Makes a span for one request, to instrument its future with.
///
/// Whenever an attempt ends while it is the current span, a [`TracingObserver`] records in it `network.peer.address`,
/// `phase`, `outcome` and `elapsed_seconds`: in the end those of the last attempt.
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
        phase = Empty,
        outcome = Empty,
        elapsed_seconds = Empty,
    )
}

impl Observer for TracingObserver {
    /// From the first subscriber on.
    fn is_listening(&self) -> bool {
        has_been_set()
    }

    fn pick(&self, event: &PickEvent<'_>) {
        if event.verdict.is_selected() {
            // The attempt says it when it ends.
            return;
        }
        debug!(
            target: TARGET,
            {
                error.type = labels::verdict(event.verdict),
                candidates = event.exclusions().map(ExclusionCounts::candidates),
            },
            "a pick was refused"
        );
    }

    fn attempt(&self, event: &AttemptEvent<'_>) {
        if !self.is_listening() {
            return;
        }
        let (phase, outcome) = (labels::phase(event.phase), labels::outcome(event.outcome));
        let elapsed_seconds = event.elapsed.as_secs_f64();
        Span::current()
            .record("network.peer.address", event.endpoint)
            .record("phase", phase)
            .record("outcome", outcome)
            .record("elapsed_seconds", elapsed_seconds);
        if event.outcome.is_error() {
            debug!(
                target: TARGET,
                { network.peer.address = event.endpoint, phase, error.type = outcome, elapsed_seconds },
                "an attempt failed"
            );
        } else {
            trace!(
                target: TARGET,
                { network.peer.address = event.endpoint, phase, outcome, elapsed_seconds },
                "an attempt ended"
            );
        }
    }

    fn retry(&self, event: &RetryEvent) {
        if event.granted {
            trace!(target: TARGET, "a request is tried again");
        } else {
            debug!(target: TARGET, "a retry was denied: the budget is spent");
        }
    }

    fn hedge(&self, event: &HedgeEvent<'_>) {
        match event.verdict {
            HedgeVerdict::Sent => {
                trace!(target: TARGET, { network.peer.address = event.endpoint }, "a request is hedged");
            }
            HedgeVerdict::Denied => debug!(target: TARGET, "a hedge was denied: the budget is spent"),
            HedgeVerdict::Won => trace!(target: TARGET, "a hedge had the answer first"),
        }
    }

    fn circuit(&self, event: &CircuitEvent<'_>) {
        match event.change {
            CircuitChange::Tripped => {
                warn!(target: TARGET, { network.peer.address = event.endpoint }, "a circuit opened");
            }
            CircuitChange::Recovered => {
                info!(target: TARGET, { network.peer.address = event.endpoint }, "a circuit closed");
            }
        }
    }

    fn membership(&self, event: &MembershipEvent) {
        info!(
            target: TARGET,
            revision = event.revision,
            members = event.members,
            unbuilt = event.unbuilt,
            "a membership took effect"
        );
    }

    fn fail_fast(&self, event: &FailFastEvent) {
        if event.on {
            warn!(target: TARGET, "requests fail at once: nobody is eligible");
        } else {
            info!(target: TARGET, "requests no longer fail at once");
        }
    }

    fn panicked(&self, event: &PanicEvent) {
        warn!(target: TARGET, what = event.what, "a panic was contained");
    }

    fn closed(&self, event: &ClosedEvent) {
        debug!(
            target: TARGET,
            members = event.members,
            unbuilt = event.unbuilt,
            "a balancer was closed"
        );
    }
}
