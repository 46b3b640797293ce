//! What the timers and the background work on Tokio promise.

#![cfg(all(feature = "tokio", not(loom)))]

#[cfg(feature = "discovery")]
#[path = "../support"]
mod support {
    #[expect(dead_code, reason = "these tests wait instead of polling by hand")]
    pub(crate) mod snapshots;
}

#[cfg(feature = "discovery")]
mod discovery;
#[cfg(feature = "health")]
mod health;
mod probe_driver;
#[cfg(feature = "health")]
mod probe_set;
#[cfg(feature = "discovery")]
mod refresh;
