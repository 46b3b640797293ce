//! What a circuit keeps behind its lock.

use crate::core::Changes;
use crate::health::BudgetSlot;

use super::CircuitConfig;
use super::cooldown::Cooldown;

/// Holds what only transitions need.
#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) cooldown: Cooldown,
    pub(super) round: Round,
    /// Held from the trip until the circuit closes.
    pub(super) slot: Option<BudgetSlot>,
    pub(super) trips: u64,
    pub(super) changes: Changes,
}

impl Ledger {
    pub(super) fn new(config: &CircuitConfig) -> Self {
        Self {
            cooldown: Cooldown::new(config),
            round: Round::default(),
            slot: None,
            trips: 0,
            changes: Changes::default(),
        }
    }
}

/// Keeps the probes of the half-open rounds since the last trip.
#[derive(Debug, Default)]
pub(super) struct Round {
    /// Numbers of the permits that are out: at most as many as there are permits.
    out: Vec<u64>,
    issued: u64,
    successes: u32,
}

impl Round {
    /// Takes a permit and returns its number.
    pub(super) fn issue(&mut self) -> u64 {
        self.issued = self.issued.wrapping_add(1);
        self.out.push(self.issued);
        self.issued
    }

    /// Takes a permit back; `false` when it is not out.
    pub(super) fn take_back(&mut self, number: u64) -> bool {
        let place = self.out.iter().position(|out| *out == number);
        place.map(|place| self.out.swap_remove(place)).is_some()
    }

    /// Counts a success and returns how many there are now.
    pub(super) fn succeed(&mut self) -> u32 {
        self.successes = self.successes.saturating_add(1);
        self.successes
    }

    pub(super) fn probes(&self) -> u32 {
        u32::try_from(self.out.len()).unwrap_or(u32::MAX)
    }

    pub(super) fn successes(&self) -> u32 {
        self.successes
    }

    /// Gives up the permits that are out; successes stay counted.
    pub(super) fn expire(&mut self) {
        self.out.clear();
    }

    /// Forgets everything but the numbering.
    pub(super) fn end(&mut self) {
        self.expire();
        self.successes = 0;
    }
}
