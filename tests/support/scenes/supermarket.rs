//! Many servers with one worker each, exponential work, random arrivals.
//!
//! With a load of `l` and `d` choices by queue length a request stays, on average and in multiples of its work,
//! `sum_i l^((d^i - d)/(d - 1))`; one choice gives the `1 / (1 - l)` of M/M/1.
//!
//! Source: M. Mitzenmacher, "The power of two choices in randomized load balancing", IEEE TPDS 12(10), 2001. It is the limit
//! for many servers; for 500 it is off by about 0.2 % at a load of 0.95.

use std::time::Duration;

use crate::sim::{Clients, Scenario, Server, Work};

pub(crate) const SERVERS: usize = 500;

/// Simulates `units` of the mean work, a second, after `warm_up` of them.
pub(crate) fn scenario(seed: u64, load: f64, warm_up: f64, units: f64) -> Scenario {
    let clients = Clients::Poisson { per_second: SERVERS as f64 * load };
    Scenario::new(seed, clients, Duration::from_secs_f64(warm_up + units))
        .warm_up(Duration::from_secs_f64(warm_up))
        .servers(SERVERS, Server::fifo(1, Work::Exponential(Duration::from_secs(1))))
}

/// Returns the mean time that the theory gives for `choices`.
pub(crate) fn theory(load: f64, choices: u32) -> f64 {
    match choices {
        1 => 1.0 / (1.0 - load),
        // The terms soon vanish.
        _ => (1..=12)
            .map(|i| load.powi((choices.pow(i) - choices).div_euclid(choices - 1).cast_signed()))
            .sum(),
    }
}
