//! One of eleven servers becomes slow for a while.
//!
//! Source: "Beyond round robin: load balancing for latency", Buoyant, 2016. One of eleven servers of 167 ms takes two
//! seconds in the middle half of a minute with 1,000 requests per second.

use super::{MILLI, SECOND};
use crate::sim::{Clients, Fault, Scenario, Server, Work};

pub(crate) const SERVERS: usize = 11;

pub(crate) fn scenario(seed: u64) -> Scenario {
    let work = Work::Normal { mean: 167 * MILLI, deviation: 5 * MILLI };
    Scenario::new(seed, Clients::Constant { per_second: 1_000.0 }, 60 * SECOND)
        .servers(SERVERS, Server::delay(work))
        .fault(Fault::slow(SERVERS - 1, 2_000.0 / 167.0).from(15 * SECOND).until(45 * SECOND))
        .sample_every(SECOND)
}
