//! What others do between two steps of a request. A policy and a timer of the test's own say when.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use poise::core::{
    Candidate, Exclusion, Exclusions, InFlight, PickError, Policy, Prepare, Prepared, Selection, Status,
    Table, View,
};
use poise::tower::{Balancer, BalancerErrorKind, Event, Hook, UnknownMember};

use crate::support::fleet::{circuit, fleet, over, remove, set_status};
use crate::support::plot::{First, Meddler, Plot, poll_once, send, uncapped};
use crate::support::script::Fake;

type Client = Balancer<Fake, u32, InFlight>;

#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn a_place_that_was_taken_after_the_policy_looked_is_no_fault_of_the_policy() {
    let (directory, [a, b]) = fleet(["a", "b"]);
    let policy = First::default();
    let limit = || InFlight::with_limit(1).unwrap();
    let balancer = over(&directory).load(limit).policy(policy.clone()).spawn().unwrap();
    let faster = Arc::new(Mutex::new(None));
    policy.0.then({
        let (balancer, faster) = (balancer.clone(), Arc::clone(&faster));
        move || *faster.lock().unwrap() = Some(send(&balancer, 1))
    });
    assert_eq!(send(&balancer, 2).await.unwrap().by, "b");
    let faster = faster.lock().unwrap().take().unwrap();
    assert_eq!(faster.await.unwrap().by, "a");
    assert_eq!((a.calls(), b.calls()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_circuit_that_opened_after_the_policy_looked_is_no_fault_of_the_policy() {
    let (directory, [a, _b]) = fleet(["a", "b"]);
    a.refuse(true);
    let policy = First::default();
    let balancer = over(&directory)
        .load(InFlight::new)
        .circuit(circuit(1, Duration::from_secs(1)))
        .policy(policy.clone())
        .spawn()
        .unwrap();
    let failing = send(&balancer, 1);
    policy.0.then(move || {
        let mut failing = failing;
        assert!(poll_once(&mut failing).is_ready());
    });
    assert_eq!(send(&balancer, 2).await.unwrap().by, "b");
}

#[tokio::test(start_paused = true)]
async fn who_loses_a_place_that_comes_free_again_does_not_wait_for_a_change() {
    let (directory, [_a]) = fleet(["a"]);
    let policy = First::default();
    let limit = || InFlight::with_limit(1).unwrap();
    let balancer =
        over(&directory).load(limit).policy(policy.clone()).fail_fast(Duration::MAX).spawn().unwrap();
    let faster = Arc::new(Mutex::new(None));
    policy.0.then({
        let (balancer, faster) = (balancer.clone(), Arc::clone(&faster));
        move || *faster.lock().unwrap() = Some(send(&balancer, 1))
    });
    // That one's own pick.
    policy.0.then(|| {});
    // The second look of the slower one, which avoids what it has lost.
    policy.0.then(move || drop(faster.lock().unwrap().take()));
    let error = send(&balancer, 2).await.unwrap_err();
    assert!(matches!(error.kind(), BalancerErrorKind::AtCapacity(_)), "{error}");
    send(&balancer, 3).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_permit_that_returns_before_its_loss_was_noted_wakes_who_saw_the_loss() {
    let (directory, [a]) = fleet(["a"]);
    a.refuse(true);
    let timer = Meddler::default();
    let second = Duration::from_secs(1);
    let (balancer, driver) = over(&directory)
        .load(InFlight::new)
        .circuit(circuit(1, second).with_half_open_permits(2).unwrap())
        .exclusions(uncapped())
        .timer(timer.clone())
        .build()
        .unwrap();
    tokio::spawn(driver);
    send(&balancer, 0).await.unwrap_err();
    tokio::time::sleep(second + Duration::from_millis(5)).await;
    a.refuse(false);
    a.hang();

    let mut first_probe = send(&balancer, 1);
    assert!(poll_once(&mut first_probe).is_pending());
    let woken = Arc::new(Woken::default());
    let waiting = Arc::new(Mutex::new(None));
    // The second probe takes the last permit. It asks for the time for its pick, and then to note that nobody gets one now.
    timer.0.then(|| {});
    timer.0.then({
        let (balancer, waiting) = (balancer.clone(), Arc::clone(&waiting));
        let waker = Waker::from(Arc::clone(&woken));
        move || {
            let mut request = send(&balancer, 3);
            assert!(request.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            *waiting.lock().unwrap() = Some(request);
            drop(first_probe);
        }
    });
    let second_probe = send(&balancer, 2);
    let waiting = waiting.lock().unwrap().take().expect("the plot was followed");
    assert!(woken.0.load(SeqCst), "there is a permit, and nothing else will tell");
    drop(second_probe);
    a.answer_after(Duration::ZERO);
    assert_eq!(waiting.await.unwrap().request, 3);
}

type Verb = fn(&Client, &str) -> Result<(), UnknownMember>;

const VERBS: [Verb; 3] = [Client::drain, Client::exclude, Client::force_open];

#[tokio::test(start_paused = true)]
async fn a_member_that_an_operator_took_out_after_the_policy_looked_is_no_fault_of_the_policy() {
    for verb in VERBS {
        let (directory, [a, b]) = fleet(["a", "b"]);
        let policy = First::default();
        let balancer = over(&directory).load(InFlight::new).policy(policy.clone()).spawn().unwrap();
        policy.0.then({
            let balancer = balancer.clone();
            move || verb(&balancer, "a").unwrap()
        });
        assert_eq!(send(&balancer, 1).await.unwrap().by, "b");
        assert_eq!((a.calls(), b.calls()), (0, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_member_that_comes_back_after_it_was_missed_is_not_waited_for() {
    for verb in VERBS {
        let (directory, [_a]) = fleet(["a"]);
        let policy = First::default();
        let builder = over(&directory).load(InFlight::new).policy(policy.clone());
        let balancer = builder.fail_fast(Duration::MAX).spawn().unwrap();
        verb(&balancer, "a").unwrap();
        // The first look finds nobody; the second comes when the request waits already.
        policy.0.then({
            let balancer = balancer.clone();
            move || balancer.restore("a").unwrap()
        });
        let mut request = send(&balancer, 1);
        assert!(poll_once(&mut request).is_ready(), "it looks again once it is registered");
    }
}

#[tokio::test(start_paused = true)]
async fn a_balancer_that_closes_after_the_policy_looked_calls_nobody() {
    let (directory, [a]) = fleet(["a"]);
    let policy = First::default();
    let balancer = over(&directory).load(InFlight::new).policy(policy.clone()).spawn().unwrap();
    policy.0.then({
        let balancer = balancer.clone();
        move || drop(balancer.shutdown())
    });
    let error = send(&balancer, 1).await.unwrap_err();
    assert_eq!((error.kind(), a.calls()), (&BalancerErrorKind::Closed, 0));
    assert_eq!(balancer.shutdown().await, 0);
}

/// Which members a table takes for eligible, in the order of the membership.
#[derive(Clone, Debug, Default)]
struct Hints(Arc<Mutex<Vec<bool>>>);

impl Table for Hints {
    fn set_eligible(&self, slot: usize, eligible: bool) {
        self.0.lock().unwrap()[slot] = eligible;
    }
}

/// Keeps the latest of its tables. When one has been made and is not in use yet, something happens.
#[derive(Clone, Debug, Default)]
struct Informed {
    latest: Arc<Mutex<Hints>>,
    prepared: Plot,
}

impl<C: Candidate> Prepare<C> for Informed {
    fn prepare(&self, view: &View<'_, C>, _: Option<&Prepared>) -> Result<Prepared, PickError> {
        let is_eligible = |at| view.exclusions(at).only(Exclusions::SLOW).is_empty();
        let hints = Hints(Arc::new(Mutex::new((0..view.len()).map(is_eligible).collect())));
        *self.latest.lock().unwrap() = hints.clone();
        self.prepared.go_on();
        Ok(Prepared::new(view.len(), hints))
    }
}

impl<C: Candidate> Policy<C> for Informed {
    fn pick_from(&self, view: &View<'_, C>, (): &()) -> Result<Selection, PickError> {
        view.first_from(0)
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_that_was_prepared_while_a_circuit_opened_hears_of_it() {
    const LONG: Duration = Duration::from_secs(20);
    let (mut directory, [a, _b, _c]) = fleet(["a", "b", "c"]);
    a.refuse(true);
    let (timer, policy) = (Meddler::default(), Informed::default());
    let (balancer, driver) = over::<u32>(&directory)
        .load(InFlight::new)
        .circuit(circuit(1, Duration::from_secs(100)))
        .exclusions(uncapped())
        .policy(policy.clone())
        .timer(timer.clone())
        .build()
        .unwrap();
    let mut driver = Box::pin(driver);
    assert!(poll_once(&mut driver).is_pending());

    let (opened, is_opened) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel();
    let (done, is_done) = mpsc::channel();
    // The request asks for the time for its pick, for its end, and then to have the pool hear that the circuit is open.
    timer.0.then(|| {});
    timer.0.then(|| {});
    timer.0.then(move || {
        opened.send(()).unwrap();
        may_go_on.recv_timeout(LONG).unwrap();
    });
    let mut request = send(&balancer, 1);
    let runtime = tokio::runtime::Handle::current();
    let thread = std::thread::spawn(move || {
        let _entered = runtime.enter();
        assert!(matches!(poll_once(&mut request), Poll::Ready(Err(_))));
        done.send(()).unwrap();
    });
    is_opened.recv_timeout(LONG).expect("the plot was followed");
    // The pool hears it when the next one is prepared already.
    remove(&mut directory, "c");
    policy.prepared.then(move || {
        go_on.send(()).unwrap();
        is_done.recv_timeout(LONG).unwrap();
    });
    assert!(poll_once(&mut driver).is_pending());
    thread.join().unwrap();
    let report = balancer.report();
    assert_eq!((report.members.len(), report.eligible()), (2, 1), "{report}");
    let hints = policy.latest.lock().unwrap().0.lock().unwrap().clone();
    assert_eq!(hints, [false, true]);
}

/// Asks for a report whenever something happens.
#[derive(Clone, Debug, Default)]
struct Curious(Arc<OnceLock<Client>>);

impl Hook for Curious {
    fn on(&self, event: &Event<'_>) {
        if let (Some(balancer), Event::FailFast { .. } | Event::Membership { .. }) = (self.0.get(), event) {
            drop(balancer.report());
        }
    }
}

#[test]
fn a_hook_may_ask_for_a_report() {
    let (done, finished) = mpsc::channel();
    std::thread::spawn(move || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap().block_on(async {
            let (mut directory, [_a]) = fleet(["a"]);
            set_status(&mut directory, "a", Status::Unavailable);
            let hook = Curious::default();
            let builder = over(&directory).load(InFlight::new).hook(hook.clone());
            let balancer = hook.0.get_or_init(|| builder.spawn().unwrap());
            let error = balancer.send(1).await.unwrap_err();
            let BalancerErrorKind::NoEligible(counts) = error.kind() else { panic!("{error}") };
            assert_eq!(counts.of(Exclusion::Unavailable), 1);
            set_status(&mut directory, "a", Status::Ready);
            tokio::time::sleep(Duration::from_millis(1)).await;
            balancer.send(2).await.unwrap();
        });
        done.send(()).unwrap();
    });
    finished.recv_timeout(Duration::from_secs(20)).expect("nobody waits for a lock of their own");
}
