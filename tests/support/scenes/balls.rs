//! A million balls in a million bins.
//!
//! Source: Y. Azar, A. Z. Broder, A. R. Karlin and E. Upfal, "Balanced allocations", SIAM J. Comput. 29(1), 1999: with two
//! choices the fullest bin has `ln ln n / ln 2 + O(1)` balls; with one, `ln n / ln ln n`.

use poise::core::policy::PowerOfTwoChoices;
use poise::core::{Backend, Now, Policy, View};

use crate::sim::SimLoad;

/// Throws as many balls as there are bins, and returns how many the fullest one has.
pub(crate) fn fullest<L: SimLoad>(bins: u32, choices: usize, seed: u64, load: impl Fn(&Now) -> L) -> u32 {
    let policy = PowerOfTwoChoices::seeded(seed).choices(choices);
    let now = Now::lazy();
    let backends: Vec<_> = (0..bins).map(|id| Backend::new(id).with_load(load(&now))).collect();
    let mut balls = vec![0; backends.len()];
    for _ in 0..bins {
        let view = View::new(&backends).with_now(&now);
        let picked = policy.pick_from(&view, &()).expect("all bins are eligible").index();
        backends[picked].load().start(&now).expect("bins have no limit");
        balls[picked] += 1;
    }
    balls.into_iter().max().unwrap_or(0)
}
