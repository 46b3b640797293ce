//! A circuit against its reference model, over events, forced states and clocks that jump.

#![no_main]

use std::time::Instant;

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/support/circuit_model.rs"]
mod circuit_model;

fuzz_target!(|bytes: &[u8]| {
    circuit_model::Scenario::decode(bytes).check(Instant::now());
});
