//! What balancers say that they would do.

use poise::core::policy::{Maglev, PriorityFailover, Reason, RoundRobin};
use poise::core::{Exclusion, InFlight};

use crate::support::fleet::{circuit, fleet, over};
use crate::support::pace::{Pace, on_both_runtimes};

on_both_runtimes! {
    async fn the_next_request_goes_where_it_says_and_nothing_is_left_behind(_pace: Pace) {
        let (directory, _scripts) = fleet(["a", "b", "c"]);
        let balancer = over(&directory).policy(RoundRobin::new()).load(InFlight::new).spawn().unwrap();
        for request in 0..20 {
            let before = balancer.report();
            let said = balancer.explain(&request);
            assert_eq!(said, balancer.explain(&request));
            for (before, after) in before.members.iter().zip(&balancer.report().members) {
                assert_eq!((before.picks, before.in_flight), (after.picks, after.in_flight));
            }
            let answer = balancer.send(request).await.unwrap();
            assert_eq!(said.chosen.as_deref(), Some(answer.by), "{said}");
        }
    }

    async fn keys_and_levels_are_explained_by_the_request(_pace: Pace) {
        let (directory, _scripts) = fleet(["a", "b", "c"]);
        let policy = PriorityFailover::new(Maglev::new());
        let balancer = over(&directory).policy(policy).key(|request: &u32| request).spawn().unwrap();
        for request in 0..20 {
            let said = balancer.explain(&request);
            let reasons = said.decision.clone().unwrap().reasons;
            assert!(
                matches!(
                    reasons[..],
                    [Reason::Level { level: 0, panic: false }, Reason::Key { kept: true, .. }]
                ),
                "{said}"
            );
            assert_eq!(said.chosen.as_deref(), Some(balancer.send(request).await.unwrap().by));
        }
    }

    async fn an_open_circuit_is_why_a_member_is_passed_over(pace: Pace) {
        let (directory, [a, _b]) = fleet(["a", "b"]);
        a.refuse(true);
        let balancer = over(&directory).circuit(circuit(1, 600 * pace.second())).spawn().unwrap();
        while balancer.report().members[0].exclusions.is_empty() {
            drop(balancer.send(1).await);
        }
        let said = balancer.explain(&1);
        assert_eq!(said.chosen.as_deref(), Some("b"));
        assert_eq!(said.passed_over[0].name, "a");
        assert!(said.passed_over[0].exclusions.contains(Exclusion::Circuit), "{said}");
    }
}
