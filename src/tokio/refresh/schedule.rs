//! When to ask next.

use std::time::{Duration, Instant};

use fastrand::Rng;

use super::Refresh;
use crate::core::part::part;

/// A pause of nothing would be none, and leave the runtime no turn.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// Works out the next start from how the last one went; time is an argument.
#[derive(Debug)]
pub(super) struct Schedule {
    config: Refresh,
    rng: Rng,
    started: Option<Instant>,
    /// When to start next; never when that lies beyond all instants.
    next: Option<Instant>,
    /// The pause of the last error, before jitter, while the source fails.
    pause: Option<Duration>,
    hinted: bool,
}

impl Schedule {
    pub(super) fn new(config: Refresh, now: Instant) -> Self {
        let rng = config.seed.map_or_else(Rng::new, Rng::with_seed);
        Self { config, rng, started: None, next: Some(now), pause: None, hinted: false }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.next
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next.is_some_and(|next| next <= now)
    }

    /// The source is asked now, and not again until that has ended.
    pub(super) fn start(&mut self, now: Instant) {
        self.started = Some(now);
        self.hinted = false;
        self.next = None;
    }

    /// The source has answered, or was told of without being asked.
    pub(super) fn succeeded(&mut self, now: Instant) {
        self.pause = None;
        let interval = self.spread();
        self.next = self.started.unwrap_or(now).checked_add(interval).map(|next| next.max(now));
        self.follow_hint(now);
    }

    pub(super) fn failed(&mut self, now: Instant) {
        let longest = self.config.longest_pause;
        let pause = self.pause.map_or(self.config.first_pause, |pause| pause.saturating_mul(2).min(longest));
        self.pause = Some(pause);
        let pause = pause.saturating_sub(part(pause, self.config.jitter * self.rng.f64()));
        self.next = now.checked_add(pause.max(SHORTEST_PAUSE));
    }

    /// Somebody says that there is news. While the source fails, its pauses hold.
    pub(super) fn hint(&mut self, now: Instant, in_flight: bool) {
        self.hinted = true;
        if !in_flight && self.pause.is_none() {
            self.follow_hint(now);
        }
    }

    /// An answer may be older than a hint that came while it was fetched, so that one more is needed.
    fn follow_hint(&mut self, now: Instant) {
        if self.hinted {
            let spacing = self.config.hint_spacing.max(SHORTEST_PAUSE);
            let hinted = self.started.map_or(Some(now), |started| started.checked_add(spacing));
            self.next = self.next.into_iter().chain(hinted).min().map(|next| next.max(now));
        }
    }

    fn spread(&mut self) -> Duration {
        let reach = part(self.config.interval, self.config.jitter);
        let low = self.config.interval.saturating_sub(reach);
        low.saturating_add(part(reach.saturating_mul(2), self.rng.f64())).max(SHORTEST_PAUSE)
    }
}
