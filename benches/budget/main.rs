//! What a pick may cost, and what it does cost: the table of the budget.
//!
//!     cargo bench --bench budget                       prints the table
//!     cargo bench --bench budget -- maglev             prints the rows whose names contain a word
//!     cargo bench --bench budget -- --check            also exits with 1 when a bar is missed
//!
//! Each row is a policy on a prepared view with an eligibility. Candidates stand behind `Arc`, with state and load in
//! atomics and a `String` for their identity; keys rotate, of 16 bytes where a
//! policy looks at one; the time is supplied. Two yardsticks are measured
//! in turns with it: one uncontended atomic addition, `R`, and a minimum written by hand over the same memory, in
//! `minimum.rs`. All figures are medians. With two threads, `ns` is the time per pick of both together.
//!
//! # Normalisation
//!
//! Bars in `R` were set on a machine on which `R` takes 6 to 7.5 ns. On one on which it takes less, memory, draws and hashes
//! are not cheaper in proportion, and the bars would ask for the impossible. So a bar of `x` R is checked as
//! `x * max(R, 6.75 ns)`. As that forgives much on a fast machine, each row is also held to a multiple of its own minimum,
//! which means the same on all of them: the one that the bar states, otherwise two, and more where the minimum does nothing
//! comparable, as `bars.rs` says there.
//!
//! Two threads of policies that share nothing are to do 1.7 times the picks of one. Where processors are threads of one core,
//! not even the minimum does; there nine tenths of what the minimum gains in the same run are enough.
//!
//! Likewise, flat costs may grow by half beyond what the growth of their minima, by caches that miss more, explains.
//!
//! # Disturbance
//!
//! Whatever else a machine does only adds time. So what misses a bar is measured again, up to three times, and the least
//! of each figure counts: of the pick, and of what it is compared with.
//!
//! # Changes
//!
//! A second table tells what it costs when one of 10,000 members changes: to prepare anew with what was prepared before,
//! and to flip the health of one member. Its bars are times.
//!
//! # Health
//!
//! With the feature `health`, a third table tells what health costs: an attempt that circuit, window and load learn from, beside one addition, and
//! picks among members with circuits and ejections, beside the same picks among plain ones.

mod adaptive;
mod bars;
mod change;
#[cfg(feature = "health")]
mod health;
mod load;
mod measure;
mod minimum;
mod pool;
mod rows;
#[path = "../support/sampling.rs"]
mod sampling;

use std::alloc::System;
use std::process::ExitCode;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use crate::change::Change;
use crate::measure::{Figures, RETRIES, measure};
use crate::pool::Column;
use crate::rows::Row;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    let (flags, words): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|word| word.starts_with("--"));
    let wanted = |row: &Row| words.is_empty() || words.iter().any(|word| row.name.contains(word));
    println!("{}", Figures::HEADER);
    let rows: Vec<Row> = rows::all().into_iter().chain(adaptive::all()).filter(wanted).collect();
    let mut figures: Vec<Figures> = rows.iter().flat_map(measure_all).collect();
    for _ in 0..RETRIES {
        measure_again(&rows, &mut figures);
    }
    let changes = change::all();
    let changes =
        changes.iter().filter(|change| words.is_empty() || words.iter().any(|word| change.is_named(word)));
    println!("{}", Change::HEADER);
    let slow: Vec<String> = changes.flat_map(Change::measure).collect();
    let mut misses = bars::misses(&figures);
    misses.extend(slow);
    #[cfg(feature = "health")]
    misses.extend(health::misses(
        |row| words.is_empty() || words.iter().any(|word| row.is_named(word)),
        ALLOCATOR,
    ));
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

/// Measures again what missed a bar.
fn measure_again(rows: &[Row], figures: &mut [Figures]) {
    for at in bars::missed(figures) {
        let missed = &mut figures[at];
        if let Some(row) = rows.iter().find(|row| row.name == missed.name) {
            missed.improve(&measure(row, missed.column, ALLOCATOR));
            println!("{missed} again");
        }
    }
}
