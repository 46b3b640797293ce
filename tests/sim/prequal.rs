//! What was published of Prequal, with its pool, its rule and its rates. Other policies beside it show that the load is one
//! that tells them apart.

use std::time::Duration;

use crate::scenes::testbed::{self, FEW_REMOVALS, TIMEOUT};
use crate::sim::{Probing, Report, Stack};

const TIME: Duration = Duration::from_secs(7);
const SEED: u64 = 1;

fn prequal() -> Stack {
    Stack::Prequal(Probing::new())
}

fn seconds(report: &Report, quantile: f64) -> f64 {
    report.quantile(quantile).as_secs_f64()
}

#[test]
#[cfg_attr(debug_assertions, ignore = "millions of events: run with --release")]
fn prequal_fails_nobody_far_above_the_allocation_where_reported_weights_time_out() {
    for load in [1.27, 1.74] {
        let scenario = testbed::ramp(SEED, load, TIME);
        let probed = testbed::run(prequal(), &scenario, SEED);
        println!("load {load}: {} errors, p99.9 {:.3} s", probed.errors(), seconds(&probed, 0.999));
        assert_eq!(probed.errors(), 0, "load {load}");
        assert!(seconds(&probed, 0.999) < 1.0, "load {load}");
    }
    let reported = testbed::run(Stack::Reported, &testbed::ramp(SEED, 1.27, TIME), SEED);
    assert!(reported.given_up * 1_000 > reported.requests(), "p99.9 is the timeout of {TIMEOUT:?}");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "millions of events: run with --release")]
fn prequal_has_half_the_tail_of_two_choices_by_count_and_of_reported_weights() {
    let scenario = testbed::uneven(SEED, 0.9, TIME);
    let tail = |stack| seconds(&testbed::run(stack, &scenario, SEED), 0.99);
    let probed = tail(prequal());
    for other in [Stack::TwoByCount, Stack::LeastLoaded, Stack::Reported] {
        let found = tail(other);
        println!("{}: p99 {found:.3} s against {probed:.3} s", other.name());
        assert!(probed <= 0.5 * found, "{}: {found} against {probed}", other.name());
    }
}

#[test]
#[cfg_attr(debug_assertions, ignore = "millions of events: run with --release")]
fn one_probe_for_each_query_is_nearly_as_good_as_four_and_half_a_probe_is_not() {
    let scenario = testbed::ramp(SEED, 1.5, 2 * TIME);
    let tail = |rate| {
        seconds(&testbed::run(Stack::Prequal(Probing { rate, ..FEW_REMOVALS }), &scenario, SEED), 0.99)
    };
    let [four, one, half] = [4.0, 1.0, 0.5].map(tail);
    println!("p99 with 4 probes {four:.3} s, with 1 {one:.3} s, with 0.5 {half:.3} s");
    assert!(one <= 1.1 * four, "{one} against {four}");
    assert!(half >= 1.3 * four, "{half} against {four}");
}

#[test]
#[cfg_attr(debug_assertions, ignore = "millions of events: run with --release")]
fn the_more_latency_counts_the_better_until_it_counts_alone() {
    let scenario = testbed::uneven(SEED, 0.75, 2 * TIME);
    let tail = |quantile| {
        seconds(&testbed::run(Stack::Prequal(Probing { quantile, ..Probing::new() }), &scenario, SEED), 0.99)
    };
    let tails = [0.0, 0.35, 0.59, 0.81].map(tail);
    println!("p99 by quantile: {tails:.3?} s");
    assert!(tails.is_sorted_by(|before, after| before >= after), "{tails:?}");
    assert!(tail(1.0) > tails[0], "latency alone is worse than requests in flight alone");
}
