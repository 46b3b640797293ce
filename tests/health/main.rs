//! What health promises: circuits, probes, outliers, limits and budgets.

#![cfg(feature = "health")]

#[path = "../support"]
mod support {
    pub(crate) mod active_model;
    pub(crate) mod circuit_model;
    pub(crate) mod circuits;
    pub(crate) mod clock;
    pub(crate) mod ejector_model;
    pub(crate) mod limit_model;
    pub(crate) mod member;
    pub(crate) mod outliers;
    pub(crate) mod policies;
    pub(crate) mod probing;
    pub(crate) mod tally;
}

mod active;
mod active_model;
mod budget;
mod checked;
mod circuit;
mod circuit_model;
mod cooldown;
mod ejector;
mod ejector_model;
mod forced;
mod guide;
mod limit;
mod outlier;
mod probe_schedule;
mod slow_start;
mod window;
