//! Counts what the process allocates.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
pub(crate) static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Returns how often memory was allocated, as the least of several rounds: what `run` allocates is in all of them, what
/// the harness of the tests allocates beside it is not.
pub(crate) fn allocations(mut run: impl FnMut()) -> usize {
    let mut round = || {
        let before = ALLOCATOR.stats();
        run();
        let after = ALLOCATOR.stats();
        (after.allocations + after.reallocations) - (before.allocations + before.reallocations)
    };
    (0..10).map(|_| round()).min().unwrap_or_default()
}
