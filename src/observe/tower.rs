//! Balancers tell observers.

use super::contain::{contain, contain_scope, tell_attempt};
use super::{
    AttemptEvent, BuildEvent, CircuitChange, CircuitEvent, CircuitReason, ClosedEvent, FailFastEvent,
    HedgeEvent, HedgeVerdict, MemberChange, MemberEvent, MembershipEvent, Observer, OutlierChange,
    OutlierEvent, OutlierReason, PanicEvent, PanicModeEvent, PickEvent, PickVerdict, ProbeEvent, RetryEvent,
};
use crate::core::{AttemptScope, PickError};
use crate::health::{OutlierCause, TripCause};
use crate::sync::{Mutex, lock};
use crate::tower::{BalancerErrorKind, Builder, Event, Hook, OperatorVerb};

impl<K, B, S, R, L, P, X> Builder<K, B, S, R, L, P, X> {
    /// Tells `observer` what happens, beside those that are told already.
    ///
    /// An observer may be told by several balancers: clones of a [`Recorder`](crate::observe::Recorder) count together.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::{Backend, Outcome, Phase};
    /// use poise::discovery::Directory;
    /// use poise::observe::Recorder;
    /// use poise::tower::Balancer;
    /// use std::convert::Infallible;
    ///
    /// let mut directory = Directory::new();
    /// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
    ///
    /// let recorder = Recorder::new();
    /// let balancer = Balancer::builder()
    ///     .discover(directory.reader(), |_key, _backend| {
    ///         tower::service_fn(|request: u32| async move { Ok::<_, Infallible>(request + 1) })
    ///     })
    ///     .observe(recorder.clone())
    ///     .spawn()?;
    /// assert_eq!(balancer.send(7).await?, 8);
    /// assert_eq!(recorder.snapshot().attempts(Phase::Call, Outcome::Success), 1);
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    pub fn observe(self, observer: impl Observer + 'static) -> Self {
        self.hook(ObserverHook { observer, told: Mutex::new(Told::default()) })
    }
}

/// Tells an observer what one balancer does.
struct ObserverHook<O: Observer> {
    observer: O,
    told: Mutex<Told>,
}

/// What the observer was told that lasts.
#[derive(Clone, Copy, Default)]
struct Told {
    membership: MembershipEvent,
    failing_fast: bool,
    /// How often panic has begun more than it has ended: whoever makes a transition tells of it, and two may overtake each other.
    panics: i64,
    closed: bool,
}

impl<O: Observer> ObserverHook<O> {
    fn pick(&self, event: &PickEvent<'_>) {
        contain(|| self.observer.pick(event));
    }

    fn circuit(&self, endpoint: &str, change: CircuitChange, reason: CircuitReason, epoch: u64) {
        contain(|| self.observer.circuit(&CircuitEvent::new(endpoint, change, reason, epoch)));
    }

    fn outlier(&self, endpoint: &str, change: OutlierChange, cause: OutlierCause, epoch: u64) {
        let reason = match cause {
            OutlierCause::SuccessRate => OutlierReason::SuccessRate,
            OutlierCause::FailurePercentage => OutlierReason::FailurePercentage,
        };
        contain(|| self.observer.outlier(&OutlierEvent::new(endpoint, change, reason, epoch)));
    }

    fn membership(&self, event: MembershipEvent) {
        let mut told = lock(&self.told);
        // One that took effect while the balancer was closed has lost its effect.
        if !told.closed {
            let event = event.in_place_of(&told.membership);
            told.membership = event;
            drop(told);
            contain(|| self.observer.membership(&event));
        }
    }

    fn fail_fast(&self, event: FailFastEvent) {
        let mut told = lock(&self.told);
        if !told.closed {
            told.failing_fast = event.on;
            drop(told);
            contain(|| self.observer.fail_fast(&event));
        }
    }

    fn panic_mode(&self, event: PanicModeEvent) {
        let mut told = lock(&self.told);
        if !told.closed {
            told.panics += if event.on { 1 } else { -1 };
            drop(told);
            contain(|| self.observer.panic_mode(&event));
        }
    }

    fn close(&self) {
        let told = {
            let mut told = lock(&self.told);
            std::mem::replace(&mut *told, Told { closed: true, ..Told::default() })
        };
        if !told.closed {
            let event = ClosedEvent::new(&told.membership);
            let event = if told.failing_fast { event.while_failing_fast() } else { event };
            let event = if told.panics > 0 { event.while_panicking() } else { event };
            contain(|| self.observer.closed(&event));
        }
    }
}

impl<O: Observer + 'static> Hook for ObserverHook<O> {
    fn on(&self, event: &Event<'_>) {
        let observer = &self.observer;
        match *event {
            Event::Picked { endpoint, panic: false } => {
                self.pick(&PickEvent::new(PickVerdict::Selected).at(endpoint));
            }
            Event::Picked { endpoint, panic: true } => {
                self.pick(&PickEvent::new(PickVerdict::SelectedInPanic).at(endpoint));
            }
            Event::Refused { obstacle } => {
                if let Some(event) = refusal(obstacle) {
                    self.pick(&event);
                }
            }
            Event::Ended { endpoint, phase, outcome, elapsed } => {
                tell_attempt(observer, &AttemptEvent::new(phase, outcome, elapsed).at(endpoint));
            }
            Event::Retried => contain(|| observer.retry(&RetryEvent::granted())),
            Event::RetryDenied => contain(|| observer.retry(&RetryEvent::denied())),
            Event::Hedged { endpoint } => {
                contain(|| observer.hedge(&HedgeEvent::new(HedgeVerdict::Sent).at(endpoint)));
            }
            Event::HedgeDenied => contain(|| observer.hedge(&HedgeEvent::new(HedgeVerdict::Denied))),
            Event::HedgeWon => contain(|| observer.hedge(&HedgeEvent::new(HedgeVerdict::Won))),
            Event::Tripped { endpoint, cause, epoch } => {
                let reason = match cause {
                    TripCause::Failures => CircuitReason::Failures,
                    TripCause::Probe => CircuitReason::Probe,
                };
                self.circuit(endpoint, CircuitChange::Tripped, reason, epoch);
            }
            Event::TripWithheld { endpoint, epoch } => {
                self.circuit(endpoint, CircuitChange::Withheld, CircuitReason::Failures, epoch);
            }
            Event::Recovered { endpoint, epoch } => {
                self.circuit(endpoint, CircuitChange::Recovered, CircuitReason::Probe, epoch);
            }
            Event::Ejected { endpoint, cause, epoch, .. } => {
                self.outlier(endpoint, OutlierChange::Ejected, cause, epoch);
            }
            Event::Withheld { endpoint, cause, epoch } => {
                self.outlier(endpoint, OutlierChange::Withheld, cause, epoch);
            }
            Event::Returned { endpoint, cause, epoch } => {
                self.outlier(endpoint, OutlierChange::Returned, cause, epoch);
            }
            Event::Probed { endpoint, healthy: true, epoch } => {
                contain(|| observer.probe(&ProbeEvent::healthy(endpoint, epoch)));
            }
            Event::Probed { endpoint, healthy: false, epoch } => {
                contain(|| observer.probe(&ProbeEvent::unhealthy(endpoint, epoch)));
            }
            Event::Panic { on: true, eligible, members } => {
                self.panic_mode(PanicModeEvent::started(eligible, members));
            }
            Event::Panic { on: false, eligible, members } => {
                self.panic_mode(PanicModeEvent::ended(eligible, members));
            }
            Event::Membership { revision, members, unbuilt } => {
                self.membership(MembershipEvent::new(revision, members).with_unbuilt(unbuilt));
            }
            Event::FailFast { on: true } => self.fail_fast(FailFastEvent::started()),
            Event::FailFast { on: false } => self.fail_fast(FailFastEvent::ended()),
            Event::Contained { what } => contain(|| observer.panicked(&PanicEvent::new(what))),
            Event::Closed => self.close(),
            Event::Operator { endpoint, verb } => {
                let change = match verb {
                    OperatorVerb::Drain => MemberChange::Drain,
                    OperatorVerb::Exclude => MemberChange::Exclude,
                    OperatorVerb::ForceOpen => MemberChange::ForceOpen,
                    OperatorVerb::Restore => MemberChange::Restore,
                };
                contain(|| observer.member(&MemberEvent::new(endpoint, change)));
            }
            Event::Drained { endpoint } => {
                contain(|| observer.member(&MemberEvent::new(endpoint, MemberChange::Drained)));
            }
            Event::BuildFailed { endpoint, failures } => {
                contain(|| observer.build_failed(&BuildEvent::failed(endpoint, failures)));
            }
        }
    }

    fn is_listening(&self) -> bool {
        self.observer.is_listening()
    }

    fn scope(&self, endpoint: &str) -> Option<Box<dyn AttemptScope>> {
        contain_scope(&self.observer, endpoint)
    }
}

/// Returns what an obstacle says about a pick, if it is about a pick.
fn refusal(obstacle: &BalancerErrorKind) -> Option<PickEvent<'static>> {
    let event = match *obstacle {
        BalancerErrorKind::Undiscovered => PickEvent::new(PickVerdict::Undiscovered),
        BalancerErrorKind::NoMembers => PickEvent::of(&Err(PickError::Empty)),
        BalancerErrorKind::NoEligible(counts) => PickEvent::of(&Err(PickError::NoEligible(counts))),
        BalancerErrorKind::PanicRejected(counts) => PickEvent::of(&Err(PickError::PanicRejected(counts))),
        BalancerErrorKind::AtCapacity(counts) => {
            PickEvent::new(PickVerdict::AtCapacity).caused_by(PickError::NoEligible(counts))
        }
        BalancerErrorKind::Policy(error) => PickEvent::of(&Err(error)),
        BalancerErrorKind::InvalidSelection(_) => PickEvent::new(PickVerdict::InvalidSelection),
        BalancerErrorKind::Closed => PickEvent::new(PickVerdict::Closed),
        BalancerErrorKind::Deadline | BalancerErrorKind::Endpoint => return None,
    };
    Some(event)
}
