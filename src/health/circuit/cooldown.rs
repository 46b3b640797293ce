//! How long a circuit stays open.

use std::time::Duration;

use fastrand::Rng;

use crate::core::Outcome;
use crate::core::part::part;

use super::CircuitConfig;

/// Works out one cooldown after another.
#[derive(Debug)]
pub(super) struct Cooldown {
    /// The value before jitter, which doubles.
    value: Duration,
    /// What the last trip got.
    current: Duration,
    rng: Rng,
}

impl Cooldown {
    pub(super) fn new(config: &CircuitConfig) -> Self {
        let rng = config.seed().map_or_else(Rng::new, Rng::with_seed);
        Self { value: config.open_for(), current: config.open_for(), rng }
    }

    /// Returns the cooldown of the last trip, which a round without a decision repeats.
    pub(super) fn current(&self) -> Duration {
        self.current
    }

    /// Returns the cooldown of a trip from closed.
    pub(super) fn first(&mut self, config: &CircuitConfig, cause: Outcome) -> Duration {
        self.value = config.open_for();
        self.draw(config, cause)
    }

    /// Returns the cooldown of a trip from half open.
    pub(super) fn grown(&mut self, config: &CircuitConfig, cause: Outcome) -> Duration {
        self.value = config.growth().map_or(self.value, |max| self.value.saturating_mul(2).min(max));
        self.draw(config, cause)
    }

    fn draw(&mut self, config: &CircuitConfig, cause: Outcome) -> Duration {
        let asked_for = match cause {
            Outcome::Overload { retry_after: Some(wait) } => wait.min(config.growth().unwrap_or_default()),
            _ => Duration::ZERO,
        };
        self.current = self.jittered(config).max(asked_for);
        self.current
    }

    fn jittered(&mut self, config: &CircuitConfig) -> Duration {
        if config.jitter() == 0.0 {
            return self.value;
        }
        let reach = part(self.value, config.jitter());
        let low = self.value.saturating_sub(reach);
        let high = self.value.saturating_add(reach).min(config.growth().unwrap_or(Duration::MAX));
        // A cooldown of nothing would be none.
        (low + part(high.saturating_sub(low), self.rng.f64())).max(Duration::from_nanos(1))
    }
}
