//! What operators say of members, and what requests say of endpoints that they would rather avoid.

use std::time::Duration;

use poise::core::policy::{LeastLoaded, Maglev, PriorityFailover, RoundRobin};
use poise::core::{Attributes, Candidate, Exclusion, Exclusions, Status, Weight};
use poise::health::CircuitState;
use poise::tower::{Balancer, BalancerErrorKind, Retry, UnknownMember};
use tokio::time::Instant;

use crate::support::fleet::{Fleet, add, circuit, fleet, over, remove, set_status};
use crate::support::links::{Link, Links};
use crate::support::pace::{Pace, in_time, on_both_runtimes, until};
use crate::support::script::{Fake, Readiness};
use crate::support::told::Told;

type Client = Balancer<Fake, u32>;
type Verb = fn(&Client, &str) -> Result<(), UnknownMember>;

const VERBS: [(Verb, Exclusion); 3] = [
    (Client::drain, Exclusion::Draining),
    (Client::exclude, Exclusion::Unavailable),
    (Client::force_open, Exclusion::Circuit),
];

fn exclusions(balancer: &Client, name: &str) -> Exclusions {
    balancer.report().member(name).expect("it is a member").exclusions
}

async fn takes_effect(balancer: &Client, directory: &Fleet) {
    let last = directory.revision();
    in_time(until("it took effect", || balancer.report().revision == last)).await;
}

on_both_runtimes! {
    async fn who_is_taken_out_gets_nothing_until_restored(_pace: Pace) {
        for (verb, exclusion) in VERBS {
            let (directory, [a, b]) = fleet(["a", "b"]);
            let balancer: Client = over(&directory).policy(RoundRobin::new()).spawn().unwrap();
            verb(&balancer, "a").unwrap();
            assert_eq!(exclusions(&balancer, "a"), exclusion.into());
            assert_eq!(balancer.report().member("a").unwrap().status, Status::Ready, "the membership's own word");
            for request in 0..10 {
                assert_eq!(balancer.send(request).await.unwrap().by, "b");
            }
            balancer.restore("a").unwrap();
            assert_eq!(balancer.report().eligible(), 2);
            for request in 0..10 {
                balancer.send(request).await.unwrap();
            }
            assert!(a.calls() >= 4 && b.calls() >= 14, "each in turn");
        }
    }

    async fn an_operators_word_outlives_all_generations_of_a_member_but_not_its_membership(_pace: Pace) {
        for (verb, exclusion) in VERBS {
            let (mut directory, [a, b]) = fleet(["a", "b"]);
            let balancer: Client = over(&directory).spawn().unwrap();
            verb(&balancer, "a").unwrap();

            directory.amend(&"a", Attributes::default().with_weight(Weight::new(7).unwrap())).unwrap();
            takes_effect(&balancer, &directory).await;
            assert_eq!((exclusions(&balancer, "a"), a.built()), (exclusion.into(), 1), "amended");

            let same = [("a", a.clone()), ("b", b.clone())];
            let all = same.into_iter().map(|(name, script)| (name, script, Attributes::default()));
            directory.replace_with(all, |_, _| true).unwrap();
            takes_effect(&balancer, &directory).await;
            assert_eq!((exclusions(&balancer, "a"), a.built()), (exclusion.into(), 1), "replaced by the same");

            add(&mut directory, "a", &a);
            takes_effect(&balancer, &directory).await;
            in_time(until("the new one has taken over", || (a.built(), a.live()) == (2, 1))).await;
            assert_eq!(exclusions(&balancer, "a"), exclusion.into(), "a new allocation");
            assert_eq!(balancer.send(1).await.unwrap().by, "b");

            remove(&mut directory, "a");
            takes_effect(&balancer, &directory).await;
            add(&mut directory, "a", &a);
            takes_effect(&balancer, &directory).await;
            assert_eq!(exclusions(&balancer, "a"), Exclusions::NONE, "who returns is a new member");
        }
    }

    async fn health_starts_anew_where_exclusion_survives(pace: Pace) {
        let (mut directory, [a, _b]) = fleet(["a", "b"]);
        a.refuse(true);
        let circuit = circuit(1, 60 * pace.second());
        let balancer: Client = over(&directory).policy(RoundRobin::new()).circuit(circuit).spawn().unwrap();
        while balancer.send(1).await.is_ok() {}
        balancer.exclude("a").unwrap();
        let both = Exclusions::from(Exclusion::Circuit) | Exclusion::Unavailable.into();
        assert_eq!(exclusions(&balancer, "a"), both, "each is told");
        add(&mut directory, "a", &a);
        in_time(until("the new one has taken over", || a.built() == 2 && a.live() == 1)).await;
        assert_eq!(exclusions(&balancer, "a"), Exclusion::Unavailable.into());
    }

    async fn restoring_wakes_who_waits(_pace: Pace) {
        for (verb, _) in VERBS {
            let (directory, [_a]) = fleet(["a"]);
            let balancer: Client = over(&directory).fail_fast(Duration::MAX).spawn().unwrap();
            verb(&balancer, "a").unwrap();
            let waiting = tokio::spawn(balancer.send(1));
            tokio::task::yield_now().await;
            balancer.restore("a").unwrap();
            in_time(waiting).await.unwrap().unwrap();
        }
    }

    async fn requests_fail_fast_when_operators_have_taken_out_everybody(pace: Pace) {
        let (directory, [_a, _b]) = fleet(["a", "b"]);
        let balancer: Client = over(&directory).fail_fast(3 * pace.second()).spawn().unwrap();
        balancer.exclude("a").unwrap();
        balancer.drain("b").unwrap();
        let start = Instant::now();
        let error = balancer.send(1).await.unwrap_err();
        pace.check(start, 3 * pace.second());
        let BalancerErrorKind::NoEligible(counts) = error.kind() else { panic!("{error}") };
        assert_eq!((counts.of(Exclusion::Unavailable), counts.of(Exclusion::Draining)), (1, 1));
    }

    async fn several_verbs_hold_together_and_are_taken_back_together(_pace: Pace) {
        let (mut directory, [_a]) = fleet(["a"]);
        let told = Told::default();
        let balancer: Client = over(&directory).hook(told.clone()).spawn().unwrap();
        balancer.exclude("a").unwrap();
        balancer.force_open("a").unwrap();
        balancer.force_open("a").unwrap();
        let both = Exclusions::from(Exclusion::Circuit) | Exclusion::Unavailable.into();
        assert_eq!(exclusions(&balancer, "a"), both);
        balancer.restore("a").unwrap();
        assert_eq!(exclusions(&balancer, "a"), Exclusions::NONE);
        assert_eq!(told.all(), ["exclude a", "force open a", "force open a", "restore a"]);

        set_status(&mut directory, "a", Status::Unavailable);
        takes_effect(&balancer, &directory).await;
        balancer.restore("a").unwrap();
        assert_eq!(exclusions(&balancer, "a"), Exclusion::Unavailable.into(), "the membership has its own word");
    }

    async fn results_under_way_are_ignored_when_a_circuit_is_forced(pace: Pace) {
        let (directory, [a]) = fleet(["a"]);
        a.answer_after(pace.second());
        a.refuse(true);
        let balancer: Client = over(&directory).circuit(circuit(1, 60 * pace.second())).spawn().unwrap();
        let failing = tokio::spawn(balancer.send(1));
        in_time(until("it is under way", || a.under_way() == 1)).await;
        balancer.force_open("a").unwrap();
        let state = || balancer.report().member("a").unwrap().circuit;
        assert_eq!(state(), Some(CircuitState::ForcedOpen));
        balancer.restore("a").unwrap();
        in_time(failing).await.unwrap().unwrap_err();
        assert_eq!(state(), Some(CircuitState::Closed { failures: 0 }), "it was sent before that");
    }

    async fn a_member_without_a_circuit_can_be_forced_open_too(_pace: Pace) {
        let (directory, [_a, _b]) = fleet(["a", "b"]);
        let balancer: Client = over(&directory).without_circuit().spawn().unwrap();
        balancer.force_open("a").unwrap();
        for request in 0..10 {
            assert_eq!(balancer.send(request).await.unwrap().by, "b");
        }
    }

    async fn an_operators_word_is_heard_while_a_member_connects(pace: Pace) {
        let (directory, [_a, b]) = fleet(["a", "b"]);
        let links = Links::default();
        links.set("b", Link::Up(pace.second()));
        let balancer: Client = Balancer::builder()
            .connect_with(directory.reader(), links.connect())
            .circuit(circuit(1, pace.second()))
            .spawn()
            .unwrap();
        in_time(until("it connects", || links.begun("b").len() == 1)).await;
        balancer.force_open("b").unwrap();
        in_time(until("it is connected", || balancer.report().members.len() == 2)).await;
        assert_eq!(exclusions(&balancer, "b"), Exclusion::Circuit.into());
        assert_eq!(balancer.report().member("b").unwrap().circuit, Some(CircuitState::ForcedOpen));
        for request in 0..10 {
            assert_eq!(balancer.send(request).await.unwrap().by, "a");
        }
        assert_eq!((b.built(), b.calls()), (1, 0));
    }

    async fn a_request_avoids_endpoints_as_long_as_there_are_others(_pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        let balancer: Client = over(&directory).key(|request: &u32| request).policy(Maglev::new()).spawn().unwrap();
        for request in 0..50 {
            assert_eq!(balancer.call_avoiding(request, ["a"]).await.unwrap().by, "b", "whoever owns the key");
            assert_eq!(balancer.call_avoiding(request, ["b".to_owned()]).await.unwrap().by, "a");
        }
        balancer.exclude("b").unwrap();
        assert_eq!(balancer.call_avoiding(1, ["a"]).await.unwrap().by, "a", "better than nobody");
        balancer.call_avoiding(1, ["a", "b", "nobody"]).await.unwrap();
        balancer.call_avoiding(1, [""; 0]).await.unwrap();
        assert_eq!((a.calls(), b.calls()), (53, 50));
    }

    async fn endpoints_are_avoided_in_every_pick_for_a_request(pace: Pace) {
        let (directory, [a, b, c]) = fleet(["a", "b", "c"]);
        b.refuse(true);
        let balancer: Client = over(&directory)
            .policy(LeastLoaded::new())
            .retry(Retry::attempts(2).unwrap())
            .fail_fast(60 * pace.second())
            .spawn()
            .unwrap();
        for request in 0..5 {
            assert_eq!(balancer.call_avoiding(request, ["a"]).await.unwrap().by, "c", "also when it is tried again");
        }
        b.turn(Readiness::Failing);
        for request in 0..5 {
            assert_eq!(balancer.call_avoiding(request, ["a"]).await.unwrap().by, "c", "also when one is not ready");
        }
        for name in ["a", "b", "c"] {
            balancer.exclude(name).unwrap();
        }
        let waiting = tokio::spawn(balancer.call_avoiding(9, ["a", "b"]));
        tokio::task::yield_now().await;
        balancer.restore("c").unwrap();
        assert_eq!(in_time(waiting).await.unwrap().unwrap().by, "c", "also when it has waited");
        assert_eq!(a.calls(), 0);
        assert!(c.calls() >= 11);
    }

    async fn panic_overrides_a_forced_circuit_but_no_exclusion(_pace: Pace) {
        let (directory, [a, b, c]) = fleet(["a", "b", "c"]);
        let balancer: Client = over(&directory).policy(PriorityFailover::new(RoundRobin::new())).spawn().unwrap();
        balancer.exclude("a").unwrap();
        balancer.drain("b").unwrap();
        balancer.force_open("c").unwrap();
        for request in 0..10 {
            assert_eq!(balancer.send(request).await.unwrap().by, "c");
        }
        assert_eq!((a.calls(), b.calls(), c.calls()), (0, 0, 10));
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_no_member_is_named_in_the_error() {
    let (directory, [_a]) = fleet(["a"]);
    let balancer: Client = over(&directory).spawn().unwrap();
    for (verb, _) in VERBS.into_iter().chain([(Client::restore as Verb, Exclusion::Custom)]) {
        let error = verb(&balancer, "b").unwrap_err();
        assert_eq!((error.endpoint(), error.to_string().as_str()), ("b", "there is no member \"b\""));
    }
    let member = directory.get(&"a").unwrap();
    assert_eq!((member.status(), balancer.report().eligible()), (Status::Ready, 1));
}
