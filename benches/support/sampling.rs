//! How long jobs take, and what they allocate.

use std::alloc::System;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use stats_alloc::{Region, StatsAlloc};

/// Does something so many times.
pub(crate) type Job = Box<dyn Fn(usize) + Sync>;

/// Odd, so that there is a median.
const ROUNDS: usize = 51;
/// How long one sample of a row takes, about: long beside reading the clock, short beside a turn of the scheduler.
const SAMPLE: Duration = Duration::from_micros(200);
/// How often a job is done to count what it allocates.
const COUNTED: usize = 1_000;

/// Measures jobs in turns, each on so many threads, so that whatever else the machine does meets all of them. Returns the
/// median of each, in nanoseconds per repetition.
pub(crate) fn interleaved<const N: usize>(jobs: [(&Job, usize); N]) -> [f64; N] {
    let sized = jobs.map(|(job, threads)| (job, threads, repetitions(job)));
    let mut samples = [(); N].map(|()| Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        for (samples, (job, threads, count)) in samples.iter_mut().zip(sized) {
            samples.push(sample(job, threads, count));
        }
    }
    samples.map(median)
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
        let times = running.into_iter().map(|thread| thread.join().expect("jobs do not panic"));
        times.max().unwrap_or_default()
    })
}

/// Returns how often a thousand repetitions allocate.
pub(crate) fn allocations(allocator: &StatsAlloc<System>, job: &Job) -> usize {
    let region = Region::new(allocator);
    job(COUNTED);
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
