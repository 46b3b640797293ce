//! A limit that finds out how much a member bears.

mod config;
mod controller;
#[cfg(all(test, loom))]
mod models;
mod samples;
mod tracker;

pub use self::config::{GradientConfig, GradientConfigError};
pub use self::tracker::{GradientLimit, GradientTicket};
