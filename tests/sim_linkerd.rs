//! What callers feel when one of eleven servers becomes slow for a while.
//!
//! Source: "Beyond round robin: load balancing for latency", Buoyant, 2016. One of eleven servers of 167 ms takes two
//! seconds in the middle half of a minute with 1,000 requests per second.
#![cfg(feature = "full")]

#[path = "support/sim/mod.rs"]
mod sim;

use std::time::Duration;

use poise::core::policy::{LeastLoaded, PowerOfTwoChoices, RoundRobin};
use poise::core::{Backend, InFlight, Now, PeakEwma, Policy};

use crate::sim::{Clients, Fault, Scenario, Server, SimLoad, Work};

const SEEDS: [u64; 3] = [1, 2, 3];

fn scenario(seed: u64) -> Scenario {
    let secs = Duration::from_secs;
    let work = Work::Normal { mean: Duration::from_millis(167), deviation: Duration::from_millis(5) };
    Scenario::new(seed, Clients::Constant { per_second: 1_000.0 }, secs(60))
        .servers(11, Server::delay(work))
        .fault(Fault::slow(10, 2_000.0 / 167.0).from(secs(15)).until(secs(45)))
}

/// Returns the smallest and the largest share of requests under a second, over all seeds.
fn quick<L, P>(policy: impl Fn(u64) -> P, load: impl Fn(&Now) -> L) -> (f64, f64)
where
    L: SimLoad,
    P: Policy<Backend<usize, (), L>, u64>,
{
    let shares = SEEDS.map(|seed| {
        let report = scenario(seed).run(&policy(seed), &load);
        assert_eq!(report.requests(), 60_000);
        let share = report.share_within(Duration::from_secs(1));
        println!("seed {seed}: {:.3} % under a second", share * 100.0);
        share
    });
    (shares.into_iter().fold(1.0, f64::min), shares.into_iter().fold(0.0, f64::max))
}

#[test]
fn turns_send_the_slow_server_its_full_share() {
    let (_, most) = quick(|_| RoundRobin::starting_at(0), |_| InFlight::new());
    assert!(most <= 0.96, "half of an eleventh of the requests is slow: {most}");
}

#[test]
fn the_least_loaded_server_is_seldom_the_slow_one() {
    let (least, _) = quick(LeastLoaded::seeded, |_| InFlight::new());
    assert!(least >= 0.994, "{least}");
}

#[test]
fn two_choices_by_latency_and_count_hardly_notice_the_slow_server() {
    let (least, _) = quick(PowerOfTwoChoices::seeded, PeakEwma::new_at);
    assert!(least >= 0.999, "{least}");
}
