//! What most programs use: `use poise::prelude::*;`.
//!
//! Each feature adds its part. Names that a program is likely to have of its own are left out; they are found in their
//! modules.
//!
//! | names | features |
//! |---|---|
//! | all others | |
//! | `Directory` | `discovery` |
//! | `CircuitConfig`, `HealthChecked`, `PassiveHealth` | `health` |
//! | `Recorder` | `observe` |
//! | `Balancer`, `BalancerError`, `Retry` | `tower`, `discovery` and `health`; `Builder::spawn` also takes `tokio` |
//!
//! A compiler that is told `use poise::prelude::*` calls a name whose feature is off undeclared, without a hint.

pub use crate::core::policy::{LeastLoaded, Maglev, PowerOfTwoChoices, PriorityFailover, Random, RoundRobin};
pub use crate::core::{
    Attributes, Backend, Candidate, InFlight, LoadMetric, LoadTracker, Now, Outcome, PeakEwma, PickError,
    Policy, PolicyExt, Prepare, Selection, Tracked, View, Weight,
};
#[cfg(feature = "discovery")]
pub use crate::discovery::Directory;
#[cfg(feature = "health")]
pub use crate::health::{CircuitConfig, HealthChecked, PassiveHealth};
#[cfg(feature = "observe")]
pub use crate::observe::Recorder;
#[cfg(all(feature = "tower", feature = "discovery", feature = "health"))]
pub use crate::tower::{Balancer, BalancerError, Retry};
