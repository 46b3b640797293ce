//! How changes of the membership take effect.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use poise::core::Status;
use poise::core::policy::LeastLoaded;
use poise::core::{Attributes, Exclusion, InFlight, Weight};
use poise::tower::{Balancer, BalancerErrorKind, BoxError};
use tokio::time::{Instant, sleep};

use crate::support::fleet::{self, add, circuit, fleet, over, remove, set_status, upsert};
use crate::support::pace::{Pace, in_time, on_both_runtimes, until};
use crate::support::pool_policies::AtMostTwo;
use crate::support::script::{Fake, Script};

type Client = Balancer<Fake, u32>;

/// Publishes another revision where there is no time for the back-off: it is tried at once.
fn without_back_off(pace: Pace, directory: &mut fleet::Fleet, name: &'static str) {
    if pace == Pace::Real {
        let weight = Attributes::default().with_weight(Weight::new(2).unwrap());
        directory.amend(&name, weight).unwrap();
    }
}

on_both_runtimes! {
    async fn an_idle_balancer_follows_its_source(pace: Pace) {
        let (mut directory, [a, b]) = fleet(["a", "b"]);
        let balancer: Client = over(&directory).spawn().unwrap();
        let start = Instant::now();
        let c = Script::new("c");
        remove(&mut directory, "b");
        add(&mut directory, "c", &c);
        in_time(until("b is gone and c is there", || (a.live(), b.live(), c.live()) == (1, 0, 1))).await;
        let limit = if pace == Pace::Paused { Duration::from_millis(200) } else { Duration::from_secs(5) };
        assert!(start.elapsed() <= limit);
        assert_eq!((a.built(), a.calls() + b.calls() + c.calls()), (1, 0), "with no request");
        drop(balancer);
    }

    async fn many_updates_of_an_idle_balancer_leave_the_last_state_and_nothing_else(_pace: Pace) {
        let (mut directory, [a, b]) = fleet(["a", "b"]);
        let balancer: Client = over(&directory).spawn().unwrap();
        let mut most = 0;
        for update in 0..10_000_u32 {
            if update % 2 == 0 {
                remove(&mut directory, "b");
            } else {
                directory.apply([upsert("a", &a), upsert("b", &b)]).unwrap();
            }
            most = most.max(a.live() + b.live());
            if update % 100 == 0 {
                tokio::task::yield_now().await;
            }
        }
        assert!(most <= 8, "{most} services of two members were alive");
        let last = directory.revision();
        in_time(until("the last update took effect", || balancer.report().revision == last)).await;
        in_time(until("earlier generations are gone", || (a.live(), b.live()) == (1, 1))).await;
    }

    async fn an_amended_member_keeps_all_that_it_has(pace: Pace) {
        let (mut directory, [a, _b]) = fleet(["a", "b"]);
        a.refuse(true);
        let balancer: Balancer<Fake, u32, InFlight> =
            over(&directory).load(InFlight::new).circuit(circuit(1, 60 * pace.second())).spawn().unwrap();
        while balancer.send(1).await.is_ok() {}
        let weight = Attributes::default().with_weight(Weight::new(7).unwrap());
        directory.amend(&"a", weight).unwrap();
        in_time(until("it took effect", || balancer.report().member("a").unwrap().weight == 7)).await;
        let report = balancer.report();
        let member = report.member("a").unwrap();
        assert_eq!((a.built(), member.trips, member.failures), (1, 1, 1), "{report}");
        assert_eq!(member.exclusions, Exclusion::Circuit.into());
    }

    async fn an_upserted_member_starts_anew_and_old_attempts_touch_nothing_of_it(_pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        a.hang();
        let balancer: Balancer<Fake, u32, InFlight> = over(&directory).load(InFlight::new).spawn().unwrap();
        let old = tokio::spawn(balancer.send(1));
        in_time(until("it is under way", || a.under_way() == 1)).await;
        add(&mut directory, "a", &a);
        let last = directory.revision();
        in_time(until("it took effect", || balancer.report().revision == last)).await;
        assert_eq!(a.built(), 2);
        let report = balancer.report();
        assert_eq!((report.members[0].picks, report.members[0].load), (0, 0.0), "{report}");
        old.abort();
        in_time(until("the old attempt is over", || (a.under_way(), a.live()) == (0, 1))).await;
        let report = balancer.report();
        assert_eq!((report.members[0].cancelled, report.members[0].load), (0, 0.0), "{report}");
    }

    async fn a_draining_member_finishes_what_it_has_and_gets_nothing_new(_pace: Pace) {
        let (mut directory, [a, b]) = fleet(["a", "b"]);
        for script in [&a, &b] {
            script.answer_after(Duration::from_millis(30));
        }
        let balancer: Client = over(&directory).policy(LeastLoaded::new()).spawn().unwrap();
        let requests: Vec<_> = (0..10).map(|request| tokio::spawn(balancer.send(request))).collect();
        in_time(until("both have some", || a.under_way() > 0 && b.under_way() > 0)).await;
        directory.remove(&"a").unwrap();
        in_time(until("it drains", || balancer.report().member("a").unwrap().status == Status::Draining)).await;
        let before = a.calls();
        for request in 0..5 {
            assert_eq!(in_time(balancer.send(request)).await.unwrap().by, "b");
        }
        for request in requests {
            in_time(request).await.unwrap().expect("what was under way is seen through");
        }
        assert_eq!(a.calls(), before);
    }

    async fn a_source_that_is_gone_leaves_its_last_state(pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        let balancer: Client = over(&directory).spawn().unwrap();
        let b = Script::new("b");
        add(&mut directory, "b", &b);
        drop(directory);
        in_time(until("what came last took effect", || balancer.report().members.len() == 2)).await;
        sleep(10 * pace.second()).await;
        for request in 0..20 {
            balancer.send(request).await.unwrap();
        }
        assert_eq!(a.calls() + b.calls(), 20);
    }

    async fn a_factory_that_fails_holds_up_nobody_else(pace: Pace) {
        for panics in [false, true] {
            let (mut directory, [a, b]) = fleet(["a", "b"]);
            let broken = Arc::new(AtomicBool::new(true));
            let breaks = Arc::clone(&broken);
            let balancer: Client = Balancer::builder()
                .try_discover(directory.reader(), move |name, script: &Script| {
                    match *name {
                        "b" if breaks.load(SeqCst) && panics => panic!("no service for b"),
                        "b" if breaks.load(SeqCst) => Err(BoxError::from("no service for b")),
                        _ => Ok(script.service()),
                    }
                })
                .spawn()
                .unwrap();
            assert_eq!(balancer.send(1).await.unwrap().by, "a");
            let report = balancer.report();
            assert_eq!((report.members.len(), report.unbuilt), (1, 1));
            assert!(report.last_error.unwrap().starts_with("b: "), "the error is observable");

            let c = Script::new("c");
            add(&mut directory, "c", &c);
            in_time(until("later updates apply", || balancer.report().members.len() == 2)).await;
            broken.store(false, SeqCst);
            without_back_off(pace, &mut directory, "c");
            in_time(until("it was tried again", || b.built() == 1)).await;
            let report = balancer.report();
            assert_eq!((report.members.len(), report.unbuilt, report.last_error), (3, 0, None));
            assert_eq!((a.built(), c.built()), (1, 1), "who was built is left alone");
        }
    }

    async fn a_member_whose_new_service_cannot_be_built_goes_on_with_the_old_one(pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        let broken = Arc::new(AtomicBool::new(false));
        let breaks = Arc::clone(&broken);
        let balancer: Client = Balancer::builder()
            .try_discover(directory.reader(), move |_, script: &Script| {
                if breaks.load(SeqCst) { Err(BoxError::from("broken")) } else { Ok(script.service()) }
            })
            .spawn()
            .unwrap();
        broken.store(true, SeqCst);
        let newer = Script::new("newer");
        add(&mut directory, "a", &newer);
        in_time(until("it was tried", || balancer.report().unbuilt == 1)).await;
        assert_eq!(balancer.send(1).await.unwrap().by, "a");
        set_status(&mut directory, "a", Status::Draining);
        in_time(until("its attributes are the new ones", || balancer.report().eligible() == 0)).await;
        set_status(&mut directory, "a", Status::Ready);
        broken.store(false, SeqCst);
        without_back_off(pace, &mut directory, "a");
        in_time(until("it was tried again", || newer.built() == 1)).await;
        assert_eq!(in_time(balancer.send(2)).await.unwrap().by, "newer");
        in_time(until("the old one is gone", || a.live() == 0)).await;
    }

    async fn a_membership_that_the_policy_refuses_changes_nothing(_pace: Pace) {
        let (mut directory, [_a]) = fleet(["a"]);
        let balancer: Client = over(&directory).policy(AtMostTwo).spawn().unwrap();
        let (b, c) = (Script::new("b"), Script::new("c"));
        directory.apply([upsert("b", &b), upsert("c", &c)]).unwrap();
        in_time(until("the error is observable", || balancer.report().last_error.is_some())).await;
        let report = balancer.report();
        assert_eq!((report.members.len(), report.revision.value()), (1, 1), "the last good set stays");
        balancer.send(1).await.unwrap();
        in_time(until("services of nobody are let go of", || b.live() + c.live() == 0)).await;
        remove(&mut directory, "c");
        in_time(until("a later update applies", || balancer.report().members.len() == 2)).await;
        assert_eq!(balancer.report().last_error, None);
    }

    async fn an_update_after_an_error_wakes_who_waits(pace: Pace) {
        let (mut directory, []) = fleet([]);
        let balancer: Client = Balancer::builder()
            .try_discover(directory.reader(), |name, script: &Script| {
                if *name == "broken" { Err(BoxError::from("broken")) } else { Ok(script.service()) }
            })
            .fail_fast(10 * pace.second())
            .spawn()
            .unwrap();
        add(&mut directory, "broken", &Script::new("broken"));
        in_time(until("the error is observable", || balancer.report().unbuilt == 1)).await;
        let waiting = tokio::spawn(balancer.send(1));
        tokio::task::yield_now().await;
        add(&mut directory, "a", &Script::new("a"));
        assert_eq!(in_time(waiting).await.unwrap().unwrap().by, "a");

        remove(&mut directory, "a");
        in_time(until("only the broken one is left", || balancer.report().members.is_empty())).await;
        let error = in_time(balancer.send(2)).await.unwrap_err();
        let BalancerErrorKind::NoEligible(counts) = error.kind() else { panic!("{error}") };
        assert_eq!(counts.of(Exclusion::NotReady), 1, "there is a member, which has no service");
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_built_is_tried_again_with_growing_pauses() {
    let (directory, [_a]) = fleet(["a"]);
    let tries = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&tries);
    let start = Instant::now();
    let _balancer: Client = Balancer::builder()
        .try_discover(directory.reader(), move |_, _| {
            log.lock().unwrap().push(start.elapsed().as_secs_f64());
            Err::<Fake, _>(BoxError::from("broken"))
        })
        .spawn()
        .unwrap();
    sleep(Duration::from_secs(200)).await;
    let tries = tries.lock().unwrap();
    let pauses: Vec<_> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses.len() >= 8, "{pauses:?}");
    for (pause, expected) in pauses.iter().zip([1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]) {
        // Less up to a fifth; timers work in whole milliseconds.
        assert!((expected * 0.8..=expected + 0.002).contains(pause), "{pause} for {expected}: {pauses:?}");
    }
}
