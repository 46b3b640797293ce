//! Who hears what happens.

use std::sync::Arc;

use super::{
    AttemptEvent, BuildEvent, CircuitEvent, ClosedEvent, FailFastEvent, HedgeEvent, MemberEvent,
    MembershipEvent, OutlierEvent, PanicEvent, PanicModeEvent, PickEvent, ProbeEvent, ReadinessEvent,
    RetryEvent,
};
use crate::core::AttemptScope;

/// Hears what happens, on the thread on which it happens.
///
/// There is a method for each kind of event, and each does nothing unless it is implemented; later versions may add more.
/// References, boxes and `Arc`s of an observer are observers.
///
/// An observer returns quickly and does not call back into what it observes. A panic in it is contained by whoever tells it.
///
/// ```
/// use poise::observe::{AttemptEvent, Observer};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// #[derive(Default)]
/// struct Slow(AtomicU64);
///
/// impl Observer for Slow {
///     fn attempt(&self, event: &AttemptEvent<'_>) {
///         if event.elapsed.as_secs() >= 1 {
///             self.0.fetch_add(1, Ordering::Relaxed);
///         }
///     }
/// }
/// # let _ = Slow::default();
/// ```
#[expect(clippy::trivially_copy_pass_by_ref, reason = "events may grow")]
pub trait Observer: Send + Sync {
    /// Hears that a policy chose somebody or refused to.
    fn pick(&self, event: &PickEvent<'_>) {
        let _ = event;
    }

    /// Tells whether anybody would hear of an attempt that starts now. Otherwise a balancer tells neither that it was picked
    /// nor how it ends.
    ///
    /// Unless it is implemented, somebody does. It is asked at each pick, so it must be cheap; an observer that is one of
    /// several may be told all the same.
    fn is_listening(&self) -> bool {
        true
    }

    /// Returns what is to surround an attempt at this endpoint, which is polled for the first time, if anything is.
    ///
    /// A balancer asks for it, and runs everything in it that the attempt does, up to [`attempt`](Self::attempt).
    fn attempt_scope(&self, endpoint: &str) -> Option<Box<dyn AttemptScope>> {
        let _ = endpoint;
        None
    }

    /// Hears that an attempt ended.
    fn attempt(&self, event: &AttemptEvent<'_>) {
        let _ = event;
    }

    /// Hears that an endpoint failed before it was handed a request. The attempt itself is told too, unless the event is
    /// [isolated](ReadinessEvent::isolated).
    fn readiness_failed(&self, event: &ReadinessEvent<'_>) {
        let _ = event;
    }

    /// Hears that a request is tried again, or is not because the budget is spent.
    fn retry(&self, event: &RetryEvent) {
        let _ = event;
    }

    /// Hears that a request was sent to a second endpoint beside the first, or what became of that.
    fn hedge(&self, event: &HedgeEvent<'_>) {
        let _ = event;
    }

    /// Hears that the circuit of an endpoint opened, was to open, or closed.
    fn circuit(&self, event: &CircuitEvent<'_>) {
        let _ = event;
    }

    /// Hears that a member was ejected as an outlier, was to be, or returned.
    fn outlier(&self, event: &OutlierEvent<'_>) {
        let _ = event;
    }

    /// Hears that active probes have changed their verdict on an endpoint.
    fn probe(&self, event: &ProbeEvent<'_>) {
        let _ = event;
    }

    /// Hears that too few members are healthy from now on, or no longer.
    fn panic_mode(&self, event: &PanicModeEvent) {
        let _ = event;
    }

    /// Hears what an operator said of a member, or that its drain is done.
    fn member(&self, event: &MemberEvent<'_>) {
        let _ = event;
    }

    /// Hears that the service of a member could not be built, did not connect, or was not ready to take over.
    fn build_failed(&self, event: &BuildEvent<'_>) {
        let _ = event;
    }

    /// Hears that a membership took effect.
    fn membership(&self, event: &MembershipEvent) {
        let _ = event;
    }

    /// Hears that requests fail at once from now on, or no longer do.
    fn fail_fast(&self, event: &FailFastEvent) {
        let _ = event;
    }

    /// Hears that code of the user panicked and was contained.
    fn panicked(&self, event: &PanicEvent) {
        let _ = event;
    }

    /// Hears that a balancer ended, and what it leaves.
    fn closed(&self, event: &ClosedEvent) {
        let _ = event;
    }
}

/// Hears nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noop;

impl Observer for Noop {
    fn is_listening(&self) -> bool {
        false
    }
}

macro_rules! delegate_observer {
    ($($pointer:ty),+) => {$(
        impl<O: Observer + ?Sized> Observer for $pointer {
            fn pick(&self, event: &PickEvent<'_>) {
                (**self).pick(event);
            }

            fn is_listening(&self) -> bool {
                (**self).is_listening()
            }

            fn attempt_scope(&self, endpoint: &str) -> Option<Box<dyn AttemptScope>> {
                (**self).attempt_scope(endpoint)
            }

            fn attempt(&self, event: &AttemptEvent<'_>) {
                (**self).attempt(event);
            }

            fn readiness_failed(&self, event: &ReadinessEvent<'_>) {
                (**self).readiness_failed(event);
            }

            fn retry(&self, event: &RetryEvent) {
                (**self).retry(event);
            }

            fn hedge(&self, event: &HedgeEvent<'_>) {
                (**self).hedge(event);
            }

            fn circuit(&self, event: &CircuitEvent<'_>) {
                (**self).circuit(event);
            }

            fn outlier(&self, event: &OutlierEvent<'_>) {
                (**self).outlier(event);
            }

            fn probe(&self, event: &ProbeEvent<'_>) {
                (**self).probe(event);
            }

            fn panic_mode(&self, event: &PanicModeEvent) {
                (**self).panic_mode(event);
            }

            fn member(&self, event: &MemberEvent<'_>) {
                (**self).member(event);
            }

            fn build_failed(&self, event: &BuildEvent<'_>) {
                (**self).build_failed(event);
            }

            fn membership(&self, event: &MembershipEvent) {
                (**self).membership(event);
            }

            fn fail_fast(&self, event: &FailFastEvent) {
                (**self).fail_fast(event);
            }

            fn panicked(&self, event: &PanicEvent) {
                (**self).panicked(event);
            }

            fn closed(&self, event: &ClosedEvent) {
                (**self).closed(event);
            }
        }
    )+};
}

delegate_observer!(&O, Box<O>, Arc<O>);
