//! What balances of services promise.

#![cfg(all(feature = "tower", not(loom)))]

#[cfg(feature = "full")]
#[path = "../support"]
mod support {
    pub(crate) mod flag;
    #[expect(dead_code, reason = "the tests of the balancer use all of it")]
    pub(crate) mod fleet;
    pub(crate) mod following;
    #[expect(dead_code, reason = "the tests of the balancer use all of it")]
    pub(crate) mod pool_policies;
    #[expect(dead_code, reason = "the tests of the balancer use all of it")]
    pub(crate) mod script;
    pub(crate) mod standing;
    pub(crate) mod wakes;
    pub(crate) mod workshop;
}

#[cfg(feature = "full")]
mod balance;
#[cfg(feature = "full")]
mod balance_attempts;
#[cfg(feature = "full")]
mod balance_model;
mod balance_trackers;
#[cfg(feature = "full")]
mod balance_waiting;
#[cfg(feature = "full")]
mod hedge_delay;
#[cfg(feature = "full")]
mod reconcile;
#[cfg(feature = "full")]
mod retry_budget;
mod server_load;
#[cfg(feature = "full")]
mod streaming;
