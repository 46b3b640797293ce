//! Others on the machine of a server.

use std::time::Duration;

use super::chance::Chance;
use super::clock::{Nanos, at_least_one, nanos};

/// Takes cores away, now more, now less.
#[derive(Clone, Copy, Debug)]
pub(super) struct Antagonist {
    pub(super) machine: f64,
    pub(super) period: Duration,
}

/// How much the antagonists of a machine demand at most, in multiples of its cores: some machines have nothing to spare.
const HIGHEST_DEMAND: f64 = 1.125;

impl Antagonist {
    /// Draws what the demand leaves of the machine, at least what is guaranteed.
    pub(super) fn draw(self, guaranteed: f64, chance: &Chance) -> f64 {
        let demand = chance.unit() * HIGHEST_DEMAND * self.machine;
        (self.machine - demand).max(guaranteed)
    }

    /// Draws when the demand changes next.
    pub(super) fn next(self, chance: &Chance) -> Nanos {
        at_least_one(nanos(self.period) as f64 * chance.exponential())
    }
}
