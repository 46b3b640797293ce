//! Loads that policies compare.

use std::sync::Arc;

use crate::core::Now;

/// Measures how busy a candidate is.
///
/// The number is at least zero and in any unit, as it is only ever compared with other numbers of the same kind. A
/// policy divides it by the weight. Not-a-number counts as infinitely busy, and a negative number as idle. Measuring
/// never writes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` measures no load",
    note = "a policy that compares loads needs one of each candidate, as in `Backend::new(..).with_load(InFlight::new())`; \
            `RoundRobin`, `Random` and those by key need none"
)]
pub trait LoadMetric {
    /// Returns the load at `now`.
    fn measure(&self, now: &Now) -> f64;

    /// Tells whether a request would wait for nobody: nothing is in flight, and nothing is known against the candidate.
    ///
    /// [`PowerOfTwoChoices::choices_when_busy`](crate::core::policy::PowerOfTwoChoices::choices_when_busy) asks it. By
    /// default that is no load at all; a load that is more than zero at rest says it in its own way.
    fn is_idle(&self, now: &Now) -> bool {
        self.measure(now) <= 0.0
    }
}

/// Marks a load that counts things, so that sums over candidates mean something.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no count of requests",
    note = "this policy adds loads up or divides them by weights: count requests with `InFlight`, in a `Balancer` by \
            `.load(InFlight::new)`"
)]
pub trait AdditiveLoad: LoadMetric {
    /// Returns the count.
    fn count(&self) -> u64;
}

macro_rules! delegate_metric {
    ($($pointer:ty),+) => {$(
        impl<L: LoadMetric + ?Sized> LoadMetric for $pointer {
            fn measure(&self, now: &Now) -> f64 {
                (**self).measure(now)
            }

            fn is_idle(&self, now: &Now) -> bool {
                (**self).is_idle(now)
            }
        }

        impl<L: AdditiveLoad + ?Sized> AdditiveLoad for $pointer {
            fn count(&self) -> u64 {
                (**self).count()
            }
        }
    )+};
}

delegate_metric!(&L, Box<L>, Arc<L>);

/// A load that somebody else keeps: a queue length, a utilisation.
impl LoadMetric for f64 {
    fn measure(&self, _: &Now) -> f64 {
        *self
    }
}
