//! How rows are measured.

use std::alloc::System;
use std::fmt;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use stats_alloc::{Region, StatsAlloc};

use crate::pool::Column;
use crate::rows::{Job, Row};

/// Odd, so that there is a median.
const ROUNDS: usize = 51;
/// How long one sample of a row takes, about: long beside reading the clock, short beside a turn of the scheduler.
const SAMPLE: Duration = Duration::from_micros(200);
const COUNTED_PICKS: usize = 1_000;

/// What was measured in one column of one row.
pub(crate) struct Figures {
    pub(crate) name: &'static str,
    pub(crate) column: Column,
    pub(crate) pick: f64,
    pub(crate) addition: f64,
    pub(crate) minimum: f64,
    pub(crate) allocations: usize,
}

impl Figures {
    pub(crate) const HEADER: &str =
        "name                     members excluded% threads        ns      R minimum_ns  ratio allocs";

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
    let [pick, minimum, addition] = medians(jobs);
    let allocations = allocations(allocator, &case.pick);
    Figures { name: row.name, column, pick, addition, minimum, allocations }
}

/// Measures jobs, each on so many threads, in turns, and returns the nanoseconds per repetition.
pub(crate) fn medians<const N: usize>(jobs: [(&Job, usize); N]) -> [f64; N] {
    let sized = jobs.map(|(job, threads)| (job, threads, repetitions(job)));
    let mut samples = [(); N].map(|()| Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        for (samples, (job, threads, count)) in samples.iter_mut().zip(sized) {
            samples.push(sample(job, threads, count));
        }
    }
    samples.map(median)
}

pub(crate) fn additions() -> Job {
    let word = AtomicU64::new(0);
    Box::new(move |count| {
        for _ in 0..count {
            black_box(black_box(&word).fetch_add(1, Ordering::Relaxed));
        }
    })
}

/// Returns how often a job is to be done in one sample; finding out warms it up.
fn repetitions(job: &Job) -> usize {
    let mut count = 16;
    loop {
        let start = now();
        job(count);
        if start.elapsed() >= SAMPLE {
            return count;
        }
        count *= 2;
    }
}

/// Returns the nanoseconds per repetition, those of all threads counted.
fn sample(job: &Job, threads: usize, count: usize) -> f64 {
    let elapsed = if threads == 1 { timed(job, count) } else { timed_together(job, threads, count) };
    elapsed.as_secs_f64() * 1e9 / (count * threads) as f64
}

/// What is measured in turns takes the caches from each other, so a part of it runs first, unmeasured.
fn timed(job: &Job, count: usize) -> Duration {
    job(count / 2);
    let start = now();
    job(count);
    start.elapsed()
}

/// Returns the time of the slowest of several threads that begin together.
fn timed_together(job: &Job, threads: usize, count: usize) -> Duration {
    let barrier = Barrier::new(threads);
    thread::scope(|scope| {
        let run = || {
            barrier.wait();
            timed(job, count)
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        let times = running.into_iter().map(|thread| thread.join().expect("picks do not panic"));
        times.max().unwrap_or_default()
    })
}

pub(crate) fn allocations(allocator: &StatsAlloc<System>, job: &Job) -> usize {
    let region = Region::new(allocator);
    job(COUNTED_PICKS);
    let change = region.change();
    change.allocations + change.reallocations
}

pub(crate) fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    samples[samples.len() / 2]
}

#[expect(clippy::disallowed_methods, reason = "a measurement owns a clock")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
