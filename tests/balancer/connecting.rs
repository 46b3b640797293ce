//! Connecting ahead of requests, and how a new allocation of a member takes over from the old one.

use std::convert::Infallible;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use poise::core::{Attributes, Candidate, Exclusion, PickError, Policy, Prepare, Selection};
use poise::core::{Status, View, Weight};
use poise::tokio::TokioTimer;
use poise::tower::{Balancer, BalancerErrorKind, Builder, NoContext};
use tokio::time::{Instant, advance, sleep};

use crate::support::fleet::{Fleet, add, fleet, over, remove, set_status, upsert};
use crate::support::links::{Link, Links};
use crate::support::pace::{Pace, in_time, on_both_runtimes, until};
use crate::support::pool_policies::AtMostTwo;
use crate::support::script::{Fake, Readiness, Script};
use crate::support::told::Told;

type Client = Balancer<Fake, u32>;
type Default = Builder<
    &'static str,
    Script,
    Fake,
    u32,
    poise::core::PeakEwma,
    poise::core::policy::PowerOfTwoChoices,
    NoContext,
>;

fn connecting(directory: &Fleet, links: &Links) -> Default {
    Balancer::builder().connect_with(directory.reader(), links.connect())
}

async fn takes_effect(balancer: &Client, directory: &Fleet) {
    let last = directory.revision();
    in_time(until("it took effect", || balancer.report().revision == last)).await;
}

async fn serves(balancer: &Client, by: &str) {
    assert_eq!(in_time(balancer.send(1)).await.unwrap().by, by);
}

on_both_runtimes! {
    async fn members_are_connected_to_with_no_request(pace: Pace) {
        let (mut directory, [a, b]) = fleet(["a", "b"]);
        let links = Links::default();
        links.set("c", Link::Up(100 * pace.second()));
        let balancer = connecting(&directory, &links).spawn().unwrap();
        in_time(until("both are connected", || balancer.report().members.len() == 2)).await;
        let start = Instant::now();
        remove(&mut directory, "b");
        add(&mut directory, "c", &Script::new("c"));
        in_time(until("b is dropped and c is connecting", || b.live() == 0 && links.live() == 1)).await;
        // The driver notes what is not built once it has begun it.
        in_time(until("the report has it", || balancer.report().unbuilt == 1)).await;
        let limit = if pace == Pace::Paused { Duration::from_millis(200) } else { Duration::from_secs(5) };
        assert!(start.elapsed() <= limit);
        assert_eq!((links.begun("c").len(), a.calls() + b.calls()), (1, 0));
        let report = balancer.report();
        assert_eq!((report.members.len(), report.last_error), (1, None));
    }

    async fn requests_wait_for_the_first_who_is_connected(pace: Pace) {
        let (directory, [_a, _b]) = fleet(["a", "b"]);
        let links = Links::default();
        links.set("a", Link::Dead);
        links.set("b", Link::Up(pace.second()));
        let balancer = connecting(&directory, &links).spawn().unwrap();
        let start = Instant::now();
        serves(&balancer, "b").await;
        pace.check(start, pace.second());
    }

    async fn who_connects_too_long_is_not_ready_for_requests_that_fail_fast(pace: Pace) {
        let (directory, [_a, _b]) = fleet(["a", "b"]);
        let links = Links::default();
        links.set("a", Link::Dead);
        links.set("b", Link::Refused);
        let balancer = connecting(&directory, &links).fail_fast(3 * pace.second()).spawn().unwrap();
        let start = Instant::now();
        let error = balancer.send(1).await.unwrap_err();
        pace.check(start, 3 * pace.second());
        let BalancerErrorKind::NoEligible(counts) = error.kind() else { panic!("{error}") };
        assert_eq!(counts.of(Exclusion::NotReady), 2);
        assert_eq!(balancer.report().last_error.as_deref(), Some("b: refused"));
    }

    async fn those_who_hang_or_fail_hold_nobody_hostage(pace: Pace) {
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        let (directory, _scripts) = fleet(names);
        let links = Links::default();
        for dead in &names[..4] {
            links.set(dead, Link::Dead);
        }
        for refused in &names[4..6] {
            links.set(refused, Link::Refused);
        }
        let balancer = connecting(&directory, &links)
            .connecting_at_once(NonZeroUsize::new(2).unwrap())
            .connect_timeout(pace.second())
            .fail_fast(Duration::MAX)
            .spawn()
            .unwrap();
        let start = Instant::now();
        serves(&balancer, "g").await;
        pace.check(start, 2 * pace.second());
        assert_eq!(links.most(), 2);
        // Whoever failed the least comes first, so that a new one does not stand behind those who hang again and again.
        in_time(until("each has failed", || links.begun("a").len() > 1 && links.begun("f").len() > 1)).await;
        assert_eq!(links.most(), 2);
    }

    async fn an_attempt_that_takes_too_long_or_panics_is_made_again(pace: Pace) {
        let (mut directory, [_a, b]) = fleet(["a", "b"]);
        let (links, told) = (Links::default(), Told::default());
        links.set("a", Link::Dead);
        links.set("b", Link::Panics);
        let timeout = 2 * pace.second();
        let balancer =
            connecting(&directory, &links).connect_timeout(timeout).hook(told.clone()).spawn().unwrap();
        in_time(until("it has panicked", || told.count("contained factory") == 1)).await;
        assert_eq!(balancer.report().last_error.as_deref(), Some("b: the factory panicked"));
        in_time(until("it was given up", || {
            balancer.report().last_error.as_deref() == Some("a: timed out")
        })).await;
        links.set("b", Link::Up(Duration::ZERO));
        let weight = Attributes::default().with_weight(Weight::new(2).unwrap());
        directory.amend(&"a", weight).unwrap();
        in_time(until("a newer revision is tried at once", || b.built() == 1)).await;
        serves(&balancer, "b").await;
    }

    async fn an_attempt_is_dropped_when_its_member_leaves_or_is_replaced(_pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        let links = Links::default();
        links.set("a", Link::Dead);
        let balancer = connecting(&directory, &links).spawn().unwrap();
        in_time(until("it connects", || links.live() == 1)).await;
        add(&mut directory, "a", &a);
        in_time(until("the new one connects", || links.begun("a").len() == 2)).await;
        assert_eq!(links.live(), 1, "the old attempt is gone");
        directory.amend(&"a", Attributes::default().with_weight(Weight::new(2).unwrap())).unwrap();
        takes_effect(&balancer, &directory).await;
        assert_eq!((links.live(), links.begun("a").len()), (1, 2), "the same one goes on");
        remove(&mut directory, "a");
        in_time(until("nobody connects", || links.live() == 0)).await;
        assert_eq!(balancer.report().unbuilt, 0);
    }

    async fn many_updates_while_idle_leave_the_last_state_and_nothing_else(_pace: Pace) {
        let (mut directory, [a, b]) = fleet(["a", "b"]);
        let links = Links::default();
        links.set("b", Link::Dead);
        let balancer = connecting(&directory, &links).spawn().unwrap();
        for update in 0..10_000_u32 {
            if update % 2 == 0 {
                remove(&mut directory, "b");
            } else {
                directory.apply([upsert("a", &a), upsert("b", &b)]).unwrap();
            }
            if update % 100 == 0 {
                tokio::task::yield_now().await;
            }
        }
        assert!(links.most() <= 2, "{} attempts at once", links.most());
        links.set("b", Link::Up(Duration::ZERO));
        add(&mut directory, "b", &b);
        takes_effect(&balancer, &directory).await;
        in_time(until("only the last ones are left", || (a.live(), b.live(), links.live()) == (1, 1, 0))).await;
        assert_eq!(balancer.report().members.len(), 2);
    }

    async fn nothing_connects_without_a_balancer_or_a_driver(_pace: Pace) {
        let (directory, [a, _b]) = fleet(["a", "b"]);
        let links = Links::default();
        links.set("b", Link::Dead);
        let balancer = connecting(&directory, &links).spawn().unwrap();
        in_time(until("one is there, and one connects", || (a.live(), links.live()) == (1, 1))).await;
        drop(balancer);
        in_time(until("nothing is left", || (a.live(), links.live()) == (0, 0))).await;

        let (balancer, driver) = connecting(&directory, &links).timer(TokioTimer).build().unwrap();
        assert_eq!(links.live(), 0, "nothing connects before the driver is polled");
        let driver = tokio::spawn(driver);
        in_time(until("one is there, and one connects", || (a.live(), links.live()) == (1, 1))).await;
        driver.abort();
        in_time(until("nothing connects", || links.live() == 0)).await;
        serves(&balancer, "a").await;
        drop(balancer);
        in_time(until("nothing is left", || a.live() == 0)).await;
    }

    async fn who_drains_is_connected_to_when_it_is_ready_again(_pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        set_status(&mut directory, "a", Status::Draining);
        let links = Links::default();
        let balancer = connecting(&directory, &links).fail_fast(Duration::MAX).spawn().unwrap();
        sleep(Duration::from_millis(20)).await;
        assert_eq!((links.begun("a").len(), balancer.report().unbuilt), (0, 1));
        set_status(&mut directory, "a", Status::Ready);
        serves(&balancer, "a").await;
        assert_eq!(a.built(), 1);
    }

    async fn a_member_who_connects_goes_on_with_its_old_service_for_as_long_as_it_takes(pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        let links = Links::default();
        let balancer = connecting(&directory, &links).connect_timeout(pace.second()).spawn().unwrap();
        serves(&balancer, "a").await;
        links.set("a", Link::Refused);
        let newer = Script::new("newer");
        add(&mut directory, "a", &newer);
        in_time(until("it was tried again", || links.begun("a").len() >= 3)).await;
        serves(&balancer, "a").await;
        set_status(&mut directory, "a", Status::Draining);
        in_time(until("its attributes are the new ones", || balancer.report().eligible() == 0)).await;
        links.set("a", Link::Up(Duration::ZERO));
        set_status(&mut directory, "a", Status::Ready);
        in_time(until("the new one has taken over", || newer.built() == 1 && a.live() == 0)).await;
        serves(&balancer, "newer").await;
    }

    async fn a_new_service_takes_over_once_it_was_ready(pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        let balancer: Client = over(&directory).connect_timeout(600 * pace.second()).spawn().unwrap();
        let newer = Script::new("newer");
        newer.turn(Readiness::Pending);
        add(&mut directory, "a", &newer);
        takes_effect(&balancer, &directory).await;
        in_time(until("it is being made ready", || newer.live() == 2)).await;
        serves(&balancer, "a").await;
        let weight = Attributes::default().with_weight(Weight::new(7).unwrap());
        directory.amend(&"a", weight).unwrap();
        takes_effect(&balancer, &directory).await;
        assert_eq!((balancer.report().members[0].weight, newer.built()), (7, 1), "attributes are of the key");
        newer.turn(Readiness::Ready);
        in_time(until("it has taken over with no request", || a.live() == 0)).await;
        assert_eq!(newer.live(), 1, "nothing of it is held while nobody asks");
        serves(&balancer, "newer").await;
        assert_eq!((a.calls(), newer.calls()), (1, 1));
    }

    async fn a_new_service_that_is_never_ready_takes_over_when_its_time_is_over(pace: Pace) {
        for readiness in [Readiness::Pending, Readiness::Failing] {
            let (mut directory, [a]) = fleet(["a"]);
            let _balancer: Client = over(&directory).connect_timeout(10 * pace.second()).spawn().unwrap();
            let newer = Script::new("newer");
            newer.turn(readiness);
            let start = Instant::now();
            add(&mut directory, "a", &newer);
            in_time(until("it has taken over", || a.live() == 0)).await;
            pace.check(start, 10 * pace.second());
            assert!(newer.readiness_errors() <= 5, "it is asked with pauses");
            assert_eq!(newer.live(), 1);
        }
    }

    async fn a_service_that_is_replaced_before_it_was_ready_never_serves(_pace: Pace) {
        let (mut directory, [a]) = fleet(["a"]);
        let balancer: Client = over(&directory).spawn().unwrap();
        let (second, third) = (Script::new("second"), Script::new("third"));
        second.turn(Readiness::Pending);
        third.turn(Readiness::Pending);
        add(&mut directory, "a", &second);
        in_time(until("it is being made ready", || second.live() == 2)).await;
        add(&mut directory, "a", &third);
        let is_third = || third.live() == 2 && second.live() == 0;
        in_time(until("the third one is being made ready, and the second let go of", is_third)).await;
        assert_eq!(a.live(), 1);
        second.turn(Readiness::Ready);
        serves(&balancer, "a").await;
        third.turn(Readiness::Ready);
        in_time(until("the third has taken over", || a.live() == 0)).await;
        serves(&balancer, "third").await;
    }

    async fn a_new_member_is_made_ready_with_no_request_and_takes_requests_meanwhile(_pace: Pace) {
        let (mut directory, [_a]) = fleet(["a"]);
        let balancer: Client = over(&directory).spawn().unwrap();
        let b = Script::new("b");
        b.turn(Readiness::Pending);
        add(&mut directory, "b", &b);
        in_time(until("it is being made ready", || b.live() == 2)).await;
        assert_eq!((balancer.report().eligible(), b.calls()), (2, 0));
        serves(&balancer, "a").await;
        b.turn(Readiness::Ready);
        in_time(until("nothing of it is held", || b.live() == 1)).await;
    }

    async fn a_retired_member_gives_up_its_service_when_its_last_attempt_ends(_pace: Pace) {
        let (mut directory, [a, b]) = fleet(["a", "b"]);
        a.hang();
        b.hang();
        let balancer: Client = over(&directory).policy(First).spawn().unwrap();
        let attempts: Vec<_> = (0..3).map(|request| tokio::spawn(balancer.send(request))).collect();
        in_time(until("all are under way", || a.under_way() == 3)).await;
        remove(&mut directory, "a");
        takes_effect(&balancer, &directory).await;
        for (ended, attempt) in (1..).zip(attempts) {
            assert!(a.live() > 0, "its attempts own it");
            attempt.abort();
            in_time(until("an attempt has ended", || a.under_way() == 3 - ended)).await;
        }
        in_time(until("nothing of it is left", || a.live() == 0)).await;

        a.turn(Readiness::Failing);
        directory.apply([upsert("a", &a)]).unwrap();
        remove(&mut directory, "b");
        add(&mut directory, "b", &b);
        takes_effect(&balancer, &directory).await;
        let request = tokio::spawn(balancer.send(9));
        in_time(until("b has the request", || b.under_way() == 1)).await;
        remove(&mut directory, "a");
        in_time(until("who was only tried is let go of", || a.live() == 0)).await;
        assert_eq!(b.under_way(), 1);
        request.abort();
    }

    async fn members_whom_the_policy_refuses_wait_outside_and_disturb_nobody(pace: Pace) {
        let (mut directory, [a, b]) = fleet(["a", "b"]);
        let links = Links::default();
        let balancer = connecting(&directory, &links).policy(AtMostTwo).spawn().unwrap();
        in_time(until("both are connected", || balancer.report().members.len() == 2)).await;
        links.set("c", Link::Up(pace.second()));
        let c = Script::new("c");
        add(&mut directory, "c", &c);
        in_time(until("it is connected", || c.built() == 1)).await;
        in_time(until("the error is observable", || balancer.report().last_error.is_some())).await;
        for request in 0..10 {
            balancer.send(request).await.unwrap();
        }
        assert_eq!((a.calls() + b.calls(), c.calls(), balancer.report().members.len()), (10, 0, 2));
        remove(&mut directory, "b");
        in_time(until("there is room for it", || balancer.report().member("c").is_some())).await;
        assert_eq!((c.built(), balancer.report().last_error), (1, None));
    }
}

/// Chooses the first member.
#[derive(Clone, Copy, Debug)]
struct First;

impl<C: Candidate> Prepare<C> for First {}

impl<C: Candidate> Policy<C> for First {
    fn pick_from(&self, view: &View<'_, C>, (): &()) -> Result<Selection, PickError> {
        view.first_from(0)
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_connected_is_tried_again_with_growing_pauses_that_vary() {
    let (directory, [_a, _b]) = fleet(["a", "b"]);
    let links = Links::default();
    links.set("a", Link::Refused);
    links.set("b", Link::Refused);
    let _balancer: Client = connecting(&directory, &links).spawn().unwrap();
    sleep(Duration::from_secs(200)).await;
    let pauses = |name| {
        let begun = links.begun(name);
        let pauses = begun.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64());
        pauses.collect::<Vec<_>>()
    };
    let (a, b) = (pauses("a"), pauses("b"));
    assert!(a.len() >= 8 && b.len() >= 8, "{a:?} {b:?}");
    for pauses in [&a, &b] {
        for (pause, expected) in pauses.iter().zip([1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]) {
            // Timers work in whole milliseconds.
            assert!((expected * 0.8..=expected * 1.2 + 0.002).contains(pause), "{pause} for {expected}");
        }
    }
    assert_ne!(a, b, "not all at once");
}

#[tokio::test(start_paused = true)]
async fn an_error_that_panics_when_it_is_printed_ends_nothing() {
    let (directory, [_a, _b]) = fleet(["a", "b"]);
    let told = Told::default();
    let balancer: Client =
        Balancer::builder()
            .try_discover(directory.reader(), |name, script: &Script| {
                if *name == "b" { Err(Unprintable) } else { Ok(script.service()) }
            })
            .hook(told.clone())
            .spawn()
            .unwrap();
    sleep(Duration::from_secs(10)).await;
    assert!(told.count("contained error") >= 3, "it is tried again: {:?}", told.all());
    serves(&balancer, "a").await;
}

#[derive(Debug)]
struct Unprintable;

impl fmt::Display for Unprintable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("told to panic")
    }
}

impl std::error::Error for Unprintable {}

#[tokio::test(start_paused = true)]
async fn a_service_that_panics_when_it_is_dropped_ends_nothing() {
    let (mut directory, [a, _b]) = fleet(["a", "b"]);
    let told = Told::default();
    let balancer = Balancer::builder()
        .discover(directory.reader(), |_, _: &Script| {
            let bomb = Arc::new(Bomb);
            tower::service_fn(move |request: u32| {
                let _bomb = &bomb;
                async move { Ok::<_, Infallible>(request) }
            })
        })
        .hook(told.clone())
        .spawn()
        .unwrap();
    add(&mut directory, "a", &a);
    remove(&mut directory, "b");
    sleep(Duration::from_millis(10)).await;
    assert_eq!(told.count("contained drop"), 2, "one is replaced, one is removed: {:?}", told.all());
    balancer.send(1).await.unwrap();
    let report = balancer.report();
    assert_eq!((report.driven, report.members.len()), (true, 1));
    drop(balancer);
    sleep(Duration::from_millis(10)).await;
    assert_eq!(told.count("contained drop"), 3, "the last one goes with the driver");
}

/// Goes off when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(std::thread::panicking(), "told to panic");
    }
}

#[tokio::test(start_paused = true)]
async fn many_who_are_on_their_way_are_polled_only_when_they_are_woken() {
    let names: [&'static str; 64] = std::array::from_fn(|n| &*format!("m{n}").leak());
    let (mut directory, [_a]) = fleet(["a"]);
    let balancer: Client = over(&directory).spawn().unwrap();
    let scripts: Vec<_> = names.iter().map(|name| (*name, Script::new(name))).collect();
    for (_, script) in &scripts {
        script.turn(Readiness::Pending);
    }
    directory.apply(scripts.iter().map(|(name, script)| upsert(name, script))).unwrap();
    takes_effect(&balancer, &directory).await;
    advance(Duration::from_millis(1)).await;
    for (_, script) in &scripts {
        script.turn(Readiness::Ready);
        advance(Duration::from_millis(1)).await;
    }
    for (name, script) in &scripts {
        assert!(script.polls() <= 4, "{name} was polled {} times", script.polls());
        assert_eq!(script.live(), 1);
    }
}
