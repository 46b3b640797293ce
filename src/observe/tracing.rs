//! Structured events.

use std::sync::Arc;

use ::tracing::level_filters::LevelFilter;
use ::tracing::{Span, debug, info, trace, warn};

use super::labels;
use super::span::{TARGET, attempt_span};
use super::{
    AttemptEvent, BuildEvent, CircuitChange, CircuitEvent, ClosedEvent, FailFastEvent, HedgeEvent,
    HedgeVerdict, MemberChange, MemberEvent, MembershipEvent, Observer, OutlierChange, OutlierEvent,
    PanicEvent, PanicModeEvent, PickEvent, ProbeEvent, ReadinessEvent, RetryEvent,
};
use crate::core::{AttemptScope, ExclusionCounts};

/// Makes what it hears events of `tracing`, with the target `poise`.
///
/// | event | level | fields |
/// |---|---|---|
/// | circuit opened | warn | `network.peer.address`, `reason`, `epoch` |
/// | circuit closed | info | `network.peer.address`, `reason`, `epoch` |
/// | the budget had a circuit stay closed, at each further failure | debug | `network.peer.address`, `reason`, `epoch` |
/// | member was ejected as an outlier, or the budget had it stay | warn | `network.peer.address`, `reason`, `epoch` |
/// | ejected member returned | info | `network.peer.address`, `reason`, `epoch` |
/// | probes found an endpoint unhealthy | warn | `network.peer.address`, `epoch` |
/// | probes found an endpoint healthy | info | `network.peer.address`, `epoch` |
/// | too few members are healthy | warn | `eligible`, `members` |
/// | enough members are healthy again | info | `eligible`, `members` |
/// | an operator said something of a member, a drain is done | info | `network.peer.address`, `change` |
/// | the service of a member could not be built, did not connect, or was not ready to take over | warn | `network.peer.address`, `failures` |
/// | membership took effect | info | `revision`, `members`, `unbuilt` |
/// | requests fail at once | warn | |
/// | requests no longer fail at once | info | |
/// | code of the user panicked | warn | `what` |
/// | a balancer was closed | debug | `members`, `unbuilt` |
/// | a pick was refused | debug | `error.type`, `candidates` |
/// | a retry was denied | debug | |
/// | a hedge was denied | debug | |
/// | a request is hedged, a hedge had the answer first | trace | `network.peer.address` of a new hedge |
/// | an endpoint failed to become ready with no attempt under way there | warn | `network.peer.address` |
/// | an attempt failed | debug | `network.peer.address`, `phase`, `error.type`, `elapsed_seconds` |
/// | any other attempt ended | trace | `network.peer.address`, `phase`, `outcome`, `elapsed_seconds` |
///
/// Numbers are recorded as numbers. The name of the endpoint is that of the member, which is an address when the keys of
/// discovery are. Keys and errors of requests are not written down.
///
/// # Spans
///
/// Each attempt of a balancer is a span `attempt` of level info, a child of the span that the request is polled in. Whatever the service does for the attempt
/// happens in it, so that the spans of a client stand below it, and so do the events of the attempt. It is entered while the
/// attempt runs and never while it waits, and closed when the attempt ends. Its fields are
///
/// | field | what |
/// |---|---|
/// | `server.address` | what [`with_server`](Self::with_server) says that the balancer stands for |
/// | `network.peer.address` | the endpoint |
/// | `http.request.resend_count` | how many times the request was handed to an endpoint before, if it was |
/// | `error.type` | `failure` or `overload`, if it was one |
/// | `phase`, `outcome`, `elapsed_seconds` | how far it came, how it ended, how long it took to the head of its response |
///
/// where names with a dot are those of OpenTelemetry's semantic conventions. An attempt of which no subscriber wants to know
/// costs no allocation.
///
/// # Examples
///
/// ```
/// use poise::observe::{CircuitChange, CircuitEvent, CircuitReason, Observer, TracingObserver};
///
/// let event = CircuitEvent::new("10.0.0.1:80", CircuitChange::Tripped, CircuitReason::Failures, 1);
/// TracingObserver::new().circuit(&event);
/// ```
#[derive(Clone, Debug, Default)]
pub struct TracingObserver {
    server: Option<Arc<str>>,
    no_spans: bool,
}

impl TracingObserver {
    /// Makes an observer.
    #[must_use = "an observer does nothing until it is told something"]
    pub const fn new() -> Self {
        Self { server: None, no_spans: false }
    }

    /// Says what the balancer stands for, such as the name that its members were found by: the `server.address` of its
    /// attempts.
    #[must_use]
    pub fn with_server(self, address: impl Into<Arc<str>>) -> Self {
        Self { server: Some(address.into()), ..self }
    }

    /// Goes without a span for each attempt. How an attempt ended is then recorded in the current span, such as that of a
    /// [`request_span`](super::request_span).
    #[must_use]
    pub fn without_spans(self) -> Self {
        Self { no_spans: true, ..self }
    }
}

impl Observer for TracingObserver {
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

    fn is_listening(&self) -> bool {
        LevelFilter::current() != LevelFilter::OFF
    }

    fn attempt_scope(&self, endpoint: &str) -> Option<Box<dyn AttemptScope>> {
        if self.no_spans { None } else { attempt_span(self.server.as_deref(), endpoint) }
    }

    fn attempt(&self, event: &AttemptEvent<'_>) {
        let (phase, outcome) = (labels::phase(event.phase), labels::outcome(event.outcome));
        let elapsed_seconds = event.elapsed.as_secs_f64();
        let span = Span::current();
        if self.no_spans {
            span.record("network.peer.address", event.endpoint);
        }
        span.record("phase", phase).record("outcome", outcome).record("elapsed_seconds", elapsed_seconds);
        if event.outcome.is_error() {
            span.record("error.type", outcome);
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

    fn readiness_failed(&self, event: &ReadinessEvent<'_>) {
        // Otherwise the attempt has said it.
        if event.isolated {
            warn!(
                target: TARGET,
                { network.peer.address = event.endpoint },
                "an endpoint failed to become ready"
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
        let (reason, epoch) = (labels::circuit_reason(event.reason), event.epoch);
        match event.change {
            CircuitChange::Tripped => warn!(
                target: TARGET,
                { network.peer.address = event.endpoint, reason, epoch },
                "a circuit opened"
            ),
            CircuitChange::Withheld => debug!(
                target: TARGET,
                { network.peer.address = event.endpoint, reason, epoch },
                "a circuit was not opened: the budget is spent"
            ),
            CircuitChange::Recovered => info!(
                target: TARGET,
                { network.peer.address = event.endpoint, reason, epoch },
                "a circuit closed"
            ),
        }
    }

    fn outlier(&self, event: &OutlierEvent<'_>) {
        let (reason, epoch) = (labels::outlier_reason(event.reason), event.epoch);
        match event.change {
            OutlierChange::Ejected => warn!(
                target: TARGET,
                { network.peer.address = event.endpoint, reason, epoch },
                "a member was ejected"
            ),
            OutlierChange::Withheld => warn!(
                target: TARGET,
                { network.peer.address = event.endpoint, reason, epoch },
                "a member was not ejected: the budget is spent"
            ),
            OutlierChange::Returned => info!(
                target: TARGET,
                { network.peer.address = event.endpoint, reason, epoch },
                "an ejected member returned"
            ),
        }
    }

    fn probe(&self, event: &ProbeEvent<'_>) {
        let epoch = event.epoch;
        if event.healthy {
            info!(
                target: TARGET,
                { network.peer.address = event.endpoint, epoch },
                "probes found an endpoint healthy"
            );
        } else {
            warn!(
                target: TARGET,
                { network.peer.address = event.endpoint, epoch },
                "probes found an endpoint unhealthy"
            );
        }
    }

    fn panic_mode(&self, event: &PanicModeEvent) {
        let (eligible, members) = (event.eligible, event.members);
        if event.on {
            warn!(target: TARGET, eligible, members, "too few members are healthy");
        } else {
            info!(target: TARGET, eligible, members, "enough members are healthy again");
        }
    }

    fn member(&self, event: &MemberEvent<'_>) {
        let change = labels::member_change(event.change);
        if event.change == MemberChange::Drained {
            info!(target: TARGET, { network.peer.address = event.endpoint, change }, "a drain is done");
        } else {
            info!(
                target: TARGET,
                { network.peer.address = event.endpoint, change },
                "an operator said something of a member"
            );
        }
    }

    fn build_failed(&self, event: &BuildEvent<'_>) {
        warn!(
            target: TARGET,
            { network.peer.address = event.endpoint, failures = event.failures },
            "the service of a member did not come about"
        );
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
