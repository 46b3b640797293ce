//! After which time a hedge is due.

use std::fmt;
use std::time::{Duration, Instant};

use super::Hedge;
use super::hedge::When;
use super::window::LatencyWindow;
use crate::core::Outcome;

/// Says after which time a request is hedged, given how long others took lately.
///
/// A [`Balancer`](crate::tower::Balancer) that has a [`Hedge`] keeps one of these. It records each attempt that its endpoint had,
/// with the time from the pick on, in which the endpoint became ready. Whoever sends second attempts of their own, to
/// the endpoints of a [`Balance`](crate::tower::Balance) or to replicas that are no endpoints at all, keeps one beside a
/// [`RetryBudget`](crate::tower::RetryBudget):
///
/// 1. When an attempt is under way, ask for the [`delay`](Self::delay). With none, there is no hedge yet.
/// 2. If it is still under way by then, and the budget has a token, make the second attempt, and cancel whoever is later.
/// 3. [`record`](Self::record) each attempt that ends, the cancelled ones too.
///
/// # Threads
///
/// It is shared by all tasks: recording counts in a histogram of the thread's own, and the delay is worked out by one caller
/// ten times a second, and read by all others.
///
/// # Memory
///
/// About forty kilobytes where the delay is a quantile, whatever the traffic.
///
/// # Examples
///
/// ```
/// use poise::core::Outcome;
/// use poise::tower::{Hedge, HedgeDelay};
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let hedges = HedgeDelay::new(Hedge::after_quantile(0.9)?, start);
/// assert_eq!(hedges.delay(start), None, "nothing is known yet");
///
/// for attempt in 1..=100 {
///     hedges.record(Outcome::Success, Duration::from_millis(if attempt % 20 == 0 { 900 } else { 10 }));
/// }
/// let delay = hedges.delay(start + Duration::from_secs(1)).unwrap();
/// assert!((10..=12).contains(&delay.as_millis()), "nine in ten take 10 ms: {delay:?}");
/// # Ok::<(), poise::tower::HedgeError>(())
/// ```
pub struct HedgeDelay {
    /// The delay itself where it is fixed.
    least: Duration,
    window: Option<LatencyWindow>,
}

impl HedgeDelay {
    /// Makes the delay of a configuration, which has seen no request. Times count from `now`.
    #[must_use]
    pub fn new(hedge: Hedge, now: Instant) -> Self {
        match hedge.when {
            When::After(delay) => Self { least: delay, window: None },
            When::Quantile { quantile, min_samples, least } => {
                Self { least, window: Some(LatencyWindow::new(quantile, min_samples, now)) }
            }
        }
    }

    /// Returns after which time an attempt is hedged, counted from when it was handed to its endpoint.
    ///
    /// There is none as long as fewer attempts than the [least number](Hedge::with_min_samples) were recorded within the last
    /// half minute. What is returned is up to a tenth of a second old.
    ///
    /// # Complexity
    ///
    /// Two loads; for one caller in a tenth of a second, a look at the whole histogram.
    #[must_use]
    pub fn delay(&self, now: Instant) -> Option<Duration> {
        self.delay_by(|window| window.quantile(now))
    }

    /// Counts an attempt that ended so long after it was handed to its endpoint.
    ///
    /// Whatever did not succeed would have taken longer: it counts with the time that it had taken if that is beyond the last delay
    /// that was worked out, and not at all if it is below. So hedges that cancel the slow ones do not hide them.
    pub fn record(&self, outcome: Outcome, elapsed: Duration) {
        if let Some(window) = &self.window
            && (outcome.is_success() || window.latest().is_some_and(|delay| elapsed >= delay))
        {
            window.record(elapsed);
        }
    }

    fn delay_by(&self, quantile: impl FnOnce(&LatencyWindow) -> Option<Duration>) -> Option<Duration> {
        self.window.as_ref().map_or(Some(self.least), |window| Some(quantile(window)?.max(self.least)))
    }
}

impl fmt::Debug for HedgeDelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HedgeDelay")
            .field("delay", &self.delay_by(LatencyWindow::latest))
            .finish_non_exhaustive()
    }
}
