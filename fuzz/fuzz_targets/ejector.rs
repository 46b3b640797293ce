//! An ejector against its reference model, beside circuits over one budget, with clocks that jump.

#![no_main]

use std::time::Instant;

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/support/ejector_model.rs"]
mod ejector_model;
#[expect(dead_code, reason = "the tests of the library use all of it")]
#[path = "../../tests/support/outliers.rs"]
mod outliers;

fuzz_target!(|bytes: &[u8]| {
    ejector_model::Scenario::decode(bytes).check(Instant::now());
});
