//! Ten servers are restarted one after the other.

use super::{MILLI, SECOND};
use crate::sim::{Clients, Fault, Scenario, Server, Setup, Work};

const SERVERS: usize = 10;

/// Every three seconds one is down for a second. Clients are told half a second before, or never. Failures are tried again
/// once.
pub(crate) fn scenario(seed: u64, announced: bool) -> Scenario {
    let scenario = Scenario::new(seed, Clients::Poisson { per_second: 2_000.0 }, 40 * SECOND)
        .servers(SERVERS, Server::sharing(8.0, Work::Exponential(20 * MILLI)))
        .network(Work::Constant(MILLI / 4))
        .retries(1)
        .sample_every(100 * MILLI);
    (0..SERVERS).zip(1_u32..).fold(scenario, |scenario, (server, number)| {
        let down = number * 3 * SECOND;
        let up = down + SECOND;
        let scenario = scenario.fault(Fault::fails(server, 1.0, MILLI).from(down).until(up));
        if announced {
            scenario.leaves(server, down.saturating_sub(SECOND / 2)).returns(server, up)
        } else {
            scenario
        }
    })
}

pub(crate) fn setup(seed: u64) -> Setup {
    Setup::new(seed).clients(4)
}
