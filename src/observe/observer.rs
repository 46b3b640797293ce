//! Who hears what happens.

use std::sync::Arc;

use super::{
    AttemptEvent, CircuitEvent, ClosedEvent, FailFastEvent, HedgeEvent, MembershipEvent, PanicEvent,
    PickEvent, ReadinessEvent, RetryEvent,
};

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
    /// Tells whether picks and attempts are of interest now, which each request would tell.
    ///
    /// Unless it is implemented they always are. It is asked before each of them, so it must be cheap; an observer that is one
    /// of several may be told all the same.
    fn is_listening(&self) -> bool {
        true
    }

    /// Hears that a policy chose somebody or refused to.
    fn pick(&self, event: &PickEvent<'_>) {
        let _ = event;
    }

    /// Hears that an attempt ended.
    fn attempt(&self, event: &AttemptEvent<'_>) {
        let _ = event;
    }

    /// Hears that an endpoint failed before it was handed a request. The attempt itself is told too.
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

    /// Hears that the circuit of an endpoint opened or closed.
    fn circuit(&self, event: &CircuitEvent<'_>) {
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
            fn is_listening(&self) -> bool {
                (**self).is_listening()
            }

            fn pick(&self, event: &PickEvent<'_>) {
                (**self).pick(event);
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
