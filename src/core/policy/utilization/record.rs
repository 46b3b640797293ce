//! What is known of one member.

use std::time::Duration;

use super::{UtilizationConfig, UtilizationReport};
use crate::sync::{AtomicU64, Ordering};

/// The last weight of one member, and when it came.
///
/// Whoever writes holds the lock of the reports. Readers take no lock, and may see a new weight with the time of the one
/// before: for one update period the weight of a member then counts a little early or late.
#[derive(Debug)]
pub(super) struct Record {
    /// As the bits of a double; zero while there is none.
    weight: AtomicU64,
    reported: AtomicU64,
    /// Since when there was never a silence as long as the expiry.
    since: AtomicU64,
}

impl Record {
    pub(super) fn new() -> Self {
        Self { weight: AtomicU64::new(0), reported: AtomicU64::new(0), since: AtomicU64::new(0) }
    }

    pub(super) fn report(&self, report: UtilizationReport, config: &UtilizationConfig, now: u64) {
        let Some(weight) = report.weight(config.error_penalty()) else { return };
        let known = self.weight.load(Ordering::Relaxed) != 0;
        if !known || elapsed(self.reported.load(Ordering::Relaxed), now) >= config.expiry() {
            self.since.store(now, Ordering::Relaxed);
        }
        self.reported.store(now, Ordering::Relaxed);
        self.weight.store(weight.to_bits(), Ordering::Relaxed);
    }

    pub(super) fn clear(&self) {
        self.weight.store(0, Ordering::Relaxed);
    }

    /// Returns the weight that counts now, if one does.
    pub(super) fn weight(&self, config: &UtilizationConfig, now: u64) -> Option<f64> {
        let weight = f64::from_bits(self.weight.load(Ordering::Relaxed));
        let silent = elapsed(self.reported.load(Ordering::Relaxed), now);
        let seasoned = elapsed(self.since.load(Ordering::Relaxed), now);
        Some(weight)
            .filter(|weight| *weight > 0.0 && silent < config.expiry() && seasoned >= config.blackout())
    }
}

/// Returns how much time has passed; none when the clock went back.
pub(super) fn elapsed(from: u64, to: u64) -> Duration {
    Duration::from_nanos(u64::try_from(to.wrapping_sub(from).cast_signed()).unwrap_or(0))
}
