mod minimum;
mod rows;
#[path = "../support/sampling.rs"]
mod sampling;
mod work;
use crate::sampling::*;
use crate::work::Work;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;
fn main() {
    for (n, work) in [("empty", Work::EMPTY), ("1us", Work::microsecond())] {
        for size in [2, 10, 100, 1000] {
            let bare = rows::bare(&work);
            let min = rows::minimum(&work, size);
            let bal = rows::balancer(&work, size);
            let pend = rows::pending_requests(&work, size);
            let ewma = rows::peak_ewma(&work, size);
            let buf = rows::buffer(&work, size);
            let r = interleaved([
                (&bare, 1),
                (&min, 1),
                (&bal, 1),
                (&pend, 1),
                (&ewma, 1),
                (&buf, 1),
                (&bare, 2),
                (&min, 2),
                (&bal, 2),
                (&buf, 2),
            ]);
            println!(
                "{n} {size} {:?} alloc {} {}",
                r.map(|x| x.round()),
                allocations(ALLOCATOR, &bal),
                allocations(ALLOCATOR, &buf)
            );
        }
    }
}
