//! Observers of a balancer hear what happens, once each, and change nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use crate::support::exported::Exported;
use crate::support::scripted::{Mode, Script, Scripted};
use ::tokio::task::yield_now;
use ::tokio::time::advance;
use poise::core::policy::{PowerOfTwoChoices, RoundRobin};
use poise::core::{Attributes, Exclusion, InFlight, Outcome, PeakEwma, Phase, Status};
use poise::discovery::Directory;
use poise::health::CircuitConfig;
use poise::observe::{
    AttemptEvent, CircuitEvent, ClosedEvent, FailFastEvent, Fanout, MembershipEvent, Observer, PanicEvent,
    PickEvent, PickVerdict, ReadinessEvent, Recorder, RetryEvent, names,
};
use poise::tower::{Balancer, BalancerErrorKind, Builder, Event, Hook, NoContext, Retry, RetryBudget};

type Members = Directory<u32, ()>;
type Build = Builder<u32, (), Scripted, (), PeakEwma, PowerOfTwoChoices, NoContext>;

fn members(keys: std::ops::Range<u32>) -> Members {
    let mut members = Members::new();
    for key in keys {
        members.upsert_with(key, (), Attributes::default()).unwrap();
    }
    members
}

fn balancer(members: &Members, script: &Script) -> Build {
    let script = script.clone();
    Balancer::builder().discover(members.reader(), move |key, ()| script.service(*key))
}

/// Lets the driver do what it has to.
async fn settle() {
    for _ in 0..10 {
        yield_now().await;
    }
}

const SECOND: Duration = Duration::from_secs(1);

#[::tokio::test(start_paused = true)]
async fn attempts_retries_trips_and_recoveries_equal_what_happened() {
    let (members, script, recorder) = (members(0..2), Script::new(&[(0, Mode::Fails)]), Recorder::new());
    let balancer = balancer(&members, &script)
        .policy(RoundRobin::starting_at(0))
        .circuit(CircuitConfig::new(3, SECOND * 10).unwrap())
        .retry(Retry::attempts(2).unwrap())
        .observe(recorder.clone())
        .spawn()
        .unwrap();
    for _ in 0..20 {
        assert_eq!(balancer.send(()).await.unwrap(), 1);
    }
    let counts = recorder.snapshot();
    assert_eq!(script.calls(0), 3, "the circuit opens after three failures");
    assert_eq!(counts.attempts(Phase::Call, Outcome::Failure), 3);
    assert_eq!(counts.attempts(Phase::Call, Outcome::Success), script.calls(1));
    assert_eq!(script.calls(1), 20);
    assert_eq!(counts.total_attempts(), 23);
    assert_eq!(counts.picks(PickVerdict::Selected), 23);
    assert_eq!(counts.retries(), 3);
    assert_eq!((counts.trips(), counts.recoveries()), (1, 0));
    assert_eq!((counts.memberships(), counts.retries_denied(), counts.panics()), (1, 0, 0));

    script.set(0, Mode::Answers);
    advance(SECOND * 11).await;
    settle().await;
    for _ in 0..10 {
        balancer.send(()).await.unwrap();
    }
    let counts = recorder.snapshot();
    assert!(script.calls(0) > 3, "it was asked again");
    assert_eq!((counts.trips(), counts.recoveries()), (1, 1));
    assert_eq!(counts.attempts(Phase::Call, Outcome::Success), script.calls(0) - 3 + script.calls(1));
}

#[::tokio::test(start_paused = true)]
async fn a_refused_pick_counts_every_reason_and_failing_fast_counts_both_ways() {
    let mut members = Members::new();
    for (key, status) in [(0, Status::Draining), (1, Status::Draining), (2, Status::Unavailable)] {
        members.upsert_with(key, (), Attributes::default().with_status(status)).unwrap();
    }
    let recorder = Recorder::new();
    let balancer = balancer(&members, &Script::default())
        .fail_fast(SECOND * 2)
        .observe(recorder.clone())
        .spawn()
        .unwrap();
    let error = balancer.send(()).await.unwrap_err();
    assert!(matches!(error.kind(), BalancerErrorKind::NoEligible(_)), "{error}");
    let counts = recorder.snapshot();
    assert_eq!(counts.picks(PickVerdict::NoEligible), 1, "a request that waits was refused once");
    for reason in Exclusion::ALL {
        let expected = match reason {
            Exclusion::Draining => 2,
            Exclusion::Unavailable => 1,
            _ => 0,
        };
        assert_eq!(counts.exclusions(reason), expected, "{reason}");
    }
    assert_eq!((counts.fail_fast_started(), counts.fail_fast_ended()), (1, 0));
    assert_eq!(counts.total_attempts(), 0);

    members.upsert_with(3, (), Attributes::default()).unwrap();
    settle().await;
    assert_eq!(balancer.send(()).await.unwrap(), 3);
    let counts = recorder.snapshot();
    assert_eq!((counts.fail_fast_started(), counts.fail_fast_ended()), (1, 1));
    assert_eq!(counts.memberships(), 2);
}

#[::tokio::test(start_paused = true)]
async fn what_is_unknown_is_not_what_is_empty() {
    let (unknown, recorder) = (Members::new(), Recorder::new());
    let balancer = balancer(&unknown, &Script::default()).observe(recorder.clone()).spawn().unwrap();
    balancer.send(()).await.unwrap_err();
    let counts = recorder.snapshot();
    assert_eq!((counts.picks(PickVerdict::Undiscovered), counts.picks(PickVerdict::Empty)), (1, 0));

    let mut emptied = members(0..1);
    emptied.remove(&0).unwrap();
    emptied.finish_drain(&0).unwrap();
    let balancer = self::balancer(&emptied, &Script::default()).observe(recorder.clone()).spawn().unwrap();
    balancer.send(()).await.unwrap_err();
    let counts = recorder.snapshot();
    assert_eq!((counts.picks(PickVerdict::Undiscovered), counts.picks(PickVerdict::Empty)), (1, 1));
}

#[::tokio::test(start_paused = true)]
async fn members_at_their_limit_count_as_capacity_and_a_dropped_request_as_cancelled() {
    let (members, script, recorder) = (members(0..1), Script::new(&[(0, Mode::Hangs)]), Recorder::new());
    let balancer = balancer(&members, &script)
        .load(|| InFlight::with_limit(1).unwrap())
        .observe(recorder.clone())
        .spawn()
        .unwrap();
    let mut hanging = Box::pin(balancer.send(()));
    assert!(hanging.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let error = balancer.send(()).await.unwrap_err();
    assert!(matches!(error.kind(), BalancerErrorKind::AtCapacity(_)), "{error}");
    let counts = recorder.snapshot();
    assert_eq!(counts.picks(PickVerdict::AtCapacity), 1);
    assert_eq!(counts.exclusions(Exclusion::Capacity), 1);
    assert_eq!(counts.total_attempts(), 0, "nothing has ended");
    drop(hanging);
    let counts = recorder.snapshot();
    assert_eq!(counts.attempts(Phase::Call, Outcome::Cancelled), 1);
    assert_eq!(counts.total_attempts(), 1);
}

#[::tokio::test(start_paused = true)]
async fn a_failure_of_readiness_is_told_as_such() {
    let (members, script, recorder) = (members(0..2), Script::new(&[(0, Mode::Unready)]), Recorder::new());
    let balancer = balancer(&members, &script)
        .policy(RoundRobin::starting_at(0))
        .without_circuit()
        .observe(recorder.clone())
        .spawn()
        .unwrap();
    assert_eq!(balancer.send(()).await.unwrap(), 1);
    let counts = recorder.snapshot();
    assert_eq!(counts.attempts(Phase::Readiness, Outcome::Failure), 1);
    assert_eq!(counts.readiness_failures(), 1);
    assert_eq!(counts.attempts(Phase::Call, Outcome::Success), 1);
    assert_eq!(counts.retries(), 0, "finding somebody who is ready is no retry");
}

#[::tokio::test(start_paused = true)]
async fn a_spent_budget_and_a_panic_of_the_classifier_are_counted() {
    let (members, recorder) = (members(0..2), Recorder::new());
    let script = Script::new(&[(0, Mode::Fails), (1, Mode::Fails)]);
    let empty = RetryBudget::new().with_ratio(0.0).unwrap().with_floor(0);
    let retrying = balancer(&members, &script)
        .without_circuit()
        .retry(Retry::attempts(3).unwrap().with_budget(empty))
        .observe(recorder.clone())
        .spawn()
        .unwrap();
    retrying.send(()).await.unwrap_err();
    assert_eq!((recorder.snapshot().retries(), recorder.snapshot().retries_denied()), (0, 1));

    let classifying = balancer(&members, &script)
        .classify(|_| panic!("the classifier panics"))
        .observe(recorder.clone())
        .spawn()
        .unwrap();
    classifying.send(()).await.unwrap_err();
    assert_eq!(recorder.snapshot().panics(), 1);
    assert_eq!(recorder.snapshot().attempts(Phase::Call, Outcome::Cancelled), 1);
}

/// Panics whatever it hears, and counts how often.
#[derive(Default)]
struct Panics(AtomicU64);

impl Panics {
    fn panic(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("an observer panics");
    }
}

impl Observer for Panics {
    fn pick(&self, _: &PickEvent<'_>) {
        self.panic();
    }

    fn attempt(&self, _: &AttemptEvent<'_>) {
        self.panic();
    }

    fn readiness_failed(&self, _: &ReadinessEvent<'_>) {
        self.panic();
    }

    fn retry(&self, _: &RetryEvent) {
        self.panic();
    }

    fn circuit(&self, _: &CircuitEvent<'_>) {
        self.panic();
    }

    fn membership(&self, _: &MembershipEvent) {
        self.panic();
    }

    fn fail_fast(&self, _: &FailFastEvent) {
        self.panic();
    }

    fn panicked(&self, _: &PanicEvent) {
        self.panic();
    }

    fn closed(&self, _: &ClosedEvent) {
        self.panic();
    }
}

/// Sends the same requests through a balancer with these observers, and returns what one recorder among them counted.
async fn run(observe: impl FnOnce(Build, Recorder) -> Build) -> (Recorder, Vec<Result<u32, String>>) {
    let (members, script, recorder) =
        (members(0..3), Script::new(&[(0, Mode::Fails), (1, Mode::Unready)]), Recorder::new());
    let build = observe(balancer(&members, &script), recorder.clone());
    let balancer = build
        .policy(RoundRobin::starting_at(0))
        .circuit(CircuitConfig::new(2, SECOND).unwrap())
        .retry(Retry::attempts(2).unwrap())
        .spawn()
        .unwrap();
    let mut answers = Vec::new();
    for _ in 0..30 {
        answers.push(balancer.send(()).await.map_err(|error| error.to_string()));
        advance(SECOND / 4).await;
        settle().await;
    }
    let report = balancer.report();
    assert!(report.members.iter().all(|member| member.in_flight == 0), "no guard is lost:\n{report}");
    (recorder, answers)
}

#[::tokio::test(start_paused = true)]
async fn an_observer_that_panics_changes_nothing_and_is_told_nothing_twice() {
    let panics = Arc::new(Panics::default());
    let (calm, expected) = run(Builder::observe).await;
    let (beside, answers) = run(|build, recorder| {
        build.observe(Arc::clone(&panics)).observe(recorder).observe(Arc::clone(&panics))
    })
    .await;
    assert_eq!(answers, expected);
    let (calm, beside) = (calm.snapshot(), beside.snapshot());
    assert_eq!(beside, calm, "\n{beside}\nis not\n{calm}");
    let told = calm.total_attempts()
        + calm.picks(PickVerdict::Selected)
        + calm.readiness_failures()
        + calm.retries()
        + calm.retries_denied()
        + calm.trips()
        + calm.trips_withheld()
        + calm.recoveries()
        + calm.memberships();
    let refused = PickVerdict::ALL.into_iter().filter(|verdict| !verdict.is_selected());
    let told = told + refused.map(|verdict| calm.picks(verdict)).sum::<u64>();
    let closed = 1;
    assert_eq!(panics.0.load(Ordering::Relaxed), 2 * (told + closed), "both heard each event once");
    assert!(calm.trips() > 0 && calm.retries() > 0 && calm.readiness_failures() > 0, "{calm}");
}

/// Counts what it is told of requests and of memberships, and listens or not.
#[derive(Default)]
struct Listener {
    listens: AtomicBool,
    panics: bool,
    requests: AtomicU64,
    memberships: AtomicU64,
}

impl Observer for Listener {
    fn is_listening(&self) -> bool {
        assert!(!self.panics, "does not know");
        self.listens.load(Ordering::Relaxed)
    }

    fn pick(&self, _: &PickEvent<'_>) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    fn attempt(&self, _: &AttemptEvent<'_>) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    fn membership(&self, _: &MembershipEvent) {
        self.memberships.fetch_add(1, Ordering::Relaxed);
    }
}

#[::tokio::test(start_paused = true)]
async fn who_does_not_listen_is_told_of_no_request_and_of_everything_else() {
    let (members, script) = (members(0..2), Script::new(&[]));
    let listener = Arc::new(Listener::default());
    let balancer = balancer(&members, &script).observe(Arc::clone(&listener)).spawn().unwrap();
    let told = || [&listener.requests, &listener.memberships].map(|count| count.load(Ordering::Relaxed));
    balancer.send(()).await.unwrap();
    assert_eq!(told(), [0, 1]);
    listener.listens.store(true, Ordering::Relaxed);
    balancer.send(()).await.unwrap();
    assert_eq!(told(), [2, 1], "a pick and an attempt, from then on");
}

#[::tokio::test(start_paused = true)]
async fn an_observer_that_panics_over_whether_it_listens_takes_nothing_from_others_and_nothing_from_requests()
{
    let (members, script) = (members(0..2), Script::new(&[]));
    let (alone, beside) = [(); 2].map(|()| Arc::new(Listener { panics: true, ..Listener::default() })).into();
    let first = balancer(&members, &script).observe(Arc::clone(&alone)).spawn().unwrap();
    first.send(()).await.unwrap();
    assert_eq!(alone.requests.load(Ordering::Relaxed), 2, "who cannot say is told");

    let recorder = Recorder::new();
    let fanout = Fanout::new().with(Arc::clone(&beside)).with(recorder.clone());
    let second = balancer(&members, &script).observe(Arc::clone(&beside)).observe(fanout).spawn().unwrap();
    second.send(()).await.unwrap();
    assert_eq!(recorder.snapshot().attempts(Phase::Call, Outcome::Success), 1);
    let reports = [first.report(), second.report()];
    assert!(reports.iter().flat_map(|report| &report.members).all(|member| member.in_flight == 0));
}

#[derive(Clone, Default)]
struct Ended(Arc<AtomicU64>);

impl Hook for Ended {
    fn on(&self, event: &Event<'_>) {
        if matches!(event, Event::Ended { .. }) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[::tokio::test(start_paused = true)]
async fn hooks_and_observers_add_up_in_any_order() {
    let (one, other) = (Ended::default(), Ended::default());
    let [first, second] = [Recorder::new(), Recorder::new()];
    let balancer = balancer(&members(0..1), &Script::default())
        .observe(first.clone())
        .hook(one.clone())
        .hook(other.clone())
        .observe(second.clone())
        .spawn()
        .unwrap();
    balancer.send(()).await.unwrap();
    let heard = [one, other].map(|hook| hook.0.load(Ordering::Relaxed));
    assert_eq!(heard, [1, 1]);
    assert_eq!(first.snapshot().total_attempts(), 1);
    assert_eq!(second.snapshot(), first.snapshot());
}

const BUILT: &[(&str, &str)] = &[("state", "built")];
const UNBUILT: &[(&str, &str)] = &[("state", "unbuilt")];

#[::tokio::test(start_paused = true)]
async fn gauges_show_the_sum_of_the_balancers_that_live() {
    let (exported, observer) = Exported::new();
    let (mut three, two) = (members(0..3), members(0..2));
    let script = Script::default();
    let one = balancer(&three, &script).observe(observer.clone()).spawn().unwrap();
    let other = Balancer::builder()
        .try_discover(two.reader(), {
            let script = script.clone();
            move |key, ()| if *key == 1 { Err("it cannot be built") } else { Ok(script.service(*key)) }
        })
        .observe(observer)
        .spawn()
        .unwrap();
    assert_eq!((exported.value(names::MEMBERS, BUILT), exported.value(names::MEMBERS, UNBUILT)), (4, 1));

    three.upsert_with(9, (), Attributes::default()).unwrap();
    settle().await;
    assert_eq!(exported.value(names::MEMBERS, BUILT), 5, "an update counts by what it changes");

    let clone = other.clone();
    drop(other);
    settle().await;
    assert_eq!(exported.value(names::MEMBERS, BUILT), 5, "a clone keeps it alive");
    drop(clone);
    settle().await;
    assert_eq!((exported.value(names::MEMBERS, BUILT), exported.value(names::MEMBERS, UNBUILT)), (4, 0));
    drop(one);
    settle().await;
    assert_eq!(exported.value(names::MEMBERS, BUILT), 0);
}

#[::tokio::test(start_paused = true)]
async fn a_balancer_that_was_dropped_fails_fast_no_more() {
    let (exported, observer) = Exported::new();
    let nobody = Members::new();
    let doomed = balancer(&nobody, &Script::default()).fail_fast(SECOND).observe(observer).spawn().unwrap();
    doomed.send(()).await.unwrap_err();
    assert_eq!(exported.value(names::FAILING_FAST, &[]), 1);
    drop(doomed);
    settle().await;
    assert_eq!(exported.value(names::FAILING_FAST, &[]), 0);
    assert_eq!(exported.value(names::FAIL_FAST_TRANSITIONS, &[("to", "on")]), 1);
    assert_eq!(exported.value(names::FAIL_FAST_TRANSITIONS, &[("to", "off")]), 0);
}

#[::tokio::test(start_paused = true)]
async fn the_exporter_sees_what_the_recorder_counts() {
    let (exported, observer) = Exported::new();
    let (recorder, _) = run(|build, recorder| build.observe(recorder).observe(observer)).await;
    let counts = recorder.snapshot();
    for phase in Phase::ALL {
        for outcome in [Outcome::Success, Outcome::Failure, Outcome::OVERLOAD, Outcome::Cancelled] {
            let labels = [("phase", &*phase.to_string()), ("outcome", &*outcome.to_string())];
            let expected = counts.attempts(phase, outcome);
            assert_eq!(exported.value(names::ATTEMPTS, &labels), expected, "{phase}, {outcome}");
        }
    }
    for verdict in PickVerdict::ALL {
        let labels = [("result", &*verdict.to_string())];
        assert_eq!(exported.value(names::PICKS, &labels), counts.picks(verdict), "{verdict}");
    }
    let failures =
        counts.attempts(Phase::Call, Outcome::Failure) + counts.attempts(Phase::Readiness, Outcome::Failure);
    for (name, labels, expected) in [
        (names::ATTEMPT_DURATION, &[("outcome", "failure")][..], failures),
        (names::RETRIES, &[("result", "granted")], counts.retries()),
        (names::RETRIES, &[("result", "denied")], counts.retries_denied()),
        (names::CIRCUIT_TRANSITIONS, &[("to", "open")], counts.trips()),
        (names::CIRCUIT_TRANSITIONS, &[("to", "closed")], counts.recoveries()),
        (names::READINESS_FAILURES, &[], counts.readiness_failures()),
        (names::MEMBERSHIPS, &[], counts.memberships()),
        (names::PANICS, &[], counts.panics()),
    ] {
        assert_eq!(exported.value(name, labels), expected, "{name} {labels:?}");
    }
}

#[::tokio::test(start_paused = true)]
async fn ten_thousand_members_that_come_and_go_add_no_series() {
    let (exported, observer) = Exported::new();
    let (mut members, script) = (members(0..2), Script::default());
    let balancer = balancer(&members, &script)
        .circuit(CircuitConfig::new(1, SECOND).unwrap())
        .observe(observer)
        .spawn()
        .unwrap();
    let before = exported.collect().len();
    assert_eq!(before, 68, "as documented");
    for key in 2..10_002 {
        script.set(key, if key % 3 == 0 { Mode::Fails } else { Mode::Answers });
        members.upsert_with(key, (), Attributes::default()).unwrap();
        members.remove(&(key - 2)).unwrap();
        members.finish_drain(&(key - 2)).unwrap();
        settle().await;
        for _ in 0..3 {
            drop(balancer.send(()).await);
        }
    }
    assert_eq!(exported.collect().len(), before);
    assert_eq!(exported.value(names::MEMBERS, BUILT), 2);
    let attempts = exported.value(names::ATTEMPTS, &[("phase", "call"), ("outcome", "success")])
        + exported.value(names::ATTEMPTS, &[("phase", "call"), ("outcome", "failure")]);
    assert_eq!(attempts, 30_000);
}
