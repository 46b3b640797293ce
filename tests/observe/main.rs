//! What observers hear.

#![cfg(all(feature = "observe", not(loom)))]

#[path = "../support"]
mod support {
    pub(crate) mod clock;
    #[cfg(feature = "full")]
    pub(crate) mod exported;
    #[cfg(feature = "full")]
    pub(crate) mod scripted;
}

mod attempt;
#[cfg(feature = "full")]
mod balancer;
#[cfg(feature = "full")]
mod metrics;
mod policy;
