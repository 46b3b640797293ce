//! A balancer among the middleware of Tower.

use std::error::Error;
use std::time::Duration;

use poise::core::Status;
use poise::tower::{Balancer, BalancerError, BalancerErrorKind, ResponseFuture};
use tower::buffer::Buffer;
use tower::limit::ConcurrencyLimitLayer;
use tower::load_shed::error::Overloaded;
use tower::retry::Policy;
use tower::timeout::error::Elapsed;
use tower::util::BoxCloneService;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::support::fleet::{fleet, over, set_status};
use crate::support::pace::{Pace, in_time, on_both_runtimes, until};
use crate::support::script::{Answer, Fake};

/// The type can be named where it is kept.
#[derive(Clone, Debug)]
struct Backends {
    users: Balancer<Fake, u32>,
    boxed: BoxCloneService<u32, Answer<u32>, BalancerError>,
}

/// Makes requests again that no endpoint has had.
#[derive(Clone, Debug)]
struct Unhanded {
    left: u32,
}

impl<T> Policy<u32, T, BalancerError> for Unhanded {
    type Future = std::future::Ready<()>;

    fn retry(&mut self, _: &mut u32, result: &mut Result<T, BalancerError>) -> Option<Self::Future> {
        let again = matches!(result, Err(error) if error.is_retryable()) && self.left > 0;
        self.left = self.left.saturating_sub(1);
        again.then(|| std::future::ready(()))
    }

    fn clone_request(&mut self, request: &u32) -> Option<u32> {
        Some(*request)
    }
}

fn assert_send<T: Send>(value: T) -> T {
    value
}

fn is_send<T: Send>() {}

fn is_send_and_sync<T: Send + Sync + 'static>() {}

#[test]
fn handles_and_futures_go_from_thread_to_thread() {
    is_send_and_sync::<Balancer<Fake, u32>>();
    is_send_and_sync::<BalancerError>();
    is_send::<ResponseFuture<Fake, u32, poise::core::PeakEwma>>();
}

on_both_runtimes! {
    async fn a_balancer_is_a_field_and_a_boxed_service(_pace: Pace) {
        let (directory, _scripts) = fleet(["a"]);
        let users = over(&directory).spawn().unwrap();
        let mut backends = Backends { boxed: BoxCloneService::new(users.clone()), users };
        assert_eq!(assert_send(backends.users.send(1)).await.unwrap().request, 1);
        assert_eq!(backends.boxed.ready().await.unwrap().call(2).await.unwrap().request, 2);
        let spawned = tokio::spawn(async move { backends.users.ready().await?.call(3).await });
        assert_eq!(spawned.await.unwrap().unwrap().request, 3);
    }

    async fn a_time_limit_around_it_ends_requests_and_frees_what_they_hold(pace: Pace) {
        let (directory, [a]) = fleet(["a"]);
        let balancer: Balancer<Fake, u32> = over(&directory).spawn().unwrap();
        let mut service = ServiceBuilder::new().timeout(pace.second()).service(balancer.clone());
        a.hang();
        let error = in_time(service.ready().await.unwrap().call(1)).await.unwrap_err();
        assert!(error.is::<Elapsed>(), "{error}");
        let report = balancer.report();
        assert_eq!((a.under_way(), report.members[0].in_flight, report.members[0].cancelled), (0, 0, 1));
        a.answer_after(Duration::ZERO);
        assert_eq!(service.ready().await.unwrap().call(2).await.unwrap().request, 2);
    }

    async fn a_limit_around_it_bounds_what_is_under_way(pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        for script in [&a, &b] {
            script.answer_after(pace.second() / 10);
        }
        let balancer: Balancer<Fake, u32> = over(&directory).spawn().unwrap();
        let service = ConcurrencyLimitLayer::new(3).layer(balancer.clone());
        let requests: Vec<_> =
            (0..12).map(|request| tokio::spawn(service.clone().oneshot(request))).collect();
        in_time(until("the limit is reached", || a.under_way() + b.under_way() == 3)).await;
        for request in requests {
            in_time(request).await.unwrap().unwrap();
            assert!(a.under_way() + b.under_way() <= 3);
        }
        assert_eq!(a.calls() + b.calls(), 12);
    }

    async fn a_retry_around_it_makes_again_what_nobody_had(pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        set_status(&mut directory, "a", Status::Unavailable);
        let balancer: Balancer<Fake, u32> = over(&directory).fail_fast(pace.second()).spawn().unwrap();
        let mut service = ServiceBuilder::new().retry(Unhanded { left: 3 }).service(balancer);
        let retried = tokio::spawn(async move { service.ready().await.unwrap().call(7).await });
        tokio::time::sleep(pace.second() / 2).await;
        set_status(&mut directory, "a", Status::Ready);
        assert_eq!(in_time(retried).await.unwrap().unwrap().request, 7);
        assert_eq!(a.calls(), 1);

        a.refuse(true);
        let balancer: Balancer<Fake, u32> = over(&directory).spawn().unwrap();
        let mut service = ServiceBuilder::new().retry(Unhanded { left: 3 }).service(balancer);
        let error = in_time(service.ready().await.unwrap().call(8)).await.unwrap_err();
        assert_eq!((error.endpoint(), a.calls()), (Some("a"), 2), "it had the request, so there is no retry");

        set_status(&mut directory, "a", Status::Unavailable);
        let balancer: Balancer<Fake, u32> = over(&directory).fail_fast(Duration::ZERO).spawn().unwrap();
        let policy = Unhanded { left: 3 };
        let mut service = ServiceBuilder::new().retry(policy).service(balancer);
        let error = in_time(service.ready().await.unwrap().call(9)).await.unwrap_err();
        assert!(error.is_retryable(), "after three times more the last error is the answer: {error}");
    }

    async fn load_is_shed_while_nobody_is_eligible(pace: Pace) {
        let (mut directory, [_a]) = fleet(["a"]);
        set_status(&mut directory, "a", Status::Unavailable);
        let balancer: Balancer<Fake, u32> = over(&directory).fail_fast(pace.second()).spawn().unwrap();
        let mut service = ServiceBuilder::new().load_shed().service(balancer.clone());
        let error = service.ready().await.unwrap().call(1).await.unwrap_err();
        assert!(error.is::<Overloaded>(), "{error}");

        in_time(until("requests fail at once", || balancer.report().failing_fast)).await;
        let error = service.ready().await.unwrap().call(2).await.unwrap_err();
        let error = error.downcast::<BalancerError>().expect("from now on it has an answer: why not");
        assert!(matches!(error.kind(), BalancerErrorKind::NoEligible(_)));

        set_status(&mut directory, "a", Status::Ready);
        in_time(until("it is back", || balancer.report().eligible() == 1)).await;
        service.ready().await.unwrap().call(3).await.unwrap();
    }

    async fn a_whole_stack_serves_many_tasks(pace: Pace) {
        let (directory, scripts) = fleet(["a", "b", "c"]);
        for script in &scripts {
            script.answer_after(pace.second() / 100);
        }
        let balancer: Balancer<Fake, u32> = over(&directory).spawn().unwrap();
        let service = ServiceBuilder::new()
            .buffer(64)
            .concurrency_limit(32)
            .timeout(10 * pace.second())
            .service(balancer.clone());
        let tasks: Vec<_> =
            (0..200).map(|request| tokio::spawn(service.clone().oneshot(request))).collect();
        for (request, task) in (0..).zip(tasks) {
            assert_eq!(in_time(task).await.unwrap().unwrap().request, request);
        }
        let report = balancer.report();
        assert_eq!(report.members.iter().map(|member| member.successes).sum::<u64>(), 200, "{report}");
        assert!(report.members.iter().all(|member| member.in_flight == 0), "{report}");
    }

    async fn an_error_reaches_the_caller_through_a_buffer(_pace: Pace) {
        let (directory, [a]) = fleet(["a"]);
        a.refuse(true);
        let balancer: Balancer<Fake, u32> = over(&directory).spawn().unwrap();
        let buffered = Buffer::new(balancer, 4);
        for request in 0..3 {
            let error = in_time(buffered.clone().oneshot(request)).await.unwrap_err();
            let error = error.downcast::<BalancerError>().expect("the buffer is not closed by it");
            assert_eq!(error.endpoint(), Some("a"));
            assert_eq!(error.source().unwrap().to_string(), "connection refused");
        }
    }
}
