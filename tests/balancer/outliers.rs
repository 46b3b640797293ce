//! Claims on outliers of a `Balancer`: who fares worse than the others is left out for a time, by the word of its driver, and
//! within the same budget as the circuits.

use std::time::Duration;

use poise::core::{Exclusion, Outcome};
use poise::health::{CircuitConfig, EjectionState, OutlierCause};
use poise::observe::{OutlierChange, OutlierReason, Recorder};
use poise::tower::Balancer;

use crate::support::pool_endpoints::{Cast, Manner, Pool};
use crate::support::pool_traffic::Traffic;
use crate::support::told_health::ToldHealth;

const TWENTY: [&str; 20] = [
    "m00", "m01", "m02", "m03", "m04", "m05", "m06", "m07", "m08", "m09", "m10", "m11", "m12", "m13", "m14",
    "m15", "m16", "m17", "m18", "m19",
];

fn at_once() -> Manner {
    Manner::Answers(Duration::ZERO)
}

fn fails_one_in(requests: u64) -> Manner {
    Manner::FailsOneIn(requests)
}

async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// Sends a thousand requests a second.
async fn traffic(pool: &Pool, seconds: u64) {
    Traffic::new(seconds * 1_000, Duration::from_millis(1)).send(pool).await;
}

fn out(pool: &Pool) -> Vec<String> {
    let report = pool.report();
    let out = report.members.iter().filter(|member| member.exclusions.contains(Exclusion::Outlier));
    out.map(|member| member.endpoint.to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn one_of_twenty_that_fails_half_of_its_requests_is_ejected_within_two_sweeps() {
    let cast = Cast::new(&TWENTY, at_once());
    cast.tell("m07", fails_one_in(2));
    let (told, recorder) = (ToldHealth::default(), Recorder::new());
    let pool = cast.builder().hook(told.clone()).observe(recorder.clone()).spawn().unwrap();

    traffic(&pool, 21).await;
    assert_eq!(out(&pool), ["m07"]);
    let member = pool.report().member("m07").unwrap().clone();
    assert_eq!((member.ejections, member.exclusions.deciding()), (1, Some(Exclusion::Outlier)));
    let Some(EjectionState::Ejected { cause: OutlierCause::SuccessRate, .. }) = member.ejection else {
        panic!("{:?}", member.ejection)
    };
    assert!(member.since >= Duration::from_millis(900) && member.since <= Duration::from_secs(11));
    assert!(member.to_string().contains("excluded: outlier"), "{member}");
    let calls = cast.calls("m07");
    traffic(&pool, 5).await;
    assert_eq!(cast.calls("m07"), calls, "it takes nothing meanwhile");
    assert_eq!(told.all(), ["ejected m07 by success rate in epoch 1"]);
    assert_eq!(recorder.snapshot().outliers(OutlierChange::Ejected, OutlierReason::SuccessRate), 1);
}

#[tokio::test(start_paused = true)]
async fn overloads_are_failures_to_those_who_compare() {
    let cast = Cast::new(&TWENTY, at_once());
    cast.tell("m07", fails_one_in(2));
    let told = ToldHealth::default();
    let pool = cast
        .builder()
        .without_circuit()
        .classify(|result| if result.is_ok() { Outcome::Success } else { Outcome::OVERLOAD })
        .hook(told.clone())
        .spawn()
        .unwrap();
    traffic(&pool, 21).await;
    assert_eq!(out(&pool), ["m07"]);
    assert_eq!(told.all(), ["ejected m07 by success rate in epoch 1"]);
}

#[tokio::test(start_paused = true)]
async fn who_was_ejected_returns_with_a_clean_record_and_is_out_for_longer_when_it_fails_again() {
    let cast = Cast::new(&TWENTY, at_once());
    cast.tell("m07", fails_one_in(2));
    let told = ToldHealth::default();
    let pool = cast.builder().hook(told.clone()).spawn().unwrap();
    traffic(&pool, 21).await;
    assert_eq!(out(&pool), ["m07"]);

    // Thirty seconds from the first sweep on, which no request has to notice.
    seconds(20).await;
    assert!(out(&pool).is_empty());
    assert_eq!(told.all()[1], "returned m07 by success rate in epoch 2");
    cast.tell("m07", at_once());
    let calls = cast.calls("m07");
    traffic(&pool, 3).await;
    assert!(cast.calls("m07") > calls, "what it failed before does not keep requests away");

    cast.tell("m07", fails_one_in(2));
    traffic(&pool, 21).await;
    assert_eq!(told.all()[2], "ejected m07 by success rate in epoch 3");
    seconds(35).await;
    assert_eq!(out(&pool), ["m07"], "twice as long the second time");
    seconds(30).await;
    assert!(out(&pool).is_empty());
    assert_eq!(pool.report().member("m07").unwrap().ejections, 2);
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_woken_by_the_end_of_an_ejection() {
    let cast = Cast::new(&["a", "b", "c", "d", "e", "f"], at_once());
    cast.tell("a", fails_one_in(2));
    let pool = cast.builder().fail_fast(Duration::MAX).spawn().unwrap();
    traffic(&pool, 11).await;
    assert_eq!(out(&pool), ["a"]);
    for name in ["b", "c", "d", "e", "f"] {
        pool.exclude(name).unwrap();
    }
    cast.tell("a", at_once());
    let waiting = pool.clone();
    let waiting = tokio::spawn(async move { waiting.send(0).await.unwrap().by });
    seconds(15).await;
    assert!(!waiting.is_finished());
    seconds(20).await;
    assert!(waiting.is_finished(), "by the driver alone");
    assert_eq!(waiting.await.unwrap(), "a");
}

#[tokio::test(start_paused = true)]
async fn a_new_allocation_starts_anew_and_the_slot_of_the_old_one_is_free() {
    let mut cast = Cast::new(&TWENTY, at_once());
    cast.tell("m07", fails_one_in(2));
    let pool = cast.builder().spawn().unwrap();
    traffic(&pool, 11).await;
    assert_eq!(out(&pool), ["m07"]);

    cast.replace("m07");
    seconds(1).await;
    assert!(out(&pool).is_empty());
    assert_eq!(pool.report().member("m07").unwrap().ejections, 0);
    for name in ["m01", "m02", "m07"] {
        cast.tell(name, fails_one_in(2));
    }
    traffic(&pool, 21).await;
    assert_eq!(out(&pool).len(), 2, "a tenth of twenty");
}

#[tokio::test(start_paused = true)]
async fn new_attributes_change_no_ejection() {
    let mut cast = Cast::new(&TWENTY, at_once());
    cast.tell("m07", fails_one_in(2));
    let pool = cast.builder().spawn().unwrap();
    traffic(&pool, 11).await;
    cast.directory.amend(&"m07", poise::core::Attributes::default().with_priority(1)).unwrap();
    cast.directory.remove(&"m01").unwrap();
    seconds(1).await;
    assert_eq!(out(&pool), ["m07"]);
    seconds(31).await;
    assert!(out(&pool).is_empty());
}

#[tokio::test(start_paused = true)]
async fn in_a_small_group_one_that_fails_nearly_always_is_ejected_and_the_next_is_withheld() {
    let cast = Cast::new(&["a", "b", "c", "d"], at_once());
    cast.tell("a", Manner::Fails(Duration::ZERO));
    cast.tell("b", Manner::Fails(Duration::ZERO));
    let (told, recorder) = (ToldHealth::default(), Recorder::new());
    let pool = cast
        .builder()
        .policy(poise::core::policy::Random::seeded(7))
        .without_circuit()
        .hook(told.clone())
        .observe(recorder.clone())
        .spawn()
        .unwrap();
    traffic(&pool, 11).await;
    assert_eq!(out(&pool).len(), 1, "at least one, although a tenth of four is none");
    let told = told.all();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].starts_with("ejected") && told[0].ends_with("by failure percentage in epoch 1"));
    assert!(told[1].starts_with("withheld") && told[1].ends_with("by failure percentage in epoch 0"));
    let counts = recorder.snapshot();
    assert_eq!(counts.outliers(OutlierChange::Withheld, OutlierReason::FailurePercentage), 1);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_compared_without_outliers() {
    let cast = Cast::new(&TWENTY, at_once());
    cast.tell("m07", fails_one_in(2));
    let pool = cast.builder().without_outliers().spawn().unwrap();
    traffic(&pool, 21).await;
    assert!(out(&pool).is_empty());
    assert_eq!(pool.report().member("m07").unwrap().ejection, None);
}

/// One of twenty fails every other request, and is ejected in a second, by nothing but the comparison.
async fn about_to_eject() -> (Cast, ToldHealth, Pool) {
    let cast = Cast::new(&TWENTY, at_once());
    cast.tell("m07", fails_one_in(2));
    let told = ToldHealth::default();
    let policy = poise::core::policy::RoundRobin::starting_at(0);
    let pool = cast.builder().policy(policy).without_circuit().hook(told.clone()).spawn().unwrap();
    traffic(&pool, 9).await;
    (cast, told, pool)
}

fn assert_was_out_once(told: &ToldHealth) {
    assert_eq!(told.all().len(), 2, "an ejection and a return: {:?}", told.all());
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_before_an_ejection_and_fails_after_the_return_does_not_count() {
    let (cast, told, pool) = about_to_eject().await;
    // Two hundred that take until after the return, and fail then.
    cast.tell("m07", Manner::Fails(Duration::from_secs(34)));
    Traffic::new(4_000, Duration::from_micros(100)).send(&pool).await;
    cast.tell("m07", at_once());
    seconds(1).await;
    assert_eq!(out(&pool), ["m07"]);
    seconds(31).await;
    assert!(out(&pool).is_empty(), "it is back before they fail");
    traffic(&pool, 15).await;
    let failures = pool.report().member("m07").unwrap().failures;
    assert!(failures >= 200, "{failures} failed");
    assert_was_out_once(&told);
}

#[tokio::test(start_paused = true)]
async fn what_fails_during_an_ejection_does_not_count_after_it() {
    let (cast, told, pool) = about_to_eject().await;
    // Two hundred that fail while it is out, between one sweep and the next.
    cast.tell("m07", Manner::Fails(Duration::from_secs(15)));
    Traffic::new(4_000, Duration::from_micros(100)).send(&pool).await;
    cast.tell("m07", at_once());
    seconds(32).await;
    assert!(out(&pool).is_empty());
    let failures = pool.report().member("m07").unwrap().failures;
    assert!(failures >= 400, "{failures} failed by the return");
    traffic(&pool, 15).await;
    assert_was_out_once(&told);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_began_before_an_ejection_and_breaks_off_after_the_return_does_not_count() {
    let (cast, told, pool) = about_to_eject().await;
    // Two hundred whose heads come at once.
    cast.tell("m07", at_once());
    let downloads = pool.clone().guarded(|guard, answer| (guard, answer));
    let mut bodies = Vec::new();
    for request in 0..4_000 {
        let (guard, answer) = downloads.send(request).await.unwrap();
        if answer.by == "m07" {
            bodies.push(guard);
        } else {
            guard.finish(Outcome::Success);
        }
    }
    seconds(2).await;
    assert_eq!(out(&pool), ["m07"]);
    seconds(31).await;
    assert!(out(&pool).is_empty(), "it is back before they break off");
    for body in bodies {
        body.finish(Outcome::Failure);
    }
    traffic(&pool, 15).await;
    let failures = pool.report().member("m07").unwrap().failures;
    assert!(failures >= 400, "{failures} failed");
    assert_was_out_once(&told);
}

/// Sends requests for so many sweeps: to each of twenty a little more than the hundred that it takes to be compared.
async fn sweeps(pool: &Pool, sweeps: u64) {
    for _ in 0..sweeps * 112 {
        tokio::time::sleep(Duration::from_secs(10) / 112).await;
        for request in 0..20 {
            drop(pool.send(request).await);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn twenty_who_are_equally_well_are_left_alone() {
    let cast = Cast::new(&TWENTY, Manner::FailsAtRandom { percent: 1, seed: 3 });
    let recorder = Recorder::new();
    let pool = cast
        .builder()
        .policy(poise::core::policy::RoundRobin::starting_at(0))
        .observe(recorder.clone())
        .spawn()
        .unwrap();
    let ejections = || recorder.snapshot().outliers(OutlierChange::Ejected, OutlierReason::SuccessRate);
    sweeps(&pool, 1_000).await;
    assert_eq!(ejections(), 0, "in a thousand sweeps");
    cast.tell("m07", fails_one_in(2));
    sweeps(&pool, 2).await;
    assert_eq!(ejections(), 1, "they are compared at that rate");
}

#[tokio::test(start_paused = true)]
async fn all_fail_and_recover_within_the_caps_and_traffic_is_even_after_one_back_off() {
    let answers = Manner::Answers(Duration::from_millis(10));
    let cast = Cast::new(&TWENTY, answers);
    let circuit = CircuitConfig::new(5, Duration::from_secs(1)).unwrap();
    // In turn, so that the one that errs is asked often enough to be compared.
    let in_turn = poise::core::policy::RoundRobin::starting_at(0);
    let pool = cast.builder().policy(in_turn).circuit(circuit).spawn().unwrap();
    let watched = watch(&pool);
    cast.tell("m03", fails_one_in(2));
    traffic(&pool, 15).await;
    cast.tell_all(Manner::Fails(Duration::ZERO));
    traffic(&pool, 25).await;
    cast.tell_all(answers);
    traffic(&pool, 1).await;
    let ejected = out(&pool);
    let before: Vec<u64> = TWENTY.iter().map(|name| cast.calls(name)).collect();
    traffic(&pool, 4).await;
    let calls = TWENTY.iter().zip(before).filter(|(name, _)| !ejected.iter().any(|out| out == *name));
    let calls: Vec<u64> = calls.map(|(name, before)| cast.calls(name) - before).collect();
    let fair = calls.iter().sum::<u64>() / calls.len() as u64;
    for calls in &calls {
        assert!((fair / 2..=fair * 2).contains(calls), "{calls} of {fair}\n{}", pool.report());
    }
    let (circuits, outliers, together) = watched.await.unwrap();
    assert!(circuits <= 10 && outliers <= 2 && together <= 19, "{circuits} {outliers} {together}");
    assert!(circuits > 0 && outliers > 0, "both were put to the test");
}

/// Looks at the pool each millisecond until it is closed, and returns how many were out at most: by circuits, as outliers, and
/// by either.
fn watch(pool: &Pool) -> tokio::task::JoinHandle<(usize, usize, usize)> {
    let pool = pool.clone();
    tokio::spawn(async move {
        let mut most = (0, 0, 0);
        for _ in 0..44_000 {
            let report = pool.report();
            let is_out =
                |reason| move |member: &&poise::tower::MemberReport| member.exclusions.contains(reason);
            let circuits = report.members.iter().filter(is_out(Exclusion::Circuit)).count();
            let outliers = report.members.iter().filter(is_out(Exclusion::Outlier)).count();
            let together = report.members.len() - report.eligible();
            most = (most.0.max(circuits), most.1.max(outliers), most.2.max(together));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        most
    })
}

#[tokio::test(start_paused = true)]
async fn every_ejection_ends_with_the_balancer() {
    let cast = Cast::new(&TWENTY, at_once());
    let pool: Balancer<_, _> = cast.builder().spawn().unwrap();
    traffic(&pool, 11).await;
    drop(pool);
    seconds(1).await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}
