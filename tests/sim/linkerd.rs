//! What callers feel when one of eleven servers becomes slow for a while.

use crate::scenes::{SECOND, linkerd};
use crate::sim::{Setup, Stack};

const SEEDS: [u64; 3] = [1, 2, 3];

/// Returns the smallest and the largest share of requests under a second, over all seeds.
fn quick(stack: Stack) -> (f64, f64) {
    let shares = SEEDS.map(|seed| {
        let report = stack.run(&linkerd::scenario(seed), &Setup::new(seed));
        assert_eq!(report.requests(), 60_000);
        let share = report.share_within(SECOND);
        println!("{}, seed {seed}: {:.3} % under a second", stack.name(), share * 100.0);
        share
    });
    (shares.into_iter().fold(1.0, f64::min), shares.into_iter().fold(0.0, f64::max))
}

#[test]
fn turns_send_the_slow_server_its_full_share() {
    let (_, most) = quick(Stack::RoundRobin);
    assert!(most <= 0.96, "half of an eleventh of the requests is slow: {most}");
}

#[test]
fn the_least_loaded_server_is_seldom_the_slow_one() {
    let (least, _) = quick(Stack::LeastLoaded);
    assert!(least >= 0.994, "{least}");
}

#[test]
fn two_choices_by_latency_and_count_hardly_notice_the_slow_server() {
    for stack in [Stack::TwoByLatency, Stack::Default] {
        let (least, _) = quick(stack);
        assert!(least >= 0.999, "{least}");
    }
}
