//! What a request costs on its way through a balancer, beside Tower's own.
//!
//!     cargo bench --features full --bench dispatch                 prints the table
//!     cargo bench --features full --bench dispatch -- --check      also exits with 1 when a bar is missed
//!
//! Services are always ready, and answer at once (`empty`) or after a microsecond of work (`1us`). All that stands in a
//! line of the table is measured in turns; figures are medians, in nanoseconds per request. With two threads, it is the time
//! per request of both together.
//!
//! | column | what |
//! |---|---|
//! | `bare` | the service, with nobody in front of it |
//! | `minimum` | what one would write by hand: `minimum.rs` |
//! | `balancer` | `Balancer` with its defaults; threads share one |
//! | `recorded`, `traced` | the same with a `Recorder`, and with a `TracingObserver` to which no subscriber listens |
//! | `balance` | `Balance` with its defaults, for one thread |
//! | `p2c_pending`, `p2c_ewma` | `tower::balance::p2c::Balance` by pending requests and by `PeakEwma`, for one thread |
//! | `buffer` | the latter behind a `tower::buffer::Buffer`, which threads share, on Tokio with two workers |
//!
//! # Two threads
//!
//! Where two processors share a core, nothing does twice as much with two threads. What the bare service gains there is
//! printed and stands for the two that it should: the bar of 1.6 is checked as four fifths of it.
//!
//! A machine that is shared runs them on processors that are close to each other for a while, and then on others, and what goes
//! from one to the other takes a few times as long. So they are measured in several sittings, whose medians count.

mod bars;
mod minimum;
mod rows;
#[path = "../support/sampling.rs"]
mod sampling;
mod work;

use std::alloc::System;
use std::fmt;
use std::process::ExitCode;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use crate::sampling::{Job, allocations, interleaved, median};
use crate::work::Work;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// How many endpoints there are.
const SIZES: [usize; 4] = [2, 10, 100, 1_000];

/// How often two threads are measured anew.
const SITTINGS: usize = 9;

/// One line of the table: times per request in nanoseconds.
pub(crate) struct Figures {
    work: &'static str,
    size: usize,
    bare: [f64; 2],
    minimum: [f64; 2],
    balancer: [f64; 2],
    recorded: f64,
    traced: f64,
    /// One atomic addition.
    addition: f64,
    buffer: [f64; 2],
    balance: f64,
    p2c_pending: f64,
    p2c_ewma: f64,
    /// Of the balancer, in a thousand requests.
    allocations: usize,
}

impl Figures {
    fn measure(name: &'static str, work: &Work, size: usize) -> Self {
        let (bare, minimum) = (rows::bare(work), rows::minimum(work, size));
        let (balancer, buffer) = (rows::balancer(work, size), rows::buffer(work, size));
        let (traced, addition) = (rows::traced(work, size), rows::addition());
        let (pending, ewma) = (rows::pending_requests(work, size), rows::peak_ewma(work, size));
        let recorded = rows::recorded(work, size);
        let balance = rows::balance(work, size);
        let alone =
            [&bare, &minimum, &balancer, &recorded, &traced, &addition, &balance, &buffer, &pending, &ewma]
                .map(|job| (job, 1));
        let [
            bare_1,
            minimum_1,
            balancer_1,
            recorded,
            traced,
            addition,
            balance,
            buffer_1,
            p2c_pending,
            p2c_ewma,
        ] = interleaved(alone);
        let together = [&bare, &minimum, &balancer, &buffer].map(|job| (job, 2));
        let [bare_2, minimum_2, balancer_2, buffer_2] = in_sittings(together);
        Self {
            work: name,
            size,
            bare: [bare_1, bare_2],
            minimum: [minimum_1, minimum_2],
            balancer: [balancer_1, balancer_2],
            recorded,
            traced,
            addition,
            buffer: [buffer_1, buffer_2],
            balance,
            p2c_pending,
            p2c_ewma,
            allocations: allocations(ALLOCATOR, &balancer),
        }
    }
}

/// As [`interleaved`], several times: the medians of what that finds.
fn in_sittings<const N: usize>(jobs: [(&Job, usize); N]) -> [f64; N] {
    let sittings = [(); SITTINGS].map(|()| interleaved(jobs));
    std::array::from_fn(|job| median(sittings.iter().map(|times| times[job]).collect()))
}

const HEADER: &str = "work   endpoints threads     bare  minimum balancer recorded   traced  balance p2c_pending p2c_ewma   buffer ratio allocations";

/// Two lines, for one thread and for two.
impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { work, size, bare, minimum, balancer, buffer, recorded, traced, balance, .. } = self;
        let ratio = balancer[0] / self.p2c_ewma;
        write!(f, "{work:<6} {size:>9} {:>7} {:>8.1} {:>8.1} {:>8.1}", 1, bare[0], minimum[0], balancer[0])?;
        write!(f, " {recorded:>8.1} {traced:>8.1} {balance:>8.1}")?;
        write!(f, " {:>11.1} {:>8.1} {:>8.1}", self.p2c_pending, self.p2c_ewma, buffer[0])?;
        writeln!(f, " {ratio:>5.2} {:>11}", self.allocations)?;
        write!(f, "{work:<6} {size:>9} {:>7} {:>8.1} {:>8.1} {:>8.1}", 2, bare[1], minimum[1], balancer[1])?;
        write!(f, " {0:>8} {0:>8} {0:>8} {0:>11} {0:>8} {1:>8.1}", "-", buffer[1])
    }
}

fn main() -> ExitCode {
    println!("{HEADER}");
    let mut figures = Vec::new();
    for (name, work) in [("empty", Work::EMPTY), ("1us", Work::microsecond())] {
        for size in SIZES {
            let line = Figures::measure(name, &work, size);
            println!("{line}");
            figures.push(line);
        }
    }
    let misses: Vec<String> =
        figures.iter().flat_map(bars::misses).chain(bars::misses_together(&figures)).collect();
    bars::print_gain(&figures);
    for miss in &misses {
        println!("missed: {miss}");
    }
    println!("{} bars missed", misses.len());
    let failed = std::env::args().any(|flag| flag == "--check") && !misses.is_empty();
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
