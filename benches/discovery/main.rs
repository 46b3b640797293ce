//! What a membership costs: to read, to follow, to change.
//!
//!     cargo bench --features discovery --bench discovery                  prints the table
//!     cargo bench --features discovery --bench discovery -- --check       also exits with 1 when a bar is missed
//!
//! Each row is measured in turns with a minimum that is written by hand, in `minimum.rs`, and does the same to the same
//! data without checks, revisions and effects. All figures are medians, and bars are multiples of the minimum; a change of
//! one among 10,000 members may take a millisecond, too.

mod minimum;
mod rows;
#[path = "../support/sampling.rs"]
mod sampling;

use std::alloc::System;
use std::process::ExitCode;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use crate::rows::Row;
use crate::sampling::{allocations, interleaved};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    println!("name                              ns minimum_ns  ratio allocs/1000");
    let missed: Vec<String> = rows::all().iter().flat_map(measure).collect();
    for miss in &missed {
        println!("missed: {miss}");
    }
    println!("{} bars missed", missed.len());
    let failed = std::env::args().any(|word| word == "--check") && !missed.is_empty();
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Measures and prints a row, and returns the bars that it missed.
fn measure(row: &Row) -> Vec<String> {
    let [ours, minimum] = interleaved([(&row.job, 1), (&row.minimum, 1)]);
    let ratio = ours / minimum;
    let allocations = allocations(ALLOCATOR, &row.job);
    println!("{:<26} {ours:>9.1} {minimum:>10.1} {ratio:>6.2} {allocations:>11}", row.name);
    let slow = (ratio > row.minima).then(|| format!("{ratio:.2} minima instead of {}", row.minima));
    let late =
        row.within.filter(|limit| ours > *limit).map(|limit| format!("{ours:.0} ns instead of {limit}"));
    let allocates = (row.allocates.is_some_and(|limit| allocations > limit))
        .then(|| format!("{allocations} allocations in a thousand"));
    let misses = slow.into_iter().chain(late).chain(allocates);
    misses.map(|miss| format!("{}: {miss}", row.name)).collect()
}
