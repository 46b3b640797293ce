//! Endpoints that refuse requests, and come back.

use std::time::Duration;

use poise::core::{Exclusion, InFlight, LoadTracker};
use poise::health::{BudgetConfig, CircuitState};
use poise::tower::Balancer;
use tokio::time::{Instant, interval, sleep};

use crate::support::fleet::{self, circuit, fleet, over};
use crate::support::pace::{Pace, in_time, on_both_runtimes, until};
use crate::support::script::Fake;

const MILLI: Duration = Duration::from_millis(1);

/// Sends requests at a fixed rate, whatever becomes of them, and returns how many failed.
async fn open_loop<L>(balancer: &Balancer<Fake, u32, L>, requests: u32, every: Duration) -> u32
where
    L: LoadTracker<Ticket: Send> + Send + Sync + 'static,
{
    let mut tick = interval(every);
    let mut sent = Vec::new();
    for request in 0..requests {
        tick.tick().await;
        sent.push(tokio::spawn(balancer.send(request)));
    }
    let mut failed = 0;
    for request in sent {
        failed += u32::from(in_time(request).await.unwrap().is_err());
    }
    failed
}

/// Checks that one of `scripts` whose connections are refused costs hardly a request.
async fn one_is_down(pace: Pace, names: [&'static str; 5], members: usize) {
    let (mut directory, scripts) = fleet(names);
    for name in &names[members..] {
        fleet::remove(&mut directory, name);
    }
    for script in &scripts {
        script.answer_after(20 * MILLI);
    }
    scripts[0].answer_after(MILLI);
    scripts[0].refuse(true);
    // All settings are the defaults; where time is short so is the number of requests, but not that of failures.
    let (requests, every, tolerated) = match pace {
        Pace::Paused => (4_000, 2 * MILLI, 40),
        Pace::Real => (300, MILLI, 20),
    };
    let balancer = over(&directory).spawn().unwrap();
    let failed = open_loop(&balancer, requests, every).await;
    assert!(failed <= tolerated, "{failed} of {requests} failed\n{}", balancer.report());
    assert!(failed > 0, "the endpoint that is down was tried");
}

on_both_runtimes! {
    async fn one_of_two_that_refuses_costs_hardly_a_request(pace: Pace) {
        one_is_down(pace, ["a", "b", "c", "d", "e"], 2).await;
    }

    async fn one_of_five_that_refuses_costs_hardly_a_request(pace: Pace) {
        one_is_down(pace, ["a", "b", "c", "d", "e"], 5).await;
    }

    async fn after_both_were_down_the_first_call_after_the_back_off_succeeds(pace: Pace) {
        let (directory, scripts) = fleet(["a", "b"]);
        for script in &scripts {
            script.refuse(true);
        }
        let balancer: Balancer<Fake, u32> =
            over(&directory).circuit(circuit(5, pace.second())).spawn().unwrap();
        for request in 0..100 {
            in_time(balancer.send(request)).await.unwrap_err();
        }
        let report = balancer.report();
        assert_eq!(report.eligible(), 1, "one always stays\n{report}");
        for script in &scripts {
            script.refuse(false);
        }
        sleep(pace.second() + 5 * MILLI).await;
        let start = Instant::now();
        for request in 0..100 {
            in_time(balancer.send(request)).await.expect("both are up");
        }
        pace.check_at_once(start);
        in_time(until("both serve again", || balancer.report().eligible() == 2)).await;
    }

    async fn an_open_circuit_ends_by_itself(pace: Pace) {
        let (directory, [a, _b]) = fleet(["a", "b"]);
        a.refuse(true);
        let balancer: Balancer<Fake, u32, InFlight> = over(&directory)
            .load(InFlight::new)
            .circuit(circuit(1, pace.second()))
            .spawn()
            .unwrap();
        // The driver has gone to sleep before the circuit opens.
        sleep(5 * MILLI).await;
        let start = Instant::now();
        while balancer.send(1).await.is_ok() {}
        let report = balancer.report();
        assert_eq!(report.member("a").unwrap().exclusions, Exclusion::Circuit.into());
        assert_eq!(report.member("a").unwrap().trips, 1);
        // Nothing is sent, so that only the driver can bring it back.
        sleep(pace.second() + 5 * MILLI).await;
        in_time(until("it is eligible", || balancer.report().eligible() == 2)).await;
        let since = balancer.report().member("a").unwrap().since;
        assert!(since <= start.elapsed().saturating_sub(pace.second()), "that was noted when it happened");
    }

    async fn a_lone_member_is_waited_for_until_its_cooldown_is_over(pace: Pace) {
        let (directory, [a]) = fleet(["a"]);
        a.refuse(true);
        let balancer: Balancer<Fake, u32> = over(&directory)
            .circuit(circuit(1, pace.second()))
            .exclusions(BudgetConfig::default().with_circuits(1.0).unwrap().with_min_eligible(0))
            .spawn()
            .unwrap();
        sleep(5 * MILLI).await;
        balancer.send(1).await.unwrap_err();
        a.refuse(false);
        let start = Instant::now();
        let waiting: Vec<_> = (0..10).map(|request| tokio::spawn(balancer.send(request))).collect();
        for request in waiting {
            in_time(request).await.unwrap().expect("it came back within the time of failing fast");
            pace.check(start, pace.second());
        }
        assert_eq!(balancer.report().members[0].circuit, Some(CircuitState::Closed { failures: 0 }));
    }

    async fn while_a_probe_is_under_way_its_endpoint_gets_nothing_else(pace: Pace) {
        let (directory, [a, b]) = fleet(["a", "b"]);
        a.refuse(true);
        let balancer: Balancer<Fake, u32, InFlight> = over(&directory)
            .load(InFlight::new)
            .circuit(circuit(1, pace.second()))
            .spawn()
            .unwrap();
        while balancer.send(1).await.is_ok() {}
        a.refuse(false);
        for _ in 0..3 {
            a.hang();
            sleep(pace.second() + 5 * MILLI).await;
            let mut probe = None;
            while a.under_way() == 0 {
                probe = Some(tokio::spawn(balancer.send(1)));
                tokio::task::yield_now().await;
                sleep(MILLI).await;
            }
            let before = b.calls();
            for request in 0..50 {
                assert_eq!(in_time(balancer.send(request)).await.unwrap().by, "b");
            }
            assert_eq!((a.under_way(), b.calls() - before), (1, 50));
            // The next round shows that the endpoint got another chance.
            probe.unwrap().abort();
            in_time(until("the permit is back", || balancer.report().eligible() == 2)).await;
        }
        a.answer_after(Duration::ZERO);
        while balancer.send(1).await.unwrap().by != "a" {}
        assert_eq!(
            balancer.report().member("a").unwrap().circuit,
            Some(CircuitState::Closed { failures: 0 })
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_circuit_that_reopens_waits_longer_each_time() {
    let (directory, [a, _b]) = fleet(["a", "b"]);
    a.refuse(true);
    // By this load an error makes nobody unattractive.
    let balancer: Balancer<Fake, u32, InFlight> = over(&directory).load(InFlight::new).spawn().unwrap();
    open_loop(&balancer, 30_000, 2 * MILLI).await;
    let trips = balancer.report().member("a").unwrap().trips;
    assert!((5..=8).contains(&trips), "{trips} trips in a minute: after 1, 2, 4, 8, 16 and 32 seconds");
    assert_eq!(a.calls(), 4 + usize::try_from(trips).unwrap(), "one probe each time");
}
