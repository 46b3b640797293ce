//! What happened to an attempt.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{BalancerErrorKind, OperatorVerb};
use crate::core::{AttemptScope, Outcome, Phase};
use crate::health::{OutlierCause, TripCause};

/// Says what happened.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A policy chose an endpoint and the attempt was admitted.
    Picked {
        /// The name of the endpoint.
        endpoint: &'a str,
        /// Whether the choice overrode the verdicts of health.
        panic: bool,
    },
    /// Nobody could be picked for a request, which waits or fails now.
    Refused {
        /// Why.
        obstacle: &'a BalancerErrorKind,
    },
    /// An attempt ended.
    Ended {
        /// The name of the endpoint.
        endpoint: &'a str,
        /// How far it had come.
        phase: Phase,
        /// How it ended.
        outcome: Outcome,
        /// How long it took, to the head of its response.
        elapsed: Duration,
    },
    /// A request is tried again on another endpoint.
    Retried,
    /// A request would have been tried again, but the budget was spent.
    RetryDenied,
    /// A request that takes long is sent to one more endpoint.
    Hedged {
        /// The name of that endpoint.
        endpoint: &'a str,
    },
    /// A request would have been hedged, but the budget was spent.
    HedgeDenied,
    /// A hedge had the answer first.
    HedgeWon,
    /// The circuit of an endpoint opened.
    Tripped {
        /// The name of the endpoint.
        endpoint: &'a str,
        /// Which attempts made it open.
        cause: TripCause,
        /// The epoch of the circuit that this started.
        epoch: u64,
    },
    /// The circuit of an endpoint was to open, but the [budget](super::Builder::exclusions) has it stay closed. It asks again at
    /// each further failure.
    TripWithheld {
        /// The name of the endpoint.
        endpoint: &'a str,
        /// The epoch of the circuit, which goes on.
        epoch: u64,
    },
    /// The circuit of an endpoint closed, because enough attempts that it let through as probes succeeded.
    Recovered {
        /// The name of the endpoint.
        endpoint: &'a str,
        /// The epoch of the circuit that this started.
        epoch: u64,
    },
    /// A member fared worse than the others, and takes no requests for a time.
    Ejected {
        /// The name of the endpoint.
        endpoint: &'a str,
        /// What it stood out by.
        cause: OutlierCause,
        /// The epoch of its ejection that this started.
        epoch: u64,
        /// When it returns; none is never.
        until: Option<Instant>,
    },
    /// A member fared worse than the others, but the [budget](super::Builder::exclusions) has it stay. The next sweep asks again.
    Withheld {
        /// The name of the endpoint.
        endpoint: &'a str,
        /// What it stood out by.
        cause: OutlierCause,
        /// The epoch of its ejection, which goes on.
        epoch: u64,
    },
    /// The time of a member that was ejected is over.
    Returned {
        /// The name of the endpoint.
        endpoint: &'a str,
        /// What it was ejected for.
        cause: OutlierCause,
        /// The epoch of its ejection that this started.
        epoch: u64,
    },
    /// Active probes have changed their verdict on a member.
    Probed {
        /// The name of the endpoint.
        endpoint: &'a str,
        /// Whether they found it healthy.
        healthy: bool,
        /// The epoch that the verdict started.
        epoch: u64,
    },
    /// So few members are healthy that the balancer is in [panic](super::PanicMode), or no longer.
    Panic {
        /// Whether it is in panic now.
        on: bool,
        /// The number of members that are eligible.
        eligible: usize,
        /// The number of members that would be if all were healthy.
        members: usize,
    },
    /// A membership took effect, or members of it that have connected or were replaced.
    Membership {
        /// Its revision.
        revision: u64,
        /// The number of members that can be dispatched to.
        members: usize,
        /// The number of members whose latest service could not be built, or is still to connect.
        unbuilt: usize,
    },
    /// The service of a member could not be built, did not connect, or was not ready to take over from the one before. It is
    /// tried again; the [report](super::Report::last_error) has the error.
    BuildFailed {
        /// The name of the endpoint.
        endpoint: &'a str,
        /// How often in a row that has failed by now.
        failures: u32,
    },
    /// An operator said something of a member.
    Operator {
        /// The name of the endpoint.
        endpoint: &'a str,
        /// What.
        verb: OperatorVerb,
    },
    /// The drain of a member is done: its last attempt has ended, or its deadline has passed.
    Drained {
        /// The name of the endpoint.
        endpoint: &'a str,
    },
    /// Nobody has been eligible for so long that requests fail at once, or somebody is again.
    FailFast {
        /// Whether requests fail at once now.
        on: bool,
    },
    /// User code panicked and the panic was contained.
    Contained {
        /// Which code.
        what: &'static str,
    },
    /// The last handle of the balancer is gone, or it was shut down. Attempts that are under way still end, and requests that
    /// come all the same are refused; nothing else follows.
    Closed,
}

/// Hears what happens to attempts, on the thread on which it happens.
///
/// A hook returns quickly and does not call back into what it observes. A panic in it is contained.
pub trait Hook: Send + Sync + 'static {
    /// Hears one event.
    fn on(&self, event: &Event<'_>);

    /// Tells whether anybody would hear of an attempt that starts now. Otherwise neither its [`Picked`](Event::Picked) nor its
    /// [`Ended`](Event::Ended) is told: a hook that passes on what it hears costs next to nothing while nobody is there.
    ///
    /// Unless it is implemented, somebody is. It is asked at each pick, so it must be cheap; a hook that is one of several may be
    /// told all the same.
    fn is_listening(&self) -> bool {
        true
    }

    /// Returns what is to surround an attempt at this endpoint, which is polled for the first time, if anything is.
    ///
    /// It surrounds [`Event::Ended`] too, so that who hears that knows which attempt it was.
    fn scope(&self, endpoint: &str) -> Option<Box<dyn AttemptScope>> {
        let _ = endpoint;
        None
    }
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHook;

impl Hook for NoHook {
    fn is_listening(&self) -> bool {
        false
    }

    fn on(&self, _: &Event<'_>) {}
}

impl<H: Hook + ?Sized> Hook for Arc<H> {
    fn on(&self, event: &Event<'_>) {
        (**self).on(event);
    }

    fn is_listening(&self) -> bool {
        (**self).is_listening()
    }

    fn scope(&self, endpoint: &str) -> Option<Box<dyn AttemptScope>> {
        (**self).scope(endpoint)
    }
}
