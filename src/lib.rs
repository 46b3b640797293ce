//! Load balancing for Rust services.

pub mod core;
#[cfg(feature = "discovery")]
pub mod discovery;
#[cfg(feature = "health")]
pub mod health;
mod sync;
