//! A hundred clients of a hundred servers that share their machines with others.
//!
//! Source: B. Wydrowski, R. Kleinberg, S. M. Rumble and A. Archer, "Load is not what you should balance: introducing
//! Prequal", NSDI 2024, section 5: servers with an allocation of a tenth of a machine, work that is normal with a mean and a
//! deviation of 80 ms and clipped at zero, a timeout of five seconds. What antagonists demand is not published; here it is
//! uniform from nothing to an eighth more than the machine has, drawn anew every 20 seconds on average, so that at any time
//! one in five servers has no more than its allocation.

use std::time::Duration;

use super::{MILLI, SECOND};
use crate::sim::{Clients, Probing, Report, Scenario, Server, Setup, Stack, Work};

pub(crate) const CLIENTS: usize = 100;
const SERVERS: usize = 100;
/// The cores that a server is guaranteed, and those of its machine.
const ALLOCATION: f64 = 6.4;
const MACHINE: f64 = 64.0;
/// The mean of a normal distribution with mean and deviation 1 that is clipped at zero.
const CLIPPED_MEAN: f64 = 1.083_315;
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);
/// Reports count after ten seconds, and are read once in a second.
const WARM_UP: Duration = Duration::from_secs(13);

/// The loads of the ramp, in multiples of the allocation.
pub(crate) const RAMP: [f64; 9] = [0.75, 0.83, 0.93, 1.03, 1.14, 1.27, 1.41, 1.57, 1.74];

fn scenario(seed: u64, load: f64, time: Duration) -> Scenario {
    let busy = SERVERS as f64 * ALLOCATION / (0.08 * CLIPPED_MEAN);
    Scenario::new(seed, Clients::Poisson { per_second: load * busy }, WARM_UP + time)
        .warm_up(WARM_UP)
        .timeout(TIMEOUT)
        .network(Work::Constant(MILLI / 4))
        .sample_every(SECOND)
}

fn work(factor: u32) -> Work {
    Work::Normal { mean: factor * 80 * MILLI, deviation: factor * 80 * MILLI }
}

/// All servers alike, with antagonists, at a load in multiples of what they are guaranteed.
pub(crate) fn ramp(seed: u64, load: f64, time: Duration) -> Scenario {
    scenario(seed, load, time).servers(SERVERS, server(1))
}

/// Half of the servers twice as slow, with antagonists, at a load in multiples of what all are guaranteed.
pub(crate) fn uneven(seed: u64, load: f64, time: Duration) -> Scenario {
    // Half of them do one unit of work and half of them half of one.
    scenario(seed, load * 0.75, time).servers(SERVERS / 2, server(1)).servers(SERVERS / 2, server(2))
}

fn server(factor: u32) -> Server {
    Server::sharing(ALLOCATION, work(factor)).with_antagonist(MACHINE, 20 * SECOND)
}

/// Probing that throws few answers away, so that few probes are enough to keep a pool: what the rate of probes is varied
/// with.
pub(crate) const FEW_REMOVALS: Probing = Probing { rate: 3.0, removals: 0.25, quantile: 0.840_896_4 };

pub(crate) fn run(stack: Stack, scenario: &Scenario, seed: u64) -> Report {
    stack.run(scenario, &Setup::new(seed).clients(CLIENTS))
}
