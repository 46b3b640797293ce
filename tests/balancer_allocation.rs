//! Requests on a balancer in steady state allocate nothing.

#![cfg(all(feature = "full", not(loom)))]

#[path = "support/allocations.rs"]
mod allocations;

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use poise::core::policy::{Maglev, PriorityFailover};
use poise::core::{Attributes, Backend, LoadTracker, Outcome};
use poise::discovery::Directory;
use poise::observe::TracingObserver;
use poise::tokio::TokioTimer;
use poise::tower::{Balancer, Event, Hedge, Hook, Retry};
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
    let mut context = Context::from_waker(Waker::noop());
    let mut send = |request| {
        let mut response = pin!(balancer.send(request));
        let mut answer = response.as_mut().poll(&mut context);
        if answer.is_pending() {
            answer = response.poll(&mut context);
        }
        assert!(matches!(answer, Poll::Ready(Ok(answer)) if answer == request));
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
