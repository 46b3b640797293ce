//! An eleventh server joins ten that are under load, and is slow at first.

use std::time::Duration;

use super::{MILLI, SECOND};
use crate::sim::{Clients, Fault, Scenario, Server, Setup, Work};

pub(crate) const SERVERS: usize = 11;
pub(crate) const NEWCOMER: usize = 10;
pub(crate) const JOINS: Duration = Duration::from_secs(10);

/// For `cold` after it has joined, work takes the newcomer three times as long.
pub(crate) fn scenario(seed: u64, cold: Duration) -> Scenario {
    Scenario::new(seed, Clients::Poisson { per_second: 2_800.0 }, 30 * SECOND)
        .servers(SERVERS, Server::sharing(8.0, Work::Exponential(20 * MILLI)))
        .joins(NEWCOMER, JOINS)
        .fault(Fault::slow(NEWCOMER, 3.0).until(JOINS + cold))
        .warm_up(5 * SECOND)
        .network(Work::Constant(MILLI / 4))
        .sample_every(100 * MILLI)
}

pub(crate) fn setup(seed: u64) -> Setup {
    Setup::new(seed).clients(4)
}
