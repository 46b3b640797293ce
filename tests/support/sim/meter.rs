//! What a server measures of its own work.

use poise::core::policy::UtilizationReport;

use super::clock::Nanos;

/// Measures in windows of a second, and reports the last one.
#[derive(Debug)]
pub(super) struct Meter {
    /// How many cores count as fully busy.
    allocation: f64,
    since: Nanos,
    finished: u32,
    failed: u32,
    work: f64,
    last: Option<UtilizationReport>,
}

const WINDOW: Nanos = 1_000_000_000;

impl Meter {
    pub(super) fn new(allocation: f64) -> Self {
        Self { allocation, since: 0, finished: 0, failed: 0, work: 0.0, last: None }
    }

    /// Counts a request with its work, and returns the last report.
    pub(super) fn finished(&mut self, work: Nanos, now: Nanos) -> Option<UtilizationReport> {
        self.finished += 1;
        self.work += work as f64;
        let elapsed = now.saturating_sub(self.since);
        if elapsed >= WINDOW {
            let seconds = elapsed as f64 / WINDOW as f64;
            let (finished, failed) = (f64::from(self.finished) / seconds, f64::from(self.failed) / seconds);
            let utilization = self.work / (elapsed as f64 * self.allocation);
            self.last = Some(UtilizationReport::new(finished + failed, utilization).with_errors(failed));
            (self.since, self.finished, self.failed, self.work) = (now, 0, 0, 0.0);
        }
        self.last
    }

    pub(super) fn failed(&mut self) {
        self.failed += 1;
    }
}
