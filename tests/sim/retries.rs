//! Attempts beyond the first: what they save, and what they cost.

use crate::scenes::{SECOND, hedging, storm};
use crate::sim::Stack;

const SEEDS: [u64; 3] = [1, 2, 3];

#[test]
fn an_overload_ends_with_its_cause_within_the_budget_and_lasts_without() {
    for (stack, seed) in
        [Stack::RoundRobin, Stack::Default].into_iter().flat_map(|stack| SEEDS.map(|seed| (stack, seed)))
    {
        let name = stack.name();
        let good = |setup| {
            let report = stack.run(&storm::scenario(seed), &setup);
            let before = report.goodput(SECOND, storm::FROM);
            assert!(before > 0.99, "{name}, seed {seed}: {before} before the outage");
            (report.goodput(storm::UNTIL + 5 * SECOND, storm::END), report.amplification())
        };
        let (within, cost) = good(storm::setup(seed));
        println!("{name}, seed {seed}: {:.2} % good with a budget, {cost:.2} attempts", within * 100.0);
        assert!(within > 0.95, "{name}, seed {seed}: {within}");
        // A fifth of the requests, and ten in a second for each of four clients.
        assert!(cost <= 1.2 + 40.0 / 3_200.0, "{name}, seed {seed}: {cost}");
        let (without, cost) = good(storm::setup(seed).without_budget());
        println!("{name}, seed {seed}: {:.2} % good without, {cost:.2} attempts", without * 100.0);
        assert!(without < 0.5, "{name}, seed {seed}: {without}");
    }
}

#[test]
fn hedges_cut_the_tail_of_pages_tenfold_within_the_budget() {
    for seed in SEEDS {
        let run = |hedged| Stack::Default.run(&hedging::scenario(seed, hedged), &hedging::setup(seed));
        let (plain, hedged) = (run(false), run(true));
        let [before, after] = [&plain, &hedged].map(|report| report.quantile(0.999).as_secs_f64());
        println!("seed {seed}: p99.9 {before:.3} s, hedged {after:.3} s");
        assert_eq!((plain.errors(), hedged.errors()), (0, 0));
        assert!(before >= 10.0 * after, "seed {seed}: {before} against {after}");
        let cost = hedged.amplification() / plain.amplification();
        assert!(cost <= 1.06, "seed {seed}: at most one in twenty is hedged, {cost}");
    }
}
