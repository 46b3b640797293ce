//! What others do while an attempt is admitted: between the look of the policy, the place that is taken and the pick that is
//! counted.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use poise::core::{AtCapacity, InFlight, LoadMetric, LoadTracker, Now, Outcome};
use poise::health::CircuitState;
use poise::tower::{Balancer, BalancerErrorKind};

use crate::support::fleet::{Fleet, circuit, fleet, over};
use crate::support::plot::{Busy, First, Plot, Request, poll_once, send, uncapped};
use crate::support::script::Fake;

const SECOND: Duration = Duration::from_secs(1);

/// Asks the first member, and goes on with the plot when an attempt starts. One failure opens a circuit.
fn busy(directory: &Fleet, plot: &Plot) -> Balancer<Fake, u32, Busy> {
    over(directory)
        .load(Busy::following(plot))
        .policy(First::default())
        .circuit(circuit(1, SECOND))
        .exclusions(uncapped())
        .fail_fast(3 * SECOND)
        .spawn()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_begins_while_an_attempt_is_admitted_comes_first() {
    let (directory, [a, b]) = fleet(["a", "b"]);
    let plot = Plot::default();
    let balancer = busy(&directory, &plot);
    plot.then({
        let balancer = balancer.clone();
        move || balancer.drain("a").unwrap()
    });
    assert_eq!(balancer.send(1).await.unwrap().by, "b");
    assert_eq!((a.calls(), b.calls()), (0, 1));
    let report = balancer.report();
    let member = report.member("a").unwrap();
    assert_eq!((member.picks, member.in_flight, member.load), (0, 0, 0.0), "all is given back: {report}");
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_begins_while_a_probe_is_admitted_gives_the_permit_back() {
    let (directory, [a]) = fleet(["a"]);
    a.refuse(true);
    let plot = Plot::default();
    let balancer = busy(&directory, &plot);
    balancer.send(0).await.unwrap_err();
    a.refuse(false);
    tokio::time::sleep(SECOND + Duration::from_millis(1)).await;
    plot.then({
        let balancer = balancer.clone();
        move || balancer.drain("a").unwrap()
    });
    let mut request = send(&balancer, 1);
    assert!(poll_once(&mut request).is_pending(), "it waits for the drain to be taken back");
    let state = balancer.report().member("a").unwrap().circuit;
    assert!(matches!(state, Some(CircuitState::HalfOpen { probes: 0, .. })), "{state:?}");
    balancer.restore("a").unwrap();
    assert_eq!(request.await.unwrap().by, "a");
}

#[tokio::test(start_paused = true)]
async fn a_circuit_that_opens_while_an_attempt_is_admitted_comes_first() {
    let (directory, [a, _b]) = fleet(["a", "b"]);
    a.refuse(true);
    let plot = Plot::default();
    let balancer = busy(&directory, &plot);
    let mut failing = send(&balancer, 1);
    plot.then(move || assert!(poll_once(&mut failing).is_ready()));
    assert_eq!(balancer.send(2).await.unwrap().by, "b");
    let report = balancer.report();
    let member = report.member("a").unwrap();
    assert_eq!((member.picks, member.in_flight, member.load), (1, 0, 0.0), "all is given back: {report}");
}

#[tokio::test(start_paused = true)]
async fn a_circuit_that_opens_while_an_attempt_is_admitted_is_no_lack_of_places() {
    let (directory, [a]) = fleet(["a"]);
    a.refuse(true);
    let plot = Plot::default();
    let balancer = busy(&directory, &plot);
    let mut failing = send(&balancer, 1);
    plot.then(move || {
        assert!(poll_once(&mut failing).is_ready());
        a.refuse(false);
    });
    let answer = balancer.send(2).await;
    assert_eq!(answer.expect("it waits for the circuit").by, "a");
}

type Limited = Balancer<Fake, u32, InFlight>;

/// Asks the first of those who have their one place left, and waits as long as it takes for one to be well.
fn limited(directory: &Fleet, policy: &First) -> Limited {
    let limit = || InFlight::with_limit(1).unwrap();
    over(directory).load(limit).policy(policy.clone()).fail_fast(Duration::MAX).spawn().unwrap()
}

/// Somebody faster, who takes the place that the policy has just chosen and gives it back later.
#[derive(Clone, Default)]
struct Faster(Arc<Mutex<Option<Request>>>);

impl Faster {
    fn takes_the_place(&self, balancer: &Limited, policy: &First) {
        let (faster, balancer) = (self.clone(), balancer.clone());
        policy.0.then(move || *faster.0.lock().unwrap() = Some(send(&balancer, 1)));
        // That one's own pick.
        policy.0.then(|| {});
    }

    fn gives_it_back(&self, policy: &First) {
        let faster = self.clone();
        policy.0.then(move || drop(faster.0.lock().unwrap().take()));
    }
}

fn is_excluded(name: &'static str, balancer: &Limited, policy: &First) {
    let balancer = balancer.clone();
    policy.0.then(move || balancer.exclude(name).unwrap());
}

fn assert_refused_for_lack_of_places(balancer: &Limited) {
    let polled = poll_once(&mut send(balancer, 2));
    let Poll::Ready(Err(error)) = polled else { panic!("it waits, or was answered: {polled:?}") };
    assert!(matches!(error.kind(), BalancerErrorKind::AtCapacity(_)), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_place_that_was_lost_after_a_member_counts_too() {
    let (directory, [_a, _b]) = fleet(["a", "b"]);
    let (policy, faster) = (First::default(), Faster::default());
    let balancer = limited(&directory, &policy);
    is_excluded("a", &balancer, &policy);
    // Then it looks at b.
    faster.takes_the_place(&balancer, &policy);
    faster.gives_it_back(&policy);
    assert_refused_for_lack_of_places(&balancer);
}

#[tokio::test(start_paused = true)]
async fn a_place_that_was_lost_before_a_member_still_counts() {
    let (directory, [_a, _b]) = fleet(["a", "b"]);
    let (policy, faster) = (First::default(), Faster::default());
    let balancer = limited(&directory, &policy);
    faster.takes_the_place(&balancer, &policy);
    // Then it looks at b.
    is_excluded("b", &balancer, &policy);
    faster.gives_it_back(&policy);
    assert_refused_for_lack_of_places(&balancer);
}

/// Has no place for the next who comes, if so, and for all after that.
#[derive(Debug)]
struct Shy(AtomicBool);

impl LoadMetric for Shy {
    fn measure(&self, _: &Now) -> f64 {
        0.0
    }
}

impl LoadTracker for Shy {
    type Ticket = ();

    fn start(&self, _: &Now) -> Result<(), AtCapacity> {
        if self.0.swap(false, SeqCst) { Err(AtCapacity) } else { Ok(()) }
    }

    fn responded(&self, (): (), _: Outcome, _: &Now) {}

    fn release(&self, (): (), _: &Now) {}
}

#[tokio::test(start_paused = true)]
async fn who_was_lost_is_not_asked_again_though_it_has_a_place_by_then() {
    let (directory, [a, _b]) = fleet(["a", "b"]);
    let is_first = AtomicBool::new(true);
    let load = move || Shy(AtomicBool::new(is_first.swap(false, SeqCst)));
    let balancer: Balancer<Fake, u32, Shy> =
        over(&directory).load(load).policy(First::default()).spawn().unwrap();
    assert_eq!(balancer.send(1).await.unwrap().by, "b");
    assert_eq!(a.calls(), 0);
}
