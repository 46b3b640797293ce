//! What a pick may cost, and what it does cost: the table of the budget.
//!
//!     cargo bench --bench budget                       prints the table
//!     cargo bench --bench budget -- maglev             prints the rows whose names contain a word
//!     cargo bench --bench budget -- --check            also exits with 1 when a bar is missed
//!
//! Each row is a policy on a prepared view with an eligibility. Candidates stand behind `Arc`, with state and load in
//! atomics and a `String` for their identity; keys of 16 bytes rotate; the time is supplied. Two yardsticks are measured
//! in turns with it: one uncontended atomic addition, `R`, and a minimum written by hand over the same memory, in
//! `minimum.rs`. All figures are medians. With two threads, `ns` is the time per pick of both together.

mod bars;
mod measure;
mod minimum;
mod pool;
mod rows;

use std::alloc::System;
use std::process::ExitCode;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use crate::measure::{Figures, measure};
use crate::pool::Column;
use crate::rows::Row;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    let (flags, words): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let wanted = |row: &Row| words.is_empty() || words.iter().any(|word| row.name.contains(word));
    println!("{}", Figures::HEADER);
    let rows: Vec<Row> = rows::all().into_iter().filter(wanted).collect();
    let figures: Vec<Figures> = rows.iter().flat_map(measure_all).collect();
    let misses = bars::misses(&figures);
    bars::print_yardstick(&figures);
    for miss in &misses {
        println!("missed: {miss}");
    }
    println!("{} rows, {} bars missed", figures.len(), misses.len());
    let failed = flags.iter().any(|flag| flag == "--check") && !misses.is_empty();
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn measure_all(row: &Row) -> Vec<Figures> {
    let measured = Column::all().into_iter().map(|column| {
        let figures = measure(row, column, ALLOCATOR);
        println!("{figures}");
        figures
    });
    measured.collect()
}
