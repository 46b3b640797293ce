//! Random times.

use std::f64::consts::TAU;
use std::time::Duration;

use poise::core::Rng;

use super::clock::{Nanos, at_least_one, nanos};

/// Draws reproducible times. Each use has a stream of its own, so that arrivals and work stay the same under another policy.
#[derive(Debug)]
pub(super) struct Chance(Rng);

impl Chance {
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let seeds = Rng::seeded(seed);
        (0..stream).for_each(|_| _ = seeds.next_u64());
        Self(Rng::seeded(seeds.next_u64()))
    }

    pub(super) fn key(&self) -> u64 {
        self.0.next_u64()
    }

    pub(super) fn unit(&self) -> f64 {
        self.0.unit()
    }

    pub(super) fn below(&self, count: usize) -> usize {
        self.0.below(count)
    }

    pub(super) fn happens(&self, probability: f64) -> bool {
        self.0.unit() < probability
    }

    /// Draws from the exponential distribution with mean 1.
    pub(super) fn exponential(&self) -> f64 {
        -(1.0 - self.0.unit()).ln()
    }

    /// Draws from the standard normal distribution, by the method of Box and Muller.
    fn normal(&self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (TAU * self.0.unit()).cos()
    }
}

/// Says how long a server that does nothing else takes for a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    /// Always the same.
    Constant(Duration),
    /// Exponentially distributed, with this mean.
    Exponential(Duration),
    /// Normally distributed; what would be negative takes no time.
    Normal {
        /// The mean.
        mean: Duration,
        /// The standard deviation.
        deviation: Duration,
    },
    /// Mostly the one time, and with a small chance the other.
    Bimodal {
        /// How long it takes mostly.
        usual: Duration,
        /// How long it takes otherwise.
        rare: Duration,
        /// The chance of the other.
        chance: f64,
    },
}

impl Work {
    pub(super) fn draw(self, chance: &Chance, factor: f64) -> Nanos {
        let drawn = match self {
            Self::Constant(time) => nanos(time) as f64,
            Self::Bimodal { usual, rare, chance: share } => {
                nanos(if chance.happens(share) { rare } else { usual }) as f64
            }
            Self::Exponential(mean) => nanos(mean) as f64 * chance.exponential(),
            Self::Normal { mean, deviation } => {
                nanos(mean) as f64 + nanos(deviation) as f64 * chance.normal()
            }
        };
        at_least_one(drawn * factor)
    }
}
