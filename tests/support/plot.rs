//! What others do between two steps of a request: policies, timers and loads of a test that say when.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use poise::core::{
    AtCapacity, Candidate, InFlight, LoadMetric, LoadTracker, Now, Outcome, PickError, Policy, Prepare,
    Selection, View,
};
use poise::health::BudgetConfig;
use poise::tokio::TokioTimer;
use poise::tower::{Balancer, BalancerError, Timer};

use super::script::{Answer, Fake};

type Act = Box<dyn FnOnce() + Send>;
type Answered = Result<Answer<u32>, BalancerError>;
pub(crate) type Request = Pin<Box<dyn Future<Output = Answered> + Send>>;

/// What happens next at the place where it is kept, one after another.
#[derive(Clone, Default)]
pub(crate) struct Plot(Arc<Mutex<VecDeque<Act>>>);

impl Plot {
    pub(crate) fn then(&self, act: impl FnOnce() + Send + 'static) {
        self.0.lock().unwrap().push_back(Box::new(act));
    }

    pub(crate) fn go_on(&self) {
        let act = self.0.lock().unwrap().pop_front();
        if let Some(act) = act {
            act();
        }
    }
}

impl fmt::Debug for Plot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Plot")
    }
}

/// Chooses the first member; after that, something happens.
#[derive(Clone, Debug, Default)]
pub(crate) struct First(pub(crate) Plot);

impl<C: Candidate> Prepare<C> for First {}

impl<C: Candidate> Policy<C> for First {
    fn pick_from(&self, view: &View<'_, C>, (): &()) -> Result<Selection, PickError> {
        let selection = view.first_from(0);
        self.0.go_on();
        selection
    }
}

/// Something happens whenever somebody asks for the time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meddler(pub(crate) Plot);

impl Timer for Meddler {
    type Sleep = tokio::time::Sleep;

    fn now(&self) -> Instant {
        self.0.go_on();
        TokioTimer.now()
    }

    fn sleep_until(&self, deadline: Instant) -> Self::Sleep {
        Timer::sleep_until(&TokioTimer, deadline)
    }
}

/// Counts requests in flight; when one starts, something happens.
#[derive(Debug, Default)]
pub(crate) struct Busy(InFlight, Plot);

impl Busy {
    /// Makes loads of one plot.
    pub(crate) fn following(plot: &Plot) -> impl Fn() -> Self + Send + use<> {
        let plot = plot.clone();
        move || Self(InFlight::new(), plot.clone())
    }
}

impl LoadTracker for Busy {
    type Ticket = <InFlight as LoadTracker>::Ticket;

    fn start(&self, now: &Now) -> Result<Self::Ticket, AtCapacity> {
        self.1.go_on();
        self.0.start(now)
    }

    fn responded(&self, ticket: Self::Ticket, outcome: Outcome, now: &Now) {
        self.0.responded(ticket, outcome, now);
    }

    fn release(&self, ticket: Self::Ticket, now: &Now) {
        self.0.release(ticket, now);
    }
}

impl LoadMetric for Busy {
    fn measure(&self, now: &Now) -> f64 {
        self.0.measure(now)
    }
}

/// A request that can be kept, and given to a plot.
pub(crate) fn send<L>(balancer: &Balancer<Fake, u32, L>, request: u32) -> Request
where
    L: LoadTracker<Ticket: Send> + Send + Sync + 'static,
{
    Box::pin(balancer.send(request))
}

/// Takes a request as far as it comes without waiting.
pub(crate) fn poll_once<F: Future + ?Sized>(request: &mut Pin<Box<F>>) -> Poll<F::Output> {
    request.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

/// Lets circuits take out everybody.
pub(crate) fn uncapped() -> BudgetConfig {
    BudgetConfig::default().with_circuits(1.0).unwrap().with_min_eligible(0)
}
