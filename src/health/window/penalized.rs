//! A load and what the errors of late add to it.

use crate::core::{AtCapacity, LoadMetric, LoadTracker, Now, Outcome};

use super::PenaltyScore;

/// Multiplies a load with a [`PenaltyScore`]: `(load + 1) * (1 + score)`.
///
/// The one beside the load makes errors count also where nothing is in flight; beside a latency in nanoseconds it is
/// nothing. As a tracker it passes everything on to the load, and records outcomes in the window of the score.
///
/// # Examples
///
/// ```
/// use poise::core::{InFlight, LoadMetric, Now, Outcome, Tracked};
/// use poise::health::{OutcomeWindow, PenaltyConfig, PenaltyScore};
/// use std::sync::Arc;
///
/// let score = PenaltyScore::new(Arc::new(OutcomeWindow::default()), PenaltyConfig::default().with_min_samples(1));
/// let load = score.over(InFlight::new());
/// let now = Now::lazy();
/// assert_eq!(load.measure(&now), 1.0);
///
/// Tracked::start(&load, &now)?.complete(Outcome::Failure, &now);
/// assert_eq!(load.load().current(), 0);
/// assert_eq!(load.measure(&now), 6.0, "nothing is in flight, but all has failed");
/// # Ok::<(), poise::core::AtCapacity>(())
/// ```
#[derive(Clone, Debug)]
pub struct Penalized<L> {
    score: PenaltyScore,
    load: L,
}

impl<L> Penalized<L> {
    pub(super) const fn new(score: PenaltyScore, load: L) -> Self {
        Self { score, load }
    }

    /// Returns the score.
    pub const fn score(&self) -> &PenaltyScore {
        &self.score
    }

    /// Returns the load without it.
    pub const fn load(&self) -> &L {
        &self.load
    }
}

impl<L: LoadMetric> LoadMetric for Penalized<L> {
    fn measure(&self, now: &Now) -> f64 {
        (self.load.measure(now) + 1.0) * (1.0 + self.score.score(now))
    }

    fn is_idle(&self, now: &Now) -> bool {
        self.load.is_idle(now) && self.score.is_idle(now)
    }
}

impl<L: LoadTracker> LoadTracker for Penalized<L> {
    type Ticket = L::Ticket;

    fn start(&self, now: &Now) -> Result<Self::Ticket, AtCapacity> {
        self.load.start(now)
    }

    fn responded(&self, ticket: Self::Ticket, outcome: Outcome, now: &Now) {
        self.score.responded((), outcome, now);
        self.load.responded(ticket, outcome, now);
    }

    fn release(&self, ticket: Self::Ticket, now: &Now) {
        self.load.release(ticket, now);
    }

    fn is_full(&self) -> bool {
        self.load.is_full()
    }

    fn has_limit(&self) -> bool {
        self.load.has_limit()
    }

    /// Seeds the load; a newcomer has no errors.
    fn seed(&self, peers: &mut dyn Iterator<Item = &Self>, now: &Now) {
        self.load.seed(&mut peers.map(Self::load), now);
    }
}
