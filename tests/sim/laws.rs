//! The simulator agrees with itself, and with what is known of its queues.

use std::time::Duration;

use poise::core::policy::{PowerOfTwoChoices, RoundRobin};
use poise::core::{Backend, InFlight, PeakEwma};
use poise::tower::Hedge;

use crate::sim::{Clients, Fault, Report, Scenario, Server, Setup, Stack, Work};

const SECOND: Duration = Duration::from_secs(1);
const MILLI: Duration = Duration::from_millis(1);

/// A bit of everything.
fn mixed(seed: u64) -> Scenario {
    Scenario::new(seed, Clients::Poisson { per_second: 400.0 }, 20 * SECOND)
        .servers(2, Server::sharing(2.5, Work::Exponential(20 * MILLI)))
        .servers(2, Server::fifo(3, Work::Normal { mean: 20 * MILLI, deviation: 8 * MILLI }))
        .servers(2, Server::delay(Work::Constant(30 * MILLI)))
        .fault(Fault::fails(0, 0.5, MILLI).from(2 * SECOND).until(8 * SECOND))
        .fault(Fault::fails(1, 0.5, MILLI).from(5 * SECOND))
        .fault(Fault::hangs(2).from(4 * SECOND).until(12 * SECOND))
        .fault(Fault::slow(4, 10.0).from(6 * SECOND))
        .timeout(200 * MILLI)
        .retries(1)
        .sample_every(SECOND)
}

fn run(scenario: &Scenario, seed: u64) -> Report {
    scenario.run(&PowerOfTwoChoices::seeded(seed), PeakEwma::new_at)
}

fn alone(clients: Clients, seconds: u32, server: Server) -> Scenario {
    Scenario::new(3, clients, seconds * SECOND).servers(1, server)
}

fn turns(scenario: &Scenario) -> Report {
    scenario.run(&RoundRobin::starting_at(0), |_| InFlight::new())
}

fn assert_near(found: f64, expected: f64, what: &str) {
    assert!((found / expected - 1.0).abs() <= 0.03, "{what}: {found} instead of {expected}");
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let first = run(&mixed(5), 6);
    assert_eq!(first, run(&mixed(5), 6));
    assert_ne!(first, run(&mixed(6), 6), "another seed gives another one");
    assert_ne!(first, run(&mixed(5), 7), "and so does another seed of the policy");
}

#[test]
fn every_request_ends_in_one_way_and_every_load_comes_back() {
    let backends: Vec<_> = (0..6).map(|id| Backend::new(id).with_load(InFlight::new())).collect();
    let report = mixed(8).run_on(&PowerOfTwoChoices::seeded(9), &backends);
    assert!(report.answered() > 0 && report.failed > 0 && report.given_up > 0);
    assert_eq!((report.stuck, report.refused), (0, 0));
    let picks: u64 = report.picks.iter().sum();
    assert!(usize::try_from(picks).unwrap() > report.requests(), "some were tried again");
    assert!(backends.iter().all(|backend| backend.load().current() == 0), "{backends:?}");
    assert_eq!(report.samples.len(), 21);
    assert!(report.samples[11].load[2] > 10, "those that were given up pile up where it hangs");
}

/// Erlang's C formula for two workers at a load of `l` each: the mean time is `1 / (1 - l^2)`.
#[test]
fn a_line_with_two_workers_waits_as_long_as_erlang_says() {
    let server = Server::fifo(2, Work::Exponential(MILLI));
    let report = turns(&alone(Clients::Poisson { per_second: 1_400.0 }, 300, server));
    assert_near(report.mean() * 1e3, 1.0 / (1.0 - 0.7 * 0.7), "the mean time");
}

/// What is shared depends on the mean of the work alone: `1 / (1 - l)` for one core, whatever its distribution.
#[test]
fn a_shared_core_is_insensitive_to_the_distribution_of_work() {
    for work in [Work::Constant(MILLI), Work::Exponential(MILLI)] {
        let report = turns(&alone(Clients::Poisson { per_second: 700.0 }, 600, Server::sharing(1.0, work)));
        assert_near(report.mean() * 1e3, 1.0 / (1.0 - 0.7), "the mean time");
    }
}

#[test]
fn a_request_keeps_no_more_than_one_core_busy() {
    let server = Server::sharing(4.0, Work::Constant(MILLI));
    for (callers, millis) in [(1, 1.0), (4, 1.0), (6, 1.5), (8, 2.0)] {
        let clients = Clients::Closed { callers, pause: Duration::ZERO };
        let report = turns(&alone(clients, 1, server));
        assert_near(report.mean() * 1e3, millis, "all callers at once");
    }
}

#[test]
fn a_closed_loop_has_one_request_for_each_caller() {
    let clients = Clients::Closed { callers: 10, pause: 10 * MILLI };
    let report = turns(&alone(clients, 10, Server::delay(Work::Constant(40 * MILLI))).sample_every(SECOND));
    assert_near(report.requests() as f64, 10.0 * 10.0 / 0.05, "the number of requests");
    assert!(report.samples.iter().all(|sample| sample.load[0] <= 10), "{:?}", report.samples);
}

#[test]
fn what_a_server_had_when_it_hung_goes_on_afterwards() {
    let clients = Clients::Constant { per_second: 100.0 };
    for server in [Server::delay(Work::Constant(5 * MILLI)), Server::sharing(1.0, Work::Constant(5 * MILLI))]
    {
        let hung = |fault| turns(&alone(clients, 1, server).fault(fault));
        let passing = hung(Fault::hangs(0).from(502 * MILLI).until(702 * MILLI));
        assert_eq!((passing.answered(), passing.stuck), (100, 0));
        assert_eq!(passing.quantile(0.5), 5 * MILLI);
        assert!(passing.quantile(1.0) >= 205 * MILLI);
        let lasting = hung(Fault::hangs(0).from(502 * MILLI));
        assert_eq!((lasting.answered(), lasting.stuck), (50, 50));
    }
}

#[test]
fn a_retry_goes_to_a_server_that_was_not_tried() {
    let scenario = Scenario::new(1, Clients::Constant { per_second: 100.0 }, 10 * SECOND)
        .servers(2, Server::delay(Work::Constant(5 * MILLI)))
        .fault(Fault::fails(0, 1.0, MILLI))
        .retries(1);
    let report = turns(&scenario);
    assert_eq!((report.answered(), report.failed), (1_000, 0));
    assert_eq!(turns(&scenario.retries(0)).failed, 500);
}

/// Everything at once that clients and servers can do.
fn crowd(seed: u64) -> Scenario {
    let work = Work::Bimodal { usual: 15 * MILLI, rare: 90 * MILLI, chance: 0.05 };
    Scenario::new(seed, Clients::Poisson { per_second: 400.0 }, 10 * SECOND)
        .servers(4, Server::sharing(2.0, work).with_antagonist(8.0, SECOND))
        .servers(2, Server::fifo(2, work).with_limit(9))
        .fault(Fault::fails(0, 0.3, MILLI).from(2 * SECOND).until(4 * SECOND))
        .fault(Fault::hangs(1).from(3 * SECOND).until(5 * SECOND))
        .leaves(3, 2 * SECOND)
        .returns(3, 6 * SECOND)
        .joins(5, 3 * SECOND)
        .network(Work::Exponential(MILLI))
        .attempt_timeout(300 * MILLI)
        .timeout(SECOND)
        .retries(2)
        .hedge(Hedge::after_quantile(0.9).unwrap())
        .fan_out(3)
        .sample_every(SECOND)
}

#[test]
fn many_clients_of_every_kind_agree_with_themselves_and_lose_no_request() {
    for stack in Stack::all() {
        let run = |seed| stack.run(&crowd(seed), &Setup::new(seed).with_clients(7));
        let report = run(3);
        assert_eq!(report, run(3), "{}", stack.name());
        assert_ne!(report, run(4), "{}", stack.name());
        assert_eq!(report.stuck, 0, "{}", stack.name());
        let last = report.samples.last().expect("it is sampled");
        assert!(last.answered + last.unanswered <= report.requests() as u64);
        assert!(report.answered() > 0 && report.errors() > 0 && report.retries > 0 && report.hedges > 0);
        assert_eq!(report.probes > 0, matches!(stack, Stack::Prequal(_)), "{}", stack.name());
        assert!(
            report.first[5].is_some_and(|at| at >= 3 * SECOND),
            "{}: it was not there before",
            stack.name()
        );
        let counted: usize = report.histogram().iter().map(|(_, count)| count).sum();
        assert_eq!(counted, report.answered());
    }
}

#[test]
fn a_limit_refuses_what_is_too_much_and_the_network_delays_both_ways() {
    let server = Server::fifo(1, Work::Constant(10 * MILLI)).with_limit(1);
    let clients = Clients::Closed { callers: 2, pause: Duration::ZERO };
    let report = turns(&alone(clients, 1, server).network(Work::Constant(2 * MILLI)));
    assert_eq!(report.quantile(1.0), 14 * MILLI);
    assert!(report.failed > 50, "{} of {}", report.failed, report.requests());
}

#[test]
fn whoever_leaves_gets_nothing_until_it_returns() {
    let scenario = Scenario::new(1, Clients::Constant { per_second: 100.0 }, 4 * SECOND)
        .servers(2, Server::delay(Work::Constant(MILLI)))
        .leaves(1, SECOND)
        .returns(1, 3 * SECOND)
        .sample_every(SECOND);
    let report = turns(&scenario);
    let shares = [0, 1, 2, 3].map(|at| report.share_between(1, at * SECOND, (at + 1) * SECOND));
    assert!((shares[0] - 0.5).abs() < 0.02 && (shares[3] - 0.5).abs() < 0.02, "{shares:?}");
    assert_eq!((report.picks[1], report.errors()), (100, 0), "{shares:?}");
}
