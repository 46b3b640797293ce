//! How a balancer hands requests to services.

use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use poise::core::{AtCapacity, Backend, Exclusion, InFlight, LoadMetric, LoadTracker, Now, Outcome};
use poise::discovery::Directory;
use poise::tower::{Balancer, BalancerErrorKind, Phase};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tower::limit::ConcurrencyLimit;
use tower::{Service, ServiceExt, service_fn};

use crate::support::fleet::{circuit, fleet, over};
use crate::support::pace::{Pace, in_time, on_both_runtimes, until};
use crate::support::script::{Answer, Fake, Readiness, Refused, Script};

/// A request that cannot be copied.
#[derive(Debug, PartialEq, Eq)]
struct Only(u32);

on_both_runtimes! {
    async fn an_idle_balancer_holds_no_permit_of_its_services(pace: Pace) {
        let places = Arc::new(Semaphore::new(4));
        let (directory, [script]) = fleet(["a"]);
        let balancer = || {
            let places = Arc::clone(&places);
            Balancer::builder()
                .discover(directory.reader(), move |_, script: &Script| {
                    ConcurrencyLimit::with_semaphore(script.service(), Arc::clone(&places))
                })
                .spawn()
                .unwrap()
        };
        let (mut idle, busy): (Balancer<_, u32>, Balancer<_, u32>) = (balancer(), balancer());
        idle.ready().await.unwrap().call(1).await.unwrap();
        let mut clones = vec![idle.clone(); 8];
        for clone in &mut clones {
            clone.ready().await.unwrap();
        }
        // The driver asks each service once whether it is ready, and lets go of it.
        in_time(until("readiness reserves nothing", || places.available_permits() == 4)).await;

        script.answer_after(pace.second());
        let requests: Vec<_> = (0..4).map(|request| tokio::spawn(busy.send(request))).collect();
        in_time(until("all four are served at once", || script.under_way() == 4)).await;
        for request in requests {
            request.await.unwrap().unwrap();
        }
        in_time(until("all places are back", || places.available_permits() == 4)).await;
    }

    async fn a_call_without_readiness_is_served(_pace: Pace) {
        let (directory, _scripts) = fleet(["a"]);
        let balancer = over(&directory).spawn().unwrap();
        assert_eq!(balancer.clone().call(7).await.unwrap(), Answer { by: "a", request: 7 });
    }

    async fn an_error_names_the_endpoint_and_keeps_its_cause(_pace: Pace) {
        let (directory, [script]) = fleet(["10.0.0.7:80"]);
        script.refuse(true);
        let balancer: Balancer<Fake, u32> = over(&directory).spawn().unwrap();
        let error = balancer.send(1).await.unwrap_err();
        assert_eq!(*error.kind(), BalancerErrorKind::Endpoint);
        assert_eq!(
            (error.endpoint(), error.phase(), error.attempts()),
            (Some("10.0.0.7:80"), Some(Phase::Call), 1)
        );
        assert!(!error.is_retryable(), "the endpoint had the request");
        assert!(error.to_string().contains("10.0.0.7:80"), "{error}");
        assert_eq!(error.source().unwrap().downcast_ref(), Some(&Refused));
        assert_eq!(error.into_source().unwrap().downcast_ref(), Some(&Refused));
    }

    async fn a_readiness_error_fails_no_request_and_no_balancer(pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        a.turn(Readiness::Failing);
        // By this load an error makes nobody unattractive.
        let balancer =
            over(&directory).load(InFlight::new).circuit(circuit(5, pace.second())).spawn().unwrap();
        for request in 0..100 {
            let answer = balancer.send(Only(request)).await.unwrap();
            assert_eq!(answer, Answer { by: "b", request: Only(request) }, "the request is as it was");
        }
        assert!(a.readiness_errors() >= 5, "it was charged for {} errors", a.readiness_errors());
        assert_eq!((a.calls(), b.calls()), (0, 100));
        assert!(balancer.report().member("a").unwrap().exclusions.contains(Exclusion::Circuit));

        a.turn(Readiness::Ready);
        in_time(until("the cooldown is over", || balancer.report().eligible() == 2)).await;
        b.turn(Readiness::Failing);
        assert_eq!(balancer.send(Only(0)).await.unwrap().by, "a", "it serves again");
    }

    async fn each_member_fails_readiness_at_most_once_per_request(_pace: Pace) {
        let (directory, scripts) = fleet(["a", "b", "c"]);
        for script in &scripts {
            script.turn(Readiness::Failing);
        }
        let balancer: Balancer<Fake, Only> = over(&directory).spawn().unwrap();
        let error = balancer.send(Only(1)).await.unwrap_err();
        for script in &scripts {
            let asked = script.readiness_errors();
            assert!((1..=2).contains(&asked), "once by the request and at most once by the driver: {asked}");
        }
        assert_eq!(
            (error.kind(), error.phase(), error.attempts()),
            (&BalancerErrorKind::Endpoint, Some(Phase::Readiness), 3)
        );
        assert!(error.is_retryable(), "nobody had the request");
        assert_eq!(error.source().unwrap().downcast_ref(), Some(&Refused));
        let report = balancer.report();
        assert!(report.members.iter().all(|member| (member.failures, member.in_flight) == (1, 0)), "{report}");
    }

    async fn a_member_at_its_limit_is_passed_over_and_only_all_of_them_refuse(_pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        a.hang();
        b.hang();
        let balancer: Balancer<Fake, u32, InFlight> =
            over(&directory).load(|| InFlight::with_limit(1).unwrap()).spawn().unwrap();
        let first = tokio::spawn(balancer.send(1));
        let second = tokio::spawn(balancer.send(2));
        in_time(until("both are busy", || (a.under_way(), b.under_way()) == (1, 1))).await;
        let error = balancer.send(3).await.unwrap_err();
        let BalancerErrorKind::AtCapacity(counts) = error.kind() else { panic!("{error}") };
        assert_eq!(counts.of(Exclusion::Capacity), 2);

        first.abort();
        in_time(until("the first gave its place back", || balancer.report().eligible() == 1)).await;
        a.answer_after(Duration::ZERO);
        b.answer_after(Duration::ZERO);
        balancer.send(4).await.unwrap();
        second.abort();
    }

    async fn a_pending_endpoint_holds_up_no_request(pace: Pace) {
        let (directory, [slow, fast]) = fleet(["slow", "fast"]);
        slow.turn(Readiness::Pending);
        let balancer = over(&directory).load(InFlight::new).spawn().unwrap();
        let start = Instant::now();
        for request in 0..50 {
            assert_eq!(in_time(balancer.send(Only(request))).await.unwrap().by, "fast");
        }
        pace.check_at_once(start);
        assert_eq!(slow.calls(), 0);
        // The driver may keep one more, which it makes ready ahead of requests.
        in_time(until("clones are let go of", || slow.live() <= 2 && fast.live() == 1)).await;
        let report = balancer.report();
        assert!(report.member("slow").unwrap().cancelled > 0, "it was tried");
        assert!(report.members.iter().all(|member| (member.in_flight, member.load) == (0, 0.0)), "{report}");
    }

    async fn of_two_pending_endpoints_the_first_that_is_ready_is_called(_pace: Pace) {
        for winner in [0, 1] {
            let (directory, scripts) = fleet(["a", "b"]);
            for script in &scripts {
                script.turn(Readiness::Pending);
            }
            let balancer =
                over(&directory).load(|| InFlight::with_limit(1).unwrap()).spawn().unwrap();
            let request = tokio::spawn(balancer.send(Only(1)));
            in_time(until("both are tried", || balancer.report().eligible() == 0)).await;

            scripts[winner].hang();
            scripts[winner].turn(Readiness::Ready);
            in_time(until("it is called", || scripts[winner].under_way() == 1)).await;
            let report = balancer.report();
            let loads = ["a", "b"].map(|name| report.member(name).unwrap().load);
            assert_eq!((loads[winner], loads[1 - winner]), (1.0, 0.0), "the other gave back what it held");
            assert_eq!(scripts[1 - winner].calls(), 0);
            request.abort();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_answered_is_done_and_holds_nothing() {
    let (directory, [a]) = fleet(["a"]);
    let balancer = over(&directory).load(InFlight::new).spawn().unwrap();
    let mut request = Box::pin(balancer.send(1));
    assert_eq!(request.as_mut().await.unwrap().by, "a");
    assert!(format!("{request:?}").contains("done"), "{request:?}");
    drop(directory);
    drop(balancer);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(a.live(), 0, "though the request is kept");
    drop(request);
}

/// What a service does with a request, which it holds until it is dropped.
struct Working {
    answers: bool,
    _request: Arc<()>,
}

impl Future for Working {
    type Output = Result<(), Refused>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        if self.answers { Poll::Ready(Ok(())) } else { Poll::Pending }
    }
}

/// Notes how often the one request is held when its place comes free.
struct Place {
    request: Weak<()>,
    held: Arc<Mutex<Vec<usize>>>,
}

impl LoadMetric for Place {
    fn measure(&self, _: &Now) -> f64 {
        0.0
    }
}

impl LoadTracker for Place {
    type Ticket = ();

    fn start(&self, _: &Now) -> Result<(), AtCapacity> {
        Ok(())
    }

    fn responded(&self, (): (), _: Outcome, _: &Now) {}

    fn release(&self, (): (), _: &Now) {
        self.held.lock().unwrap().push(self.request.strong_count());
    }
}

/// Sends a request whose attempt may take a second, to a service that answers at once or never, for as long as the caller
/// wants. Returns how often it was held by then, at each place that came free.
async fn held_at_release(answers: bool, patience: Duration) -> Vec<usize> {
    let mut directory = Directory::new();
    directory.upsert("a", Backend::new("a")).unwrap();
    let (request, held) = (Arc::new(()), Arc::default());
    let load = {
        let (request, held) = (Arc::downgrade(&request), Arc::clone(&held));
        move || Place { request: request.clone(), held: Arc::clone(&held) }
    };
    let balancer = Balancer::builder()
        .discover(directory.reader(), move |_, _| {
            service_fn(move |request| Working { answers, _request: request })
        })
        .load(load)
        .attempt_timeout(Duration::from_secs(1))
        .spawn()
        .unwrap();
    drop(tokio::time::timeout(patience, balancer.send(request)).await);
    let held = held.lock().unwrap();
    held.clone()
}

#[tokio::test(start_paused = true)]
async fn who_gets_the_place_of_an_answered_request_finds_that_its_service_let_go_of_it() {
    assert_eq!(held_at_release(true, Duration::MAX).await, [0]);
}

#[tokio::test(start_paused = true)]
async fn who_gets_the_place_of_a_request_that_took_too_long_finds_that_its_service_let_go_of_it() {
    let start = Instant::now();
    assert_eq!(held_at_release(false, Duration::MAX).await, [0]);
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn who_gets_the_place_of_a_request_that_was_given_up_finds_that_its_service_let_go_of_it() {
    let start = Instant::now();
    assert_eq!(held_at_release(false, Duration::from_millis(100)).await, [0]);
    assert!(start.elapsed() < Duration::from_secs(1));
}

/// Holds whoever enters until there are two.
#[derive(Debug, Default)]
struct Rendezvous {
    inside: Mutex<u32>,
    arrived: Condvar,
}

impl Rendezvous {
    fn meet(&self) -> bool {
        let mut inside = self.inside.lock().unwrap();
        *inside += 1;
        self.arrived.notify_all();
        let wait = Duration::from_secs(20);
        !self.arrived.wait_timeout_while(inside, wait, |inside| *inside < 2).unwrap().1.timed_out()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_are_inside_a_service_at_the_same_time() {
    let mut directory = Directory::new();
    directory.upsert("a", Backend::new("a")).unwrap();
    let rendezvous = Arc::new(Rendezvous::default());
    let balancer = Balancer::builder()
        .discover(directory.reader(), move |_, _| {
            let rendezvous = Arc::clone(&rendezvous);
            service_fn(move |()| std::future::ready(Ok::<_, Refused>(rendezvous.meet())))
        })
        .spawn()
        .unwrap();
    let tasks = [(); 2].map(|()| {
        let balancer = balancer.clone();
        tokio::spawn(async move { balancer.send(()).await })
    });
    for task in tasks {
        assert!(task.await.unwrap().unwrap(), "no lock keeps one out while the other is inside `call`");
    }
}
