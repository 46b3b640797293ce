//! One of ten servers fails whatever it gets, at once.

use super::{MILLI, SECOND};
use crate::sim::{Clients, Fault, Scenario, Server, Setup, Work};

pub(crate) const SERVERS: usize = 10;
pub(crate) const BROKEN: usize = 4;
pub(crate) const FROM: std::time::Duration = std::time::Duration::from_secs(5);

pub(crate) fn scenario(seed: u64) -> Scenario {
    Scenario::new(seed, Clients::Poisson { per_second: 2_000.0 }, 20 * SECOND)
        .servers(SERVERS, Server::sharing(8.0, Work::Exponential(20 * MILLI)))
        .fault(Fault::fails(BROKEN, 1.0, MILLI).from(FROM))
        .network(Work::Constant(MILLI / 4))
        .sample_every(MILLI * 500)
}

pub(crate) fn setup(seed: u64) -> Setup {
    Setup::new(seed).clients(4)
}
