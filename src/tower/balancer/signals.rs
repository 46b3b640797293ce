//! What health knows of one endpoint.

use std::sync::Arc;
use std::time::Instant;

use super::statistics::{Answers, Statistics};
use crate::core::{Changes, Exclusions, Now, Outcome};
use crate::health::slow_start::Ramp;
use crate::health::{
    ActiveHealth, ActiveHealthConfig, CircuitConfig, CircuitState, Ejection, EjectorConfig, ExclusionBudget,
    HealthSignal, OutlierSample, PassiveHealth, ProbeState, SlowStartConfig, UnknownPolicy,
};
use crate::sync::{AtomicU64, Ordering};

/// What health is to look at, for all endpoints of a balancer.
#[derive(Clone, Debug, Default)]
pub(super) struct HealthSettings {
    pub(super) circuit: Option<CircuitConfig>,
    /// None when nobody is probed.
    pub(super) probes: Option<ActiveHealthConfig>,
    pub(super) outliers: Option<EjectorConfig>,
    pub(super) slow_start: Option<SlowStartConfig>,
}

impl HealthSettings {
    /// Makes the signals of an endpoint of which nothing is known.
    pub(super) fn signals(&self, budget: &Arc<ExclusionBudget>) -> Signals {
        let circuit = self.circuit.as_ref();
        Signals {
            circuit: circuit.map(|config| PassiveHealth::new(config.clone()).with_budget(Arc::clone(budget))),
            probed: self.probes.map(|config| Arc::new(ActiveHealth::new(config))),
            outlying: self.outliers.map(|_| Outlying::new(budget)),
            ramp: self.slow_start.map(Ramp::new),
        }
    }
}

/// Joins the signals of one endpoint. They belong to its allocation, and a new one starts anew.
pub(super) struct Signals {
    circuit: Option<PassiveHealth>,
    probed: Option<Arc<ActiveHealth>>,
    outlying: Option<Outlying>,
    ramp: Option<Ramp>,
}

impl Signals {
    pub(super) fn circuit(&self) -> Option<&PassiveHealth> {
        self.circuit.as_ref()
    }

    pub(super) fn probed(&self) -> Option<&Arc<ActiveHealth>> {
        self.probed.as_ref()
    }

    pub(super) fn outlying(&self) -> Option<&Outlying> {
        self.outlying.as_ref()
    }

    /// Takes note of how an attempt ended that began at an instant, as [`Now::nanos`], at an endpoint that has returned: there the
    /// statistics do not say it all.
    #[inline]
    pub(super) fn ended(&self, outcome: Outcome, started: u64) {
        if let Some(outlying) = &self.outlying {
            outlying.ended(outcome, started);
        }
    }

    /// Tells whether a signal objects, or will or will not as time goes by. Only a transition changes that.
    pub(super) fn may_object(&self) -> bool {
        self.circuit.as_ref().is_some_and(|circuit| !circuit.is_closed())
            || self.outlying.as_ref().is_some_and(|outlying| !outlying.ejection.is_in())
            || self.probed.as_ref().is_some_and(|probed| !probed.exclusions(&Now::lazy()).is_empty())
    }

    /// Returns the reasons of all signals.
    #[cold]
    pub(super) fn exclusions(&self, now: &Now) -> Exclusions {
        let circuit = self.circuit.as_ref().map_or(Exclusions::NONE, |circuit| circuit.exclusions(now));
        let outlier = self.outlying.as_ref().map_or(Exclusions::NONE, |of| of.ejection.exclusions(now));
        let probe = self.probed.as_ref().map_or(Exclusions::NONE, |probed| probed.exclusions(now));
        circuit | outlier | probe
    }

    /// Takes note of whether the member is eligible, by everything that changes with transitions only.
    pub(super) fn observe(&self, is_eligible: bool, now: &Now) {
        if let Some(ramp) = &self.ramp {
            ramp.observe(is_eligible, now);
        }
    }

    pub(super) fn has_ramp(&self) -> bool {
        self.ramp.is_some()
    }

    /// Returns the part of its weight that the member gets, as it is new or has come back.
    pub(super) fn ramp(&self, now: &Now) -> f32 {
        self.ramp.as_ref().map_or(1.0, |ramp| ramp.part(now))
    }

    /// Asks them to tell `changes` of their transitions.
    pub(super) fn watch(&self, changes: &Changes) {
        if let Some(circuit) = &self.circuit {
            circuit.watch(changes.clone());
        }
        if let Some(probed) = &self.probed {
            probed.watch(changes.clone());
        }
        if let Some(outlying) = &self.outlying {
            outlying.ejection.watch(changes.clone());
        }
    }

    /// Returns when the first of them changes by itself.
    pub(super) fn changes_at(&self, now: &Now) -> Option<Instant> {
        let circuit = self.circuit.as_ref().and_then(|circuit| circuit.changes_at(now));
        let outlier = self.outlying.as_ref().and_then(|outlying| outlying.ejection.changes_at(now));
        circuit.into_iter().chain(outlier).min()
    }

    /// Tells whether it is excluded until a first probe has answered.
    pub(super) fn is_awaited(&self) -> bool {
        self.probed.as_ref().is_some_and(|probed| {
            probed.state() == ProbeState::Unknown && probed.config().unknown_policy() == UnknownPolicy::Deny
        })
    }

    /// Tells whether the circuit has failed often enough to trip and the budget had no slot for it.
    pub(super) fn is_withheld(&self, now: &Now) -> bool {
        self.circuit.as_ref().is_some_and(|circuit| match circuit.state(now) {
            CircuitState::Closed { failures } => failures >= circuit.config().failures(),
            _ => false,
        })
    }
}

/// What an endpoint is compared with its peers by, and whether it was ejected for it.
///
/// What it is judged by is what its statistics have counted since it was last judged, so that attempts count nothing twice.
/// Only the driver judges.
pub(super) struct Outlying {
    ejection: Arc<Ejection>,
    /// Answers that have no say any more: they were judged, or to what was sent before it returned.
    past: Past,
    /// When it last returned, as [`Now::nanos`], once it has; what was sent before has no say any more.
    returned: AtomicU64,
}

#[derive(Default)]
struct Past {
    answered: AtomicU64,
    failed: AtomicU64,
}

impl Past {
    fn add(&self, answers: Answers) {
        // Statistics, which nothing else depends on: no ordering.
        self.answered.fetch_add(answers.answered, Ordering::Relaxed);
        self.failed.fetch_add(answers.failed, Ordering::Relaxed);
    }

    /// Returns what is not past of these, and adds it.
    ///
    /// A failure is counted before its answer is: it waits for that. An attempt that is added while this runs may be taken and
    /// added; the next answer is missing then.
    fn take(&self, answers: Answers) -> Answers {
        let new = |now: u64, past: &AtomicU64| now.saturating_sub(past.load(Ordering::Relaxed));
        let answered = new(answers.answered, &self.answered);
        let taken = Answers { answered, failed: new(answers.failed, &self.failed).min(answered) };
        self.add(taken);
        taken
    }
}

impl Outlying {
    fn new(budget: &Arc<ExclusionBudget>) -> Self {
        Self {
            ejection: Arc::new(Ejection::new(Arc::clone(budget))),
            past: Past::default(),
            returned: AtomicU64::new(0),
        }
    }

    pub(super) fn ejection(&self) -> &Arc<Ejection> {
        &self.ejection
    }

    /// Returns what became of the attempts since this was last asked.
    pub(super) fn sample(&self, statistics: &Statistics) -> OutlierSample {
        let Answers { answered, failed } = self.past.take(statistics.counts().answers());
        OutlierSample::new(answered - failed, answered)
    }

    /// Gives the endpoint a fresh start when its ejection is over.
    pub(super) fn start_anew(&self, statistics: &Statistics, now: &Now) {
        // Relaxed: of an attempt that ends at the same time it may be said either way.
        self.returned.store(now.nanos(), Ordering::Relaxed);
        let _forgotten = self.sample(statistics);
    }

    #[inline]
    fn ended(&self, outcome: Outcome, started: u64) {
        let returned = self.returned.load(Ordering::Relaxed);
        // Numbers that wrap are told apart by their difference.
        if returned.wrapping_sub(started).cast_signed() > 0 {
            self.past.add(Answers::of(outcome));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::health::BudgetConfig;
    use std::time::Duration;

    fn answers(answered: u64, failed: u64) -> Answers {
        Answers { answered, failed }
    }

    #[test]
    fn a_failure_waits_for_its_answer_and_nothing_is_taken_twice() {
        let past = Past::default();
        let take = |answered, failed| {
            let taken = past.take(answers(answered, failed));
            (taken.answered, taken.failed)
        };
        assert_eq!(take(1, 2), (1, 1));
        assert_eq!(take(2, 2), (1, 1));
        assert_eq!(take(2, 2), (0, 0));
    }

    #[test]
    fn what_began_before_the_return_has_no_say_whatever_became_of_it() {
        let outlying = Outlying::new(&Arc::new(ExclusionBudget::new(BudgetConfig::default())));
        let statistics = Statistics::new();
        let end = |outcome, started| {
            statistics.ended(outcome, 1);
            outlying.ended(outcome, started);
        };
        let start = Now::lazy().instant();
        let at = |millis| Now::at(start + Duration::from_millis(millis)).nanos();
        statistics.ended(Outcome::Failure, 1);
        outlying.start_anew(&statistics, &Now::at(start + Duration::from_millis(10)));
        for outcome in [Outcome::Cancelled, Outcome::Failure, Outcome::OVERLOAD, Outcome::Success] {
            end(outcome, at(9));
        }
        assert_eq!(outlying.sample(&statistics), OutlierSample::default());
        end(Outcome::Failure, at(10));
        end(Outcome::Success, at(11));
        assert_eq!(outlying.sample(&statistics), OutlierSample::new(1, 2));
        assert_eq!(outlying.sample(&statistics), OutlierSample::default(), "once");
    }
}
