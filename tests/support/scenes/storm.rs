//! Retries that keep an overload alive when what began it is over.
//!
//! Source: N. Bronson, A. Aghayev, A. Charapko and T. Zhu, "Metastable failures in distributed systems", Workshop on Hot
//! Topics in Operating Systems 2021. Servers
//! at 80 % load hang for two seconds. Attempts are given up after half a second and made again up to three times; a server
//! works on what it has begun all the same, and its queue holds a little more than half a second of work.

use std::time::Duration;

use super::{MILLI, SECOND};
use crate::sim::{Clients, Fault, Scenario, Server, Setup, Work};

const SERVERS: usize = 10;
const WORKERS: usize = 8;
/// Requests per second that all servers can do.
const CAPACITY: f64 = 4_000.0;
pub(crate) const FROM: Duration = Duration::from_secs(10);
pub(crate) const UNTIL: Duration = Duration::from_secs(12);
pub(crate) const END: Duration = Duration::from_secs(40);

pub(crate) fn scenario(seed: u64) -> Scenario {
    // 20 ms of work for each of eight workers: 200 requests in a queue are half a second of work.
    let server = Server::fifo(WORKERS, Work::Exponential(20 * MILLI)).with_limit(228);
    let scenario = Scenario::new(seed, Clients::Poisson { per_second: 0.8 * CAPACITY }, END)
        .servers(SERVERS, server)
        .attempt_timeout(500 * MILLI)
        .retries(3)
        .network(Work::Constant(MILLI / 4))
        .sample_every(SECOND / 4);
    (0..SERVERS)
        .fold(scenario, |scenario, server| scenario.fault(Fault::hangs(server).from(FROM).until(UNTIL)))
}

pub(crate) fn setup(seed: u64) -> Setup {
    Setup::new(seed).clients(4)
}
