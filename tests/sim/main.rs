//! What the simulator finds, and that it may be believed.

#![cfg(feature = "full")]

#[path = "../support/scenes/mod.rs"]
mod scenes;
#[path = "../support/sim/mod.rs"]
mod sim;

mod changes;
mod faults;
mod laws;
mod linkerd;
mod prequal;
mod retries;
mod supermarket;
mod uneven;
