//! What the balancer promises.

#![cfg(all(feature = "full", not(loom)))]

#[path = "../support"]
mod support {
    pub(crate) mod fleet;
    pub(crate) mod lazy;
    pub(crate) mod links;
    pub(crate) mod pace;
    pub(crate) mod plot;
    pub(crate) mod pool_caller;
    pub(crate) mod pool_endpoints;
    pub(crate) mod pool_policies;
    pub(crate) mod pool_traffic;
    pub(crate) mod script;
    pub(crate) mod told;
    pub(crate) mod told_health;
}

mod admission_races;
mod backoff;
mod bad_input;
mod circuit;
mod commands;
mod connecting;
mod dispatch;
mod drains;
mod explain;
mod guarded;
mod handed;
mod hedge;
mod interleaving;
mod joint;
mod limits;
mod load;
mod membership;
mod middleware;
mod operators;
mod outliers;
mod panic_mode;
mod panics;
mod probes;
mod recovery;
mod refresh;
mod reports;
mod retry;
mod sinkhole;
mod slow_start;
mod trackers;
mod unsent;
mod waiting;
