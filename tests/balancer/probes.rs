//! Claims on the active probes of a `Balancer`: they follow the membership, each has its own deadline, and their verdicts hold
//! with no request flowing.

use std::collections::HashMap;
use std::future::{Future, pending, ready};
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use poise::core::{Backend, Exclusion};
use poise::discovery::Discovered;
use poise::health::{ActiveHealthConfig, ProbeOutcome, ProbeState, UnknownPolicy};
use poise::observe::Recorder;
use poise::tokio::TokioProbe;
use poise::tower::MemberReport;
use tokio::time::sleep;

use crate::support::pool_endpoints::{Cast, Manner, Pool};
use crate::support::told_health::ToldHealth;

const SECOND: Duration = Duration::from_secs(1);

type Seen = Discovered<&'static str, Backend<&'static str>>;
type Probing = Pin<Box<dyn Future<Output = ProbeOutcome> + Send>>;

/// What a probe of a member finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    Well,
    Unwell,
    Hangs,
    Panics,
    PanicsWhenMade,
}

/// What probes find, how many there were of each member, and how many are under way.
#[derive(Clone, Default)]
struct Prober(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    findings: HashMap<&'static str, Finding>,
    sent: HashMap<&'static str, u64>,
    under_way: Arc<AtomicUsize>,
}

/// Counts a probe for as long as its future lives.
struct UnderWay(Arc<AtomicUsize>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Prober {
    fn tell(&self, name: &'static str, finding: Finding) {
        self.0.lock().unwrap().findings.insert(name, finding);
    }

    fn sent(&self, name: &str) -> u64 {
        self.0.lock().unwrap().sent.get(name).copied().unwrap_or(0)
    }

    fn under_way(&self) -> usize {
        self.0.lock().unwrap().under_way.load(Ordering::Relaxed)
    }

    fn probe(&self) -> impl FnMut(&Seen) -> Probing + Send + 'static {
        let state = Arc::clone(&self.0);
        move |member| {
            let name = *member.backend().id();
            let mut state = state.lock().unwrap();
            *state.sent.entry(name).or_default() += 1;
            let finding = state.findings.get(name).copied().unwrap_or(Finding::Well);
            state.under_way.fetch_add(1, Ordering::Relaxed);
            let guard = UnderWay(Arc::clone(&state.under_way));
            drop(state);
            assert_ne!(finding, Finding::PanicsWhenMade, "told to panic");
            Box::pin(async move {
                let _guard = guard;
                match finding {
                    Finding::Well => ProbeOutcome::Healthy,
                    Finding::Unwell => ProbeOutcome::Unhealthy,
                    Finding::Hangs => pending().await,
                    Finding::Panics | Finding::PanicsWhenMade => panic!("told to panic"),
                }
            })
        }
    }
}

fn at_once() -> Manner {
    Manner::Answers(Duration::ZERO)
}

fn member(pool: &Pool, name: &str) -> MemberReport {
    pool.report().member(name).unwrap().clone()
}

fn is_out(pool: &Pool, name: &str) -> bool {
    member(pool, name).exclusions.contains(Exclusion::Probe)
}

#[tokio::test(start_paused = true)]
async fn three_failures_in_a_row_exclude_and_two_successes_bring_back() {
    let (cast, prober) = (Cast::new(&["a", "b", "c"], at_once()), Prober::default());
    let (told, recorder) = (ToldHealth::default(), Recorder::new());
    let pool =
        cast.builder().probe(prober.probe()).hook(told.clone()).observe(recorder.clone()).spawn().unwrap();
    sleep(SECOND).await;
    assert_eq!(member(&pool, "a").probe, Some(ProbeState::Healthy), "a first success at once");
    assert_eq!(recorder.snapshot().found_healthy(), 3);

    prober.tell("a", Finding::Unwell);
    sleep(29 * SECOND).await;
    assert!(!is_out(&pool, "a"), "twice");
    sleep(2 * SECOND).await;
    assert!(is_out(&pool, "a"), "three times");
    assert!(member(&pool, "a").to_string().contains("excluded: probe"));
    assert_eq!(told.all().last().unwrap(), "found a unhealthy in epoch 2");
    for request in 0..20 {
        assert_ne!(pool.send(request).await.unwrap().by, "a");
    }

    prober.tell("a", Finding::Well);
    sleep(11 * SECOND).await;
    assert!(is_out(&pool, "a"), "once");
    sleep(10 * SECOND).await;
    assert!(!is_out(&pool, "a"), "twice");
    assert_eq!(told.all().last().unwrap(), "found a healthy in epoch 3");
    assert_eq!((recorder.snapshot().found_healthy(), recorder.snapshot().found_unhealthy()), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_hangs_delays_no_other_verdict() {
    let (cast, prober) = (Cast::new(&["a", "b", "c"], at_once()), Prober::default());
    prober.tell("a", Finding::Hangs);
    let config = ActiveHealthConfig::default()
        .with_interval(2 * SECOND)
        .unwrap()
        .with_timeout(SECOND)
        .unwrap()
        .with_fast_start();
    let pool = cast.builder().probe(prober.probe()).probe_config(config).spawn().unwrap();
    sleep(SECOND + Duration::from_millis(1)).await;
    assert_eq!(member(&pool, "b").probe, Some(ProbeState::Healthy));
    assert_eq!(member(&pool, "c").probe, Some(ProbeState::Healthy));
    prober.tell("b", Finding::Unwell);
    sleep(6 * SECOND).await;
    assert!(is_out(&pool, "b") && is_out(&pool, "a") && !is_out(&pool, "c"));
    assert!(prober.under_way() <= 1, "what took too long was dropped");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_hangs_takes_the_place_of_another_only_until_its_deadline() {
    let (cast, prober) = (Cast::new(&["a", "b", "c"], at_once()), Prober::default());
    for name in ["a", "b", "c"] {
        prober.tell(name, Finding::Hangs);
    }
    let pool = cast.builder().probe(prober.probe()).probing_at_once(NonZeroUsize::MIN).spawn().unwrap();
    sleep(SECOND).await;
    for second in 0..20 {
        assert!(prober.under_way() <= 1, "in second {second}");
        sleep(SECOND).await;
    }
    let sent: Vec<u64> = ["a", "b", "c"].map(|name| prober.sent(name)).into();
    assert_eq!(sent.iter().sum::<u64>(), 5, "every five seconds one");
    assert!(sent.iter().all(|sent| *sent >= 1), "{sent:?}");
    drop(pool);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_panics_is_told_and_says_nothing_of_its_member() {
    let (cast, prober, told) = (Cast::new(&["a", "b"], at_once()), Prober::default(), ToldHealth::default());
    prober.tell("a", Finding::Panics);
    prober.tell("b", Finding::PanicsWhenMade);
    let pool = cast.builder().probe(prober.probe()).hook(told.clone()).spawn().unwrap();
    sleep(60 * SECOND).await;
    assert_eq!(pool.report().eligible(), 2);
    assert_eq!(member(&pool, "a").probe, Some(ProbeState::Unknown));
    assert_eq!(told.all(), vec!["contained probe"; 12]);
    assert_eq!(prober.under_way(), 0);
    prober.tell("a", Finding::Well);
    sleep(10 * SECOND).await;
    assert_eq!(member(&pool, "a").probe, Some(ProbeState::Healthy));
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_woken_by_a_verdict() {
    let (cast, prober) = (Cast::new(&["a"], at_once()), Prober::default());
    prober.tell("a", Finding::Unwell);
    let config = ActiveHealthConfig::default().with_unknown_policy(UnknownPolicy::Deny).with_fast_start();
    let pool =
        cast.builder().probe(prober.probe()).probe_config(config).fail_fast(Duration::MAX).spawn().unwrap();
    let waiting = tokio::spawn(pool.send(0));
    sleep(5 * SECOND).await;
    assert!(!waiting.is_finished(), "nothing is known of it");
    prober.tell("a", Finding::Well);
    sleep(6 * SECOND).await;
    assert!(waiting.is_finished());
    assert_eq!(waiting.await.unwrap().unwrap().by, "a");
}

#[tokio::test(start_paused = true)]
async fn probes_follow_the_membership() {
    let (mut cast, prober) = (Cast::new(&["a", "b"], at_once()), Prober::default());
    prober.tell("a", Finding::Hangs);
    let pool = cast.builder().probe(prober.probe()).spawn().unwrap();
    sleep(2 * SECOND).await;
    assert_eq!(prober.under_way(), 1);
    cast.directory.remove(&"a").unwrap();
    cast.directory.finish_drain(&"a").unwrap();
    sleep(Duration::from_millis(1)).await;
    assert_eq!(prober.under_way(), 0, "the probe of who has left is dropped");
    let sent = prober.sent("a");

    cast.add("c", at_once());
    sleep(2 * SECOND).await;
    assert_eq!((prober.sent("c"), member(&pool, "c").probe), (1, Some(ProbeState::Healthy)));
    sleep(30 * SECOND).await;
    assert_eq!(prober.sent("a"), sent);

    prober.tell("b", Finding::Unwell);
    sleep(30 * SECOND).await;
    assert!(is_out(&pool, "b"));
    cast.directory.amend(&"b", poise::core::Attributes::default().with_priority(1)).unwrap();
    sleep(Duration::from_millis(1)).await;
    assert!(is_out(&pool, "b"), "new attributes change nothing");
    cast.replace("b");
    sleep(Duration::from_millis(1)).await;
    assert_eq!(member(&pool, "b").probe, Some(ProbeState::Unknown), "a new allocation starts anew");
}

#[tokio::test(start_paused = true)]
async fn a_success_ends_no_ejection_and_no_circuit_early() {
    let (cast, prober) = (Cast::new(&["a", "b"], at_once()), Prober::default());
    let circuit = poise::health::CircuitConfig::new(1, 60 * SECOND).unwrap();
    // In turn, so that the one that fails is asked.
    let in_turn = poise::core::policy::RoundRobin::starting_at(0);
    let pool = cast.builder().policy(in_turn).probe(prober.probe()).circuit(circuit).spawn().unwrap();
    sleep(SECOND).await;
    cast.tell("a", Manner::Fails(Duration::ZERO));
    while pool.send(0).await.is_ok() {}
    prober.tell("a", Finding::Unwell);
    sleep(31 * SECOND).await;
    let a = member(&pool, "a");
    assert!(a.exclusions.contains(Exclusion::Circuit), "all reasons are kept: {a}");
    assert_eq!(a.exclusions.deciding(), Some(Exclusion::Probe));
    prober.tell("a", Finding::Well);
    sleep(20 * SECOND).await;
    assert_eq!(member(&pool, "a").exclusions, Exclusion::Circuit.into());
}

#[tokio::test(start_paused = true)]
async fn a_type_that_probes_is_a_probe_too() {
    struct Answers(bool);

    impl TokioProbe for Answers {
        fn probe(&self) -> impl Future<Output = ProbeOutcome> + Send {
            ready(if self.0 { ProbeOutcome::Healthy } else { ProbeOutcome::Unhealthy })
        }
    }

    let cast = Cast::new(&["a", "b", "c"], at_once());
    let pool = cast.builder().probe_with(|member| Answers(*member.key() != "b")).spawn().unwrap();
    sleep(25 * SECOND).await;
    assert!(is_out(&pool, "b") && !is_out(&pool, "a") && !is_out(&pool, "c"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_left_of_probes_when_the_balancer_ends() {
    let (cast, prober) = (Cast::new(&["a", "b"], at_once()), Prober::default());
    prober.tell("a", Finding::Hangs);
    let pool = cast.builder().probe(prober.probe()).spawn().unwrap();
    sleep(2 * SECOND).await;
    assert_eq!(prober.under_way(), 1);
    drop(pool);
    sleep(Duration::from_millis(1)).await;
    assert_eq!(prober.under_way(), 0);
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_virtual_hour_of_probes_sweeps_and_drains_over_twenty_members_is_exact() {
    const NAMES: [&str; 20] = [
        "m00", "m01", "m02", "m03", "m04", "m05", "m06", "m07", "m08", "m09", "m10", "m11", "m12", "m13",
        "m14", "m15", "m16", "m17", "m18", "m19",
    ];
    let (mut cast, prober) = (Cast::new(&NAMES, at_once()), Prober::default());
    let recorder = Recorder::new();
    let drained = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&drained);
    let pool = cast
        .builder()
        .policy(poise::core::policy::RoundRobin::starting_at(0))
        .probe(prober.probe())
        .on_drained(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        })
        .observe(recorder.clone())
        .spawn()
        .unwrap();
    for minute in 0..60 {
        let name = NAMES[minute % 20];
        // One is unwell for half of each minute, and another one drains for a second.
        prober.tell(name, Finding::Unwell);
        let drains = NAMES[(minute + 10) % 20];
        cast.directory
            .amend(&drains, poise::core::Attributes::default().with_status(poise::core::Status::Draining))
            .unwrap();
        sleep(SECOND).await;
        cast.directory.amend(&drains, poise::core::Attributes::default()).unwrap();
        for request in 0..20 {
            pool.send(request).await.unwrap();
        }
        sleep(30 * SECOND).await;
        assert!(is_out(&pool, name), "in minute {minute}");
        prober.tell(name, Finding::Well);
        sleep(29 * SECOND).await;
        assert_eq!(pool.report().eligible(), 20, "in minute {minute}");
    }
    for name in NAMES {
        assert_eq!(prober.sent(name), 360, "{name}: every ten seconds");
    }
    let counts = recorder.snapshot();
    // Of the first it was never found out that it was well before.
    assert_eq!((counts.found_unhealthy(), counts.found_healthy()), (60, 19 + 60));
    assert_eq!(drained.load(Ordering::Relaxed), 60);
    assert_eq!(counts.total_attempts(), 60 * 20);
    assert_eq!(counts.memberships(), 1 + 2 * 60);
    assert_eq!((counts.trips(), counts.panics()), (0, 0));
}
