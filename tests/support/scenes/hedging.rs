//! A page that waits for a hundred answers, from servers that are seldom slow.
//!
//! Source: J. Dean and L. A. Barroso, "The tail at scale", CACM 56(2), 2013.

use poise::tower::Hedge;

use super::{MILLI, SECOND};
use crate::sim::{Clients, Scenario, Server, Setup, Work};

/// One in a thousand answers takes a second instead of ten milliseconds. With `hedged` clients ask a second server when the
/// first takes longer than 95 % did.
pub(crate) fn scenario(seed: u64, hedged: bool) -> Scenario {
    let work = Work::Bimodal { usual: 10 * MILLI, rare: SECOND, chance: 0.001 };
    let scenario = Scenario::new(seed, Clients::Poisson { per_second: 50.0 }, 60 * SECOND)
        .servers(50, Server::delay(work))
        .network(Work::Exponential(MILLI / 2))
        .fan_out(100)
        .warm_up(5 * SECOND)
        .sample_every(SECOND);
    if hedged { scenario.hedge(Hedge::new()) } else { scenario }
}

pub(crate) fn setup(seed: u64) -> Setup {
    Setup::new(seed)
}
