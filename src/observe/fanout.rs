//! Several observers as one.

use std::fmt;
use std::sync::Arc;

use super::contain::{contain, contain_scope};
use super::{
    AttemptEvent, BuildEvent, CircuitEvent, ClosedEvent, FailFastEvent, HedgeEvent, MemberEvent,
    MembershipEvent, Observer, OutlierEvent, PanicEvent, PanicModeEvent, PickEvent, ProbeEvent,
    ReadinessEvent, RetryEvent,
};
use crate::core::AttemptScope;
use crate::core::nested_scope::nest;

/// Tells every event to several observers, in the order in which they were added.
///
/// A panic in one of them is no reason for the others not to hear.
///
/// # Complexity
///
/// Linear in the number of observers per event, without allocation.
///
/// ```
/// use poise::core::{Outcome, Phase};
/// use poise::observe::{AttemptEvent, Fanout, Observer, Recorder};
/// use std::time::Duration;
///
/// let (all, mine) = (Recorder::new(), Recorder::new());
/// let both = Fanout::new().with(all.clone()).with(mine.clone());
/// both.attempt(&AttemptEvent::new(Phase::Call, Outcome::Success, Duration::from_millis(3)));
/// assert_eq!(all.snapshot(), mine.snapshot());
/// ```
#[derive(Clone, Default)]
pub struct Fanout {
    observers: Vec<Arc<dyn Observer>>,
}

impl Fanout {
    /// Makes one that tells nobody.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an observer.
    #[must_use]
    pub fn with(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.push(Arc::new(observer));
        self
    }

    fn each(&self, tell: impl Fn(&dyn Observer)) {
        self.observers.iter().for_each(|observer| contain(|| tell(&**observer)));
    }
}

impl FromIterator<Arc<dyn Observer>> for Fanout {
    fn from_iter<I: IntoIterator<Item = Arc<dyn Observer>>>(observers: I) -> Self {
        Self { observers: observers.into_iter().collect() }
    }
}

impl Observer for Fanout {
    fn pick(&self, event: &PickEvent<'_>) {
        self.each(|observer| observer.pick(event));
    }

    fn is_listening(&self) -> bool {
        self.observers.iter().any(Observer::is_listening)
    }

    fn attempt_scope(&self, endpoint: &str) -> Option<Box<dyn AttemptScope>> {
        self.observers.iter().map(|observer| contain_scope(&**observer, endpoint)).fold(None, nest)
    }

    fn attempt(&self, event: &AttemptEvent<'_>) {
        self.each(|observer| observer.attempt(event));
    }

    fn readiness_failed(&self, event: &ReadinessEvent<'_>) {
        self.each(|observer| observer.readiness_failed(event));
    }

    fn retry(&self, event: &RetryEvent) {
        self.each(|observer| observer.retry(event));
    }

    fn hedge(&self, event: &HedgeEvent<'_>) {
        self.each(|observer| observer.hedge(event));
    }

    fn circuit(&self, event: &CircuitEvent<'_>) {
        self.each(|observer| observer.circuit(event));
    }

    fn outlier(&self, event: &OutlierEvent<'_>) {
        self.each(|observer| observer.outlier(event));
    }

    fn probe(&self, event: &ProbeEvent<'_>) {
        self.each(|observer| observer.probe(event));
    }

    fn panic_mode(&self, event: &PanicModeEvent) {
        self.each(|observer| observer.panic_mode(event));
    }

    fn member(&self, event: &MemberEvent<'_>) {
        self.each(|observer| observer.member(event));
    }

    fn build_failed(&self, event: &BuildEvent<'_>) {
        self.each(|observer| observer.build_failed(event));
    }

    fn membership(&self, event: &MembershipEvent) {
        self.each(|observer| observer.membership(event));
    }

    fn fail_fast(&self, event: &FailFastEvent) {
        self.each(|observer| observer.fail_fast(event));
    }

    fn panicked(&self, event: &PanicEvent) {
        self.each(|observer| observer.panicked(event));
    }

    fn closed(&self, event: &ClosedEvent) {
        self.each(|observer| observer.closed(event));
    }
}

impl fmt::Debug for Fanout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fanout").field("observers", &self.observers.len()).finish()
    }
}
