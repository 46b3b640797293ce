//! One of five servers stops answering.

use super::{MILLI, SECOND};
use crate::sim::{Clients, Fault, Scenario, Server, Work};

pub(crate) const HUNG: usize = 2;

/// Callers wait for ever.
pub(crate) fn without_timeouts(seed: u64) -> Scenario {
    Scenario::new(seed, Clients::Poisson { per_second: 1_000.0 }, 95 * SECOND)
        .servers(5, Server::delay(Work::Constant(10 * MILLI)))
        .fault(Fault::hangs(HUNG).from(5 * SECOND))
        .sample_every(SECOND)
}

/// Callers give up after 100 ms.
pub(crate) fn with_timeouts(seed: u64) -> Scenario {
    without_timeouts(seed).timeout(100 * MILLI)
}
