//! What active health keeps behind its lock.

use std::time::Instant;

use crate::core::{Changes, Now};

use super::{ActiveHealthConfig, ProbeCompletion, ProbeCounts, ProbeOutcome, ProbeRejection, ProbeState};

/// Holds everything but state and epoch.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    due: Due,
    /// The number of the probe under way. It lapses when the next one is due.
    under_way: Option<u64>,
    pub(super) successes: u32,
    pub(super) failures: u32,
    pub(super) since: Option<Instant>,
    pub(super) counts: ProbeCounts,
    /// Who is told of transitions.
    pub(super) changes: Changes,
    /// Who is told that a probe has become due out of turn.
    pub(super) prober: Changes,
}

/// Says when the next probe is due.
#[derive(Clone, Copy, Debug, Default)]
enum Due {
    #[default]
    AtOnce,
    At(Instant),
    Never,
}

impl Due {
    fn has_come(self, now: &Now) -> bool {
        match self {
            Self::AtOnce => true,
            Self::At(at) => now.has_reached(at),
            Self::Never => false,
        }
    }

    fn instant(self, now: &Now) -> Option<Instant> {
        match self {
            Self::AtOnce => Some(now.instant()),
            Self::At(at) => Some(at),
            Self::Never => None,
        }
    }
}

impl Ledger {
    pub(super) fn next_due(&self, now: &Now) -> Option<Instant> {
        self.due.instant(now)
    }

    pub(super) fn is_under_way(&self, now: &Now) -> bool {
        self.under_way.is_some() && !self.due.has_come(now)
    }

    /// Returns the counts with a probe that has lapsed unnoticed.
    pub(super) fn counts(&self, now: &Now) -> ProbeCounts {
        let unnoticed = self.under_way.is_some() && self.due.has_come(now);
        ProbeCounts { lapsed: self.counts.lapsed + u64::from(unnoticed), ..self.counts }
    }

    /// Takes the probe that is due and returns its number.
    pub(super) fn reserve(&mut self, config: &ActiveHealthConfig, now: &Now) -> Result<u64, ProbeRejection> {
        self.take_note(now);
        let next = self.due.instant(now);
        if self.under_way.is_some() {
            return Err(ProbeRejection::UnderWay { until: next });
        }
        if !self.due.has_come(now) {
            return Err(ProbeRejection::NotDue { at: next });
        }
        self.counts.reserved += 1;
        self.under_way = Some(self.counts.reserved);
        self.due = now.instant().checked_add(config.interval()).map_or(Due::Never, Due::At);
        Ok(self.counts.reserved)
    }

    /// Ends the probe of this number; `false` when it is not under way any more.
    pub(super) fn take_back(&mut self, number: u64) -> bool {
        let is_current = self.under_way == Some(number);
        if is_current {
            self.under_way = None;
        } else {
            self.counts.ignored += 1;
        }
        is_current
    }

    /// Writes down that the probe under way has lapsed, if it has.
    pub(super) fn take_note(&mut self, now: &Now) {
        if self.due.has_come(now) && self.under_way.take().is_some() {
            self.counts.lapsed += 1;
        }
    }

    /// Counts a result and says what it does to `state`.
    pub(super) fn count(
        &mut self,
        config: &ActiveHealthConfig,
        state: ProbeState,
        outcome: ProbeOutcome,
    ) -> ProbeCompletion {
        match outcome {
            ProbeOutcome::Cancelled => {
                self.counts.cancelled += 1;
                ProbeCompletion::Cancelled
            }
            ProbeOutcome::Healthy => {
                self.counts.healthy += 1;
                self.failures = 0;
                self.successes = self.successes.saturating_add(1);
                let at_once = config.has_fast_start() && state == ProbeState::Unknown;
                let is_enough = at_once || self.successes >= config.healthy_threshold();
                let turns = is_enough && state != ProbeState::Healthy;
                if turns { ProbeCompletion::TurnedHealthy } else { ProbeCompletion::Counted }
            }
            ProbeOutcome::Unhealthy => {
                self.counts.unhealthy += 1;
                self.successes = 0;
                self.failures = self.failures.saturating_add(1);
                let turns = self.failures >= config.unhealthy_threshold() && state != ProbeState::Unhealthy;
                if turns { ProbeCompletion::TurnedUnhealthy } else { ProbeCompletion::Counted }
            }
        }
    }

    /// Forgets what probes have found, and makes the one under way void.
    pub(super) fn void(&mut self, now: &Now) {
        self.take_note(now);
        if self.under_way.take().is_some() {
            self.counts.voided += 1;
        }
        (self.successes, self.failures) = (0, 0);
    }

    /// Has the next probe start as soon as somebody can.
    pub(super) fn hasten(&mut self) {
        self.due = Due::AtOnce;
    }
}
