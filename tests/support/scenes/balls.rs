//! A million balls in a million bins.
//!
//! Source: Y. Azar, A. Z. Broder, A. R. Karlin and E. Upfal, "Balanced allocations", SIAM J. Comput. 29(1), 1999: with two
//! choices the fullest bin has `ln ln n / ln 2 + O(1)` balls; with one, `ln n / ln ln n`.

use poise::core::policy::PowerOfTwoChoices;
use poise::core::{Backend, InFlight, LoadTracker, Now, Policy, View};

/// Throws as many balls as there are bins, and returns how many the fullest one has.
pub(crate) fn fullest(bins: u32, choices: usize, seed: u64) -> u64 {
    let policy = PowerOfTwoChoices::seeded(seed).choices(choices);
    let backends: Vec<_> = (0..bins).map(|id| Backend::new(id).with_load(InFlight::new())).collect();
    let now = Now::lazy();
    for _ in 0..bins {
        let view = View::new(&backends).with_now(&now);
        let picked = policy.pick_from(&view, &()).expect("all bins are eligible");
        backends[picked.index()].load().start(&now).expect("bins have no limit");
    }
    backends.iter().map(|bin| bin.load().current()).max().unwrap_or(0)
}
