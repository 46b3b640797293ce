//! How rows are measured.

use std::alloc::System;
use std::fmt;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use stats_alloc::StatsAlloc;

use crate::pool::Column;
use crate::rows::Row;
use crate::sampling::{Job, allocations, interleaved, now};

/// What was measured in one column of one row.
pub(crate) struct Figures {
    pub(crate) name: &'static str,
    pub(crate) column: Column,
    pub(crate) pick: f64,
    pub(crate) addition: f64,
    pub(crate) minimum: f64,
    pub(crate) allocations: usize,
}

/// How often what missed a bar is measured again.
pub(crate) const RETRIES: usize = 3;

impl Figures {
    pub(crate) const HEADER: &str =
        "name                     members excluded% threads        ns      R minimum_ns  ratio allocs";

    /// Takes what was less in another measurement of the same row and column.
    pub(crate) fn improve(&mut self, other: &Self) {
        self.pick = self.pick.min(other.pick);
        self.addition = self.addition.min(other.addition);
        self.minimum = self.minimum.min(other.minimum);
    }

    /// Returns the cost of a pick in atomic additions.
    pub(crate) fn in_additions(&self) -> f64 {
        self.pick / self.addition
    }

    /// Returns the cost of a pick relative to its minimum.
    pub(crate) fn ratio(&self) -> f64 {
        self.pick / self.minimum
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Column { members, excluded, threads } = self.column;
        write!(f, "{:<24} {members:>7} {excluded:>9} {threads:>7}", self.name)?;
        write!(f, " {:>9.1} {:>6.2} {:>10.1}", self.pick, self.in_additions(), self.minimum)?;
        write!(f, " {:>6.2} {:>6}", self.ratio(), self.allocations)
    }
}

/// Measures pick, minimum and addition in turns, so that whatever else the machine does meets all of them.
pub(crate) fn measure(row: &Row, column: Column, allocator: &StatsAlloc<System>) -> Figures {
    let case = row.build(column, now());
    let addition = additions();
    let jobs = [(&case.pick, column.threads), (&case.minimum, column.threads), (&addition, 1)];
    let [pick, minimum, addition] = interleaved(jobs);
    let allocations = allocations(allocator, &case.pick);
    Figures { name: row.name, column, pick, addition, minimum, allocations }
}

/// Measures again as long as the figures are not good enough, a few times at most, and returns the least of each.
pub(crate) fn settled<const N: usize>(
    measure: impl Fn() -> [f64; N],
    are_good: impl Fn([f64; N]) -> bool,
) -> [f64; N] {
    let mut least = measure();
    for _ in 0..RETRIES {
        if are_good(least) {
            break;
        }
        let again = measure();
        least = std::array::from_fn(|at| least[at].min(again[at]));
    }
    least
}

pub(crate) fn additions() -> Job {
    let word = AtomicU64::new(0);
    Box::new(move |count| {
        for _ in 0..count {
            black_box(black_box(&word).fetch_add(1, Ordering::Relaxed));
        }
    })
}
