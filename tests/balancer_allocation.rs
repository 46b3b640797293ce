//! Requests on a balancer in steady state allocate nothing, and failures a known number of times.

#![cfg(all(feature = "full", not(loom)))]

#[path = "support/allocations.rs"]
mod allocations;

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::future::{Future, Ready, ready};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use poise::core::policy::{Maglev, PriorityFailover};
use poise::core::{Attributes, Backend, InFlight, LoadTracker, Outcome};
use poise::discovery::Directory;
use poise::observe::TracingObserver;
use poise::tokio::TokioTimer;
use poise::tower::{Balancer, BalancerError, BalancerErrorKind, BoxError, Event, Hedge, Hook, Retry};
use tower::Service;

use self::allocations::allocations;

/// Counts are of the process, so that one test measures at a time.
fn alone() -> MutexGuard<'static, ()> {
    static MEASURING: Mutex<()> = Mutex::new(());
    MEASURING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A service that is always ready, and answers when it is polled for the first time, or for the second.
#[derive(Clone)]
struct Echo {
    late: bool,
}

/// The answer of an [`Echo`].
struct Answer {
    late: bool,
    request: u64,
}

impl Future for Answer {
    type Output = Result<u64, Infallible>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        if std::mem::take(&mut self.late) { Poll::Pending } else { Poll::Ready(Ok(self.request)) }
    }
}

impl Service<u64> for Echo {
    type Response = u64;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: u64) -> Answer {
        Answer { late: self.late, request }
    }
}

/// Answers when it is polled for the first time.
const ECHO: Echo = Echo { late: false };

type Members = Directory<String, Backend<&'static str>>;

fn members() -> Members {
    let mut members = Directory::new();
    for (place, name) in (0..).zip(["a", "b", "c", "d", "e"]) {
        let attributes = Attributes::default().with_priority(place / 4);
        members.upsert_with(name.to_owned(), Backend::new(name), attributes).unwrap();
    }
    members
}

/// Sends so many requests, and returns how often memory was allocated meanwhile.
fn allocated_by<L: LoadTracker>(balancer: &Balancer<Echo, u64, L>, requests: u64) -> usize {
    allocated_until(balancer, requests, |request, answer| answer.is_ok_and(|answer| answer == request))
}

/// As [`allocated_by`], with what is expected of each answer.
fn allocated_until<S, L>(
    balancer: &Balancer<S, u64, L>,
    requests: u64,
    is_expected: impl Fn(u64, Result<u64, BalancerError>) -> bool,
) -> usize
where
    S: Service<u64, Response = u64, Error: Into<BoxError>>,
    L: LoadTracker,
{
    let mut context = Context::from_waker(Waker::noop());
    let mut send = |request| {
        let mut response = pin!(balancer.send(request));
        let mut answer = response.as_mut().poll(&mut context);
        if answer.is_pending() {
            answer = response.poll(&mut context);
        }
        let Poll::Ready(answer) = answer else { panic!("nobody answered") };
        assert!(is_expected(request, answer));
    };
    allocations(|| (0..requests).for_each(&mut send))
}

#[test]
fn the_default_stack_allocates_nothing_per_request() {
    let _alone = alone();
    let members = members();
    let builder = Balancer::builder().discover(members.reader(), |_, _| ECHO);
    let (balancer, _driver) = builder.timer(TokioTimer).build().unwrap();
    assert_eq!(allocated_by(&balancer, 10_000), 0);
}

#[test]
fn a_policy_by_key_allocates_nothing_per_request() {
    let _alone = alone();
    let members = members();
    let builder = Balancer::builder().discover(members.reader(), |_, _| ECHO).key(|request: &u64| request);
    let (balancer, _driver) = builder.policy(Maglev::new()).timer(TokioTimer).build().unwrap();
    assert_eq!(allocated_by(&balancer, 10_000), 0);
}

#[test]
fn failover_between_levels_allocates_nothing_per_request() {
    let _alone = alone();
    let members = members();
    let builder = Balancer::builder().discover(members.reader(), |_, _| ECHO).key(|request: &u64| request);
    let policy = PriorityFailover::new(Maglev::new());
    let (balancer, _driver) = builder.policy(policy).timer(TokioTimer).build().unwrap();
    assert_eq!(allocated_by(&balancer, 10_000), 0);
}

/// A service that is always ready and fails at once.
#[derive(Clone)]
struct Failing;

/// It is no empty type, so that it takes memory in its box.
#[derive(Clone, Copy, Debug)]
struct Fault(u64);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {} failed", self.0)
    }
}

impl Error for Fault {}

impl Service<u64> for Failing {
    type Response = u64;
    type Error = Fault;
    type Future = Ready<Result<u64, Fault>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: u64) -> Self::Future {
        ready(Err(Fault(request)))
    }
}

#[test]
fn a_request_that_is_refused_allocates_twice() {
    let _alone = alone();
    let members = members();
    let builder = Balancer::builder().discover(members.reader(), |_, _| ECHO);
    let builder = builder.load(|| InFlight::with_limit(1).unwrap());
    let (balancer, _driver) = builder.timer(TokioTimer).build().unwrap();
    let _held: Vec<_> = (0..5).map(|request| balancer.send(request)).collect();
    let is_full = |_, answer: Result<u64, BalancerError>| {
        matches!(answer.unwrap_err().kind(), BalancerErrorKind::AtCapacity(_))
    };
    assert_eq!(allocated_until(&balancer, 1_000, is_full), 2_000);
}

#[test]
fn an_answer_that_counts_as_a_failure_allocates_once() {
    let _alone = alone();
    let members = members();
    let builder = Balancer::builder().discover(members.reader(), |_, _| ECHO);
    let builder = builder.without_circuit().classify(|_| Outcome::Failure);
    let (balancer, _driver) = builder.timer(TokioTimer).build().unwrap();
    assert_eq!(allocated_by(&balancer, 1_000), 1_000);
}

#[test]
fn an_error_of_an_endpoint_allocates_twice_beside_its_own_box() {
    let _alone = alone();
    for says_unsent in [false, true] {
        let members = members();
        let builder = Balancer::builder().discover(members.reader(), |_, _| Failing).without_circuit();
        let builder = if says_unsent { builder.unsent(|_| true) } else { builder };
        let (balancer, _driver) = builder.timer(TokioTimer).build().unwrap();
        let is_failure =
            |_, answer: Result<u64, BalancerError>| answer.unwrap_err().is_retryable() == says_unsent;
        assert_eq!(allocated_until(&balancer, 1_000, is_failure), 3_000, "unsent: {says_unsent}");
    }
}

#[test]
fn knowing_what_was_not_sent_costs_nothing_where_all_goes_well() {
    let _alone = alone();
    let members = members();
    let builder = Balancer::builder().discover(members.reader(), |_, _| ECHO).idempotent(|_: &u64| false);
    let builder = builder.retry(Retry::attempts(3).unwrap()).unsent(|fault: &Infallible| match *fault {});
    let (balancer, _driver) = builder.timer(TokioTimer).build().unwrap();
    assert_eq!(allocated_by(&balancer, 10_000), 0);
}

#[derive(Default)]
struct Counting(AtomicU64);

impl Hook for Counting {
    fn on(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_hook_and_a_classifier_add_no_allocation() {
    let _alone = alone();
    let (members, events) = (members(), Arc::new(Counting::default()));
    let builder = Balancer::builder().discover(members.reader(), |_, _| ECHO).hook(Arc::clone(&events));
    let builder = builder.classify(|answer| if answer.is_ok() { Outcome::Success } else { Outcome::Failure });
    let (balancer, _driver) = builder.timer(TokioTimer).build().unwrap();
    assert_eq!(allocated_by(&balancer, 10_000), 0);
    assert!(events.0.load(Ordering::Relaxed) >= 20_000, "each request is picked and ends");
}

#[test]
fn spans_that_nobody_wants_add_no_allocation() {
    let _alone = alone();
    let members = members();
    let builder = Balancer::builder().discover(members.reader(), |_, _| ECHO);
    let builder = builder.observe(TracingObserver::new().with_server("echo.internal"));
    let (balancer, _driver) = builder.timer(TokioTimer).build().unwrap();
    assert_eq!(allocated_by(&balancer, 10_000), 0);
}

#[test]
fn a_member_that_is_excluded_adds_no_allocation() {
    let _alone = alone();
    let mut members = members();
    members.remove(&"b".to_owned()).unwrap();
    let builder = Balancer::builder().discover(members.reader(), |_, _| ECHO).key(|request: &u64| request);
    let (balancer, _driver) = builder.policy(Maglev::new()).timer(TokioTimer).build().unwrap();
    assert_eq!(allocated_by(&balancer, 10_000), 0);
}

#[test]
fn a_request_that_needs_no_hedge_allocates_at_most_its_timer() {
    let _alone = alone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    for (late, expected) in [(false, 0), (true, 1_000)] {
        let members = members();
        let builder = Balancer::builder().discover(members.reader(), move |_, _| Echo { late });
        let builder = builder.hedge(Hedge::after(Duration::from_secs(1))).retry(Retry::attempts(3).unwrap());
        let (balancer, _driver) = builder.timer(TokioTimer).build().unwrap();
        assert_eq!(allocated_by(&balancer, 1_000), expected, "answers late: {late}");
    }
}

#[test]
fn a_limit_of_time_allocates_once_for_an_attempt_that_is_not_over_at_once() {
    let _alone = alone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    for (late, expected) in [(false, 0), (true, 1_000)] {
        let members = members();
        let builder = Balancer::builder().discover(members.reader(), move |_, _| Echo { late });
        let (balancer, _driver) =
            builder.attempt_timeout(Duration::from_secs(1)).timer(TokioTimer).build().unwrap();
        assert_eq!(allocated_by(&balancer, 1_000), expected, "answers late: {late}");
    }
}
