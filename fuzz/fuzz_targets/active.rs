//! Active health against its reference model, over events, forced states and clocks that jump.

#![no_main]

use std::time::Instant;

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/support/active_model.rs"]
mod active_model;

fuzz_target!(|bytes: &[u8]| {
    active_model::Scenario::decode(bytes).check(Instant::now());
});
