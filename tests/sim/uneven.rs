//! Servers of uneven speed at a high load: what two choices cannot do, and what a balancer does by default.

use crate::scenes::uneven;
use crate::sim::Stack;

const SEEDS: [u64; 2] = [1, 2];

fn p99(stack: Stack, seed: u64, spread: u32) -> f64 {
    let report = stack.run(&uneven::scenario(seed, spread), &uneven::setup(seed));
    let p99 = report.quantile(0.99).as_secs_f64();
    println!("{}, seed {seed}, {spread} times as slow: p99 {p99:.3} s", stack.name());
    p99
}

#[test]
fn the_default_is_nowhere_far_from_the_best_of_what_one_client_knows() {
    for (seed, spread) in SEEDS.into_iter().flat_map(|seed| [1, 3, 6, 10].map(|spread| (seed, spread))) {
        let others = [Stack::LeastLoaded, Stack::TwoByCount, Stack::TwoByLatency];
        let best = others.map(|stack| p99(stack, seed, spread)).into_iter().fold(f64::INFINITY, f64::min);
        let default = p99(Stack::Default, seed, spread);
        assert!(default <= 1.1 * best, "seed {seed}, {spread}: {default} against {best}");
    }
}

#[test]
fn two_choices_are_too_few_where_servers_differ_in_speed() {
    for (seed, spread, part) in SEEDS.into_iter().flat_map(|seed| [(seed, 6, 0.75), (seed, 10, 0.25)]) {
        let (two, default) = (p99(Stack::TwoByLatency, seed, spread), p99(Stack::Default, seed, spread));
        assert!(default <= part * two, "seed {seed}, {spread}: {default} against {two}");
    }
}
