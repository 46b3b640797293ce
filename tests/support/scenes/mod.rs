//! What is simulated: each scene once, for the tables and for the tests.

#![allow(dead_code, reason = "each program that includes the scenes uses a part of them")]

pub(crate) mod balls;
pub(crate) mod hedging;
pub(crate) mod hung;
pub(crate) mod linkerd;
pub(crate) mod newcomer;
pub(crate) mod restart;
pub(crate) mod sinkhole;
pub(crate) mod storm;
pub(crate) mod supermarket;
pub(crate) mod testbed;

use std::time::Duration;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MILLI: Duration = Duration::from_millis(1);
