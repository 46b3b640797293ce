//! Twenty servers, the slowest of which takes some times as long as the fastest, at nine tenths of what all can do.
//!
//! With two choices those in the slow half get a quarter of all requests at least, whatever their queues.

use std::time::Duration;

use super::{MILLI, SECOND};
use crate::sim::{Clients, Scenario, Server, Setup, Work};

pub(crate) const SERVERS: u32 = 20;
const WORKERS: usize = 2;
const FASTEST: Duration = Duration::from_millis(20);

/// Speeds are spread evenly, from 20 ms of work to `spread` times as much.
pub(crate) fn scenario(seed: u64, spread: u32) -> Scenario {
    let mean = |number| FASTEST + FASTEST * (spread - 1) * number / (SERVERS - 1);
    let capacity: f64 = (0..SERVERS).map(|number| WORKERS as f64 / mean(number).as_secs_f64()).sum();
    let scenario = Scenario::new(seed, Clients::Poisson { per_second: 0.9 * capacity }, 60 * SECOND)
        .network(Work::Constant(MILLI / 4))
        .warm_up(10 * SECOND)
        .sample_every(SECOND);
    (0..SERVERS).fold(scenario, |scenario, number| {
        scenario.servers(1, Server::fifo(WORKERS, Work::Exponential(mean(number))))
    })
}

pub(crate) fn setup(seed: u64) -> Setup {
    Setup::new(seed).with_clients(4)
}
