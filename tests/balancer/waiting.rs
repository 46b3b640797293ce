//! Requests that nobody can serve at the moment.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use poise::core::{
    Candidate, Exclusion, ExclusionCounts, InFlight, PickError, Policy, Prepare, Selection, Status, View,
};
use poise::health::BudgetConfig;
use poise::tokio::TokioTimer;
use poise::tower::{Balancer, BalancerError, BalancerErrorKind};
use tokio::time::{Instant, sleep, timeout};
use tower::Service;

use crate::support::fleet::{self, add, circuit, fleet, over, remove, set_status};
use crate::support::pace::{Pace, in_time, on_both_runtimes, until};
use crate::support::script::{Fake, Readiness, Script};

type Client = Balancer<Fake, u32>;

/// A task that nobody runs.
struct Asleep;

impl Wake for Asleep {
    fn wake(self: Arc<Self>) {}
}

async fn is_pending<F: Future>(mut future: Pin<&mut F>) -> bool {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}

/// Lets every circuit of a pool open.
fn uncapped() -> BudgetConfig {
    BudgetConfig::default().with_circuits(1.0).unwrap().with_min_eligible(0)
}

on_both_runtimes! {
    async fn callers_that_give_up_leave_nothing_behind(pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        set_status(&mut directory, "a", Status::Unavailable);
        let balancer: Client = over(&directory).fail_fast(Duration::MAX).spawn().unwrap();
        let task = Arc::new(Asleep);
        let waker = Waker::from(Arc::clone(&task));
        {
            let mut clones = vec![balancer.clone(); 50];
            let mut waiting: Vec<_> = (0..50).map(|request| Box::pin(balancer.send(request))).collect();
            let cx = &mut Context::from_waker(&waker);
            assert!(clones.iter_mut().all(|clone| clone.poll_ready(cx).is_pending()));
            assert!(waiting.iter_mut().all(|request| request.as_mut().poll(cx).is_pending()));
            assert!(Arc::strong_count(&task) > 50, "they are registered");
        }
        assert_eq!(Arc::strong_count(&task), 2, "no waker stays");
        for request in 0..10 {
            timeout(pace.second() / 100, balancer.send(request)).await.unwrap_err();
        }

        a.turn(Readiness::Pending);
        set_status(&mut directory, "a", Status::Ready);
        in_time(until("it is a member again", || balancer.report().eligible() == 1)).await;
        for request in 0..10 {
            timeout(pace.second() / 100, balancer.send(request)).await.unwrap_err();
        }
        assert_eq!(a.live(), 1, "no clone of the service stays");
        a.turn(Readiness::Ready);
        balancer.send(1).await.unwrap();
        assert_eq!(a.calls(), 1, "what was given up is not sent afterwards");
        assert_eq!(balancer.report().members[0].in_flight, 0);
    }

    async fn a_buffered_balancer_outlives_a_pool_without_members(pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        let balancer: Client = over(&directory).fail_fast(pace.second()).spawn().unwrap();
        let buffered = tower::buffer::Buffer::new(balancer.clone(), 16);
        let send = |request| tower::ServiceExt::oneshot(buffered.clone(), request);
        in_time(send(1)).await.unwrap();

        remove(&mut directory, "a");
        in_time(until("the pool is empty", || balancer.report().members.is_empty())).await;
        let bridged = tokio::spawn(send(2));
        tokio::task::yield_now().await;
        add(&mut directory, "a", &a);
        in_time(bridged).await.unwrap().unwrap();

        remove(&mut directory, "a");
        in_time(until("requests fail at once", || balancer.report().failing_fast)).await;
        let error = in_time(send(3)).await.unwrap_err().downcast::<BalancerError>().unwrap();
        assert_eq!(*error.kind(), BalancerErrorKind::NoMembers);
        add(&mut directory, "a", &a);
        in_time(until("it is back", || balancer.report().eligible() == 1)).await;
        in_time(send(4)).await.expect("nothing was declared dead");
    }

    async fn callers_in_one_buffer_fail_together(pace: Pace) {
        let (mut directory, [_a]) = fleet(["a"]);
        set_status(&mut directory, "a", Status::Unavailable);
        let start = Instant::now();
        let balancer: Client = over(&directory).fail_fast(3 * pace.second()).spawn().unwrap();
        let buffered = tower::buffer::Buffer::new(balancer, 32);
        let callers: Vec<_> =
            (0..20).map(|request| tokio::spawn(tower::ServiceExt::oneshot(buffered.clone(), request))).collect();
        for caller in callers {
            in_time(caller).await.unwrap().unwrap_err();
            pace.check(start, 3 * pace.second());
        }
    }

    async fn a_signal_wakes_who_waits_beside_a_pending_endpoint(_pace: Pace) {
        let (mut directory, [_a, b]) = fleet(["a", "b"]);
        b.turn(Readiness::Pending);
        set_status(&mut directory, "a", Status::Unavailable);
        let balancer: Client = over(&directory).spawn().unwrap();
        let request = tokio::spawn(balancer.send(1));
        in_time(until("b is tried", || b.live() == 2)).await;
        set_status(&mut directory, "a", Status::Ready);
        assert_eq!(in_time(request).await.unwrap().unwrap().by, "a");
    }

    async fn the_end_of_a_cooldown_wakes_who_waits_beside_a_pending_endpoint(pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        a.refuse(true);
        b.turn(Readiness::Pending);
        let balancer: Client = over(&directory).circuit(circuit(1, pace.second())).spawn().unwrap();
        balancer.send(1).await.unwrap_err();
        let start = Instant::now();
        a.refuse(false);
        assert_eq!(in_time(balancer.send(2)).await.unwrap().by, "a");
        pace.check(start, pace.second());
    }

    async fn a_probe_that_is_given_up_wakes_who_waits(pace: Pace) {
        let (directory, [a]) = fleet(["a"]);
        a.refuse(true);
        let circuit = circuit(1, pace.second());
        let balancer: Client = over(&directory).circuit(circuit).exclusions(uncapped()).spawn().unwrap();
        balancer.send(1).await.unwrap_err();
        a.hang();
        let probe = tokio::spawn(balancer.send(2));
        in_time(until("the probe is under way", || a.under_way() == 1)).await;
        let waiting = tokio::spawn(balancer.send(3));
        assert!(balancer.report().members[0].exclusions.contains(Exclusion::Circuit), "one probe at a time");

        a.refuse(false);
        a.answer_after(Duration::ZERO);
        probe.abort();
        assert_eq!(in_time(waiting).await.unwrap().unwrap().request, 3);
    }

    async fn a_place_that_comes_free_wakes_who_waits_beside_a_pending_endpoint(_pace: Pace) {
        let (directory, [full, pending]) = fleet(["full", "pending"]);
        full.hang();
        let limit = || InFlight::with_limit(1).unwrap();
        let balancer: Balancer<Fake, u32, InFlight> =
            over(&directory).load(limit).without_circuit().spawn().unwrap();
        pending.turn(Readiness::Pending);
        let first = tokio::spawn(balancer.send(1));
        in_time(until("one is full", || full.under_way() == 1)).await;
        let second = tokio::spawn(balancer.send(2));
        in_time(until("both are taken", || balancer.report().eligible() == 0)).await;
        tokio::task::yield_now().await;

        full.answer_after(Duration::ZERO);
        first.abort();
        assert_eq!(in_time(second).await.unwrap().unwrap().by, "full");
    }

    async fn whoever_waits_for_two_endpoints_notices_that_both_leave(_pace: Pace) {
        let (mut directory, [a, b]) = fleet(["a", "b"]);
        a.turn(Readiness::Pending);
        b.turn(Readiness::Pending);
        let balancer: Client = over(&directory).spawn().unwrap();
        let request = tokio::spawn(balancer.send(1));
        in_time(until("both are tried", || (a.live(), b.live()) == (2, 2))).await;
        // The first change wakes the request, which goes on waiting for the same two.
        let c = Script::new("c");
        c.turn(Readiness::Pending);
        add(&mut directory, "c", &c);
        in_time(until("c is a member", || balancer.report().members.len() == 3)).await;
        sleep(Duration::from_millis(5)).await;
        remove(&mut directory, "a");
        remove(&mut directory, "b");
        in_time(until("c is tried", || c.live() == 2)).await;
        in_time(until("nobody holds on to those who left", || a.live() + b.live() <= 1)).await;
        c.turn(Readiness::Ready);
        assert_eq!(in_time(request).await.unwrap().unwrap().by, "c");
    }

    async fn unknown_empty_and_excluded_are_told_apart(pace: Pace) {
        let fail_fast = 3 * pace.second();
        let (mut directory, []) = fleet([]);
        let mut unknown = fleet::Fleet::new();
        let waits = |directory: &fleet::Fleet| -> Client {
            over(directory).fail_fast(fail_fast).spawn().unwrap()
        };
        let start = Instant::now();
        let balancers = [waits(&unknown), waits(&directory)];
        let errors = balancers.each_ref().map(|balancer| tokio::spawn(balancer.send(1)));
        let kinds = [BalancerErrorKind::Undiscovered, BalancerErrorKind::NoMembers];
        for (error, kind) in errors.into_iter().zip(kinds) {
            assert_eq!(*in_time(error).await.unwrap().unwrap_err().kind(), kind);
            pace.check(start, fail_fast);
        }
        let script = Script::new("a");
        for directory in [&mut unknown, &mut directory] {
            add(directory, "a", &script);
            set_status(directory, "a", Status::Unavailable);
        }
        for balancer in &balancers {
            let is_known = || balancer.report().members.iter().any(|member| member.status == Status::Unavailable);
            in_time(until("the member is known", is_known)).await;
            let error = balancer.send(1).await.unwrap_err();
            let BalancerErrorKind::NoEligible(counts) = error.kind() else { panic!("{error}") };
            assert_eq!((counts.candidates(), counts.of(Exclusion::Unavailable)), (1, 1));
        }
    }

    async fn an_insert_wakes_who_waits(pace: Pace) {
        let (mut directory, []) = fleet([]);
        let balancer: Client = over(&directory).fail_fast(Duration::MAX).spawn().unwrap();
        let mut ready = balancer.clone();
        let mut ready = tokio::spawn(async move { poll_fn(|cx| ready.poll_ready(cx)).await });
        let mut request = tokio::spawn(balancer.send(1));
        assert!(is_pending(pin!(&mut ready)).await && is_pending(pin!(&mut request)).await);
        sleep(pace.second()).await;
        let start = Instant::now();
        add(&mut directory, "a", &Script::new("a"));
        in_time(request).await.unwrap().unwrap();
        in_time(ready).await.unwrap().unwrap();
        pace.check_at_once(start);
    }

    async fn requests_fail_at_the_deadline_of_the_pool_and_at_once_from_then_on(pace: Pace) {
        let (mut directory, [_a]) = fleet(["a"]);
        let balancer: Client = over(&directory).fail_fast(3 * pace.second()).spawn().unwrap();
        sleep(pace.second()).await;
        let start = Instant::now();
        set_status(&mut directory, "a", Status::Unavailable);
        in_time(until("it took effect", || balancer.report().eligible() == 0)).await;
        sleep(2 * pace.second()).await;
        in_time(balancer.send(1)).await.unwrap_err();
        pace.check(start, 3 * pace.second());

        let late = Instant::now();
        in_time(balancer.send(2)).await.unwrap_err();
        pace.check_at_once(late);

        set_status(&mut directory, "a", Status::Ready);
        in_time(until("it is back", || balancer.report().eligible() == 1)).await;
        assert!(!balancer.report().failing_fast);
        let again = Instant::now();
        set_status(&mut directory, "a", Status::Unavailable);
        in_time(until("it took effect", || balancer.report().eligible() == 0)).await;
        in_time(balancer.send(3)).await.unwrap_err();
        pace.check(again, 3 * pace.second());
    }

    async fn without_a_driver_nobody_waits(pace: Pace) {
        let (mut directory, [_a]) = fleet(["a"]);
        set_status(&mut directory, "a", Status::Unavailable);
        let (balancer, driver): (Client, _) = over(&directory).timer(TokioTimer).build().unwrap();
        let waiting = tokio::spawn(balancer.send(1));
        tokio::task::yield_now().await;
        let start = Instant::now();
        drop(driver);
        in_time(waiting).await.unwrap().unwrap_err();
        in_time(balancer.send(2)).await.unwrap_err();
        pace.check_at_once(start);
    }

    async fn all_is_let_go_of_with_the_last_handle_and_the_last_attempt(_pace: Pace) {
        let (directory, [a]) = fleet(["a"]);
        let (balancer, driver): (Client, _) = over(&directory).timer(TokioTimer).build().unwrap();
        let driver = tokio::spawn(driver);
        a.answer_after(Duration::from_millis(20));
        let request = tokio::spawn(balancer.send(1));
        in_time(until("it is under way", || a.under_way() == 1)).await;
        drop(balancer);
        in_time(driver).await.unwrap();
        in_time(request).await.unwrap().expect("what is under way is seen through");
        in_time(until("the endpoint is gone", || a.live() == 0)).await;
    }

    async fn a_request_that_waits_keeps_its_balancer_open(_pace: Pace) {
        let (mut directory, []) = fleet([]);
        let balancer: Client = over(&directory).spawn().unwrap();
        let request = tokio::spawn(balancer.send(1));
        drop(balancer);
        let a = Script::new("a");
        add(&mut directory, "a", &a);
        assert_eq!(in_time(request).await.unwrap().unwrap().by, "a");
        in_time(until("the endpoint is gone", || a.live() == 0)).await;
    }

    async fn a_full_member_that_drains_makes_nobody_fail_at_once(pace: Pace) {
        let (mut directory, [a, _b]) = fleet(["a", "b"]);
        a.hang();
        set_status(&mut directory, "b", Status::Unavailable);
        let limit = || InFlight::with_limit(1).unwrap();
        let balancer: Balancer<Fake, u32, InFlight> = over(&directory).load(limit).spawn().unwrap();
        let busy = tokio::spawn(balancer.send(1));
        in_time(until("a is full", || a.under_way() == 1)).await;
        directory.remove(&"a").unwrap();
        in_time(until("a drains", || balancer.report().members[0].status == Status::Draining)).await;
        let waiting = tokio::spawn(balancer.send(2));
        sleep(pace.second()).await;
        set_status(&mut directory, "b", Status::Ready);
        assert_eq!(in_time(waiting).await.unwrap().unwrap().by, "b", "it could still serve");
        busy.abort();
    }

    async fn a_request_of_no_use_to_the_eligible_fails_after_the_same_time(pace: Pace) {
        let (directory, [_a]) = fleet(["a"]);
        let balancer: Client =
            over(&directory).policy(EvenOnly).context(poise::tower::UseRequest).fail_fast(pace.second()).spawn().unwrap();
        let start = Instant::now();
        let odd = tokio::spawn(balancer.send(1));
        let later = balancer.clone();
        let later = tokio::spawn(async move {
            sleep(pace.second() / 2).await;
            (Instant::now(), later.send(3).await)
        });
        balancer.send(2).await.unwrap();
        in_time(odd).await.unwrap().unwrap_err();
        pace.check(start, pace.second());
        let (start, result) = in_time(later).await.unwrap();
        result.unwrap_err();
        pace.check(start, pace.second());
    }
}

/// Has members for even requests only.
#[derive(Debug)]
struct EvenOnly;

impl<C: Candidate> Prepare<C> for EvenOnly {}

impl<C: Candidate> Policy<C, u32> for EvenOnly {
    fn pick_from(&self, view: &View<'_, C>, request: &u32) -> Result<Selection, PickError> {
        if request.is_multiple_of(2) {
            view.first_from(0)
        } else {
            Err(PickError::NoEligible(ExclusionCounts::default()))
        }
    }
}
