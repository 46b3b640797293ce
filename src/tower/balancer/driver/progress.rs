//! From an allocation to an endpoint that is ready: one step after another, without anybody who waits for it.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::task::Poll;

use super::super::cluster::Cluster;
use super::super::endpoint::Endpoint;
use super::factory::{Factory, Workshop};
use super::polled::Polled;
use super::slot::{Ask, Next, Slot, Stage};
use crate::core::{LoadMetric, LoadTracker, Now};
use crate::sync::lock;
use crate::tower::{BoxError, Event, TimedOut};

/// How an attempt to become an endpoint went on.
enum Progress<S, R, L: LoadTracker> {
    /// It is where it was.
    None,
    To(Stage<S, R, L>),
    Failed(BoxError),
    /// It serves already, and there is nothing left to do for it.
    Over,
}

impl<K, B, S, L> Workshop<K, B, S, L>
where
    K: Eq + Hash + fmt::Display + Send + Sync + 'static,
    B: Send + Sync + 'static,
    S: Clone + Send + Sync + 'static,
    L: LoadTracker<Ticket: Send> + LoadMetric + Send + Sync + 'static,
{
    /// Starts what is due: at once where that takes no time, else those first that have failed the least, as many as may
    /// connect at the same time.
    ///
    /// Outside of the driver's task nothing is polled.
    pub(super) fn start<R: Send + 'static>(
        &mut self,
        slots: &mut [Slot<K, B, S, R, L>],
        cluster: &Arc<Cluster<K, B, S, R, L>>,
        is_polled: bool,
        now: &Now,
    ) {
        let is_ahead = matches!(self.factory, Factory::Ahead(_));
        if is_ahead && !is_polled {
            return;
        }
        let mut due: Vec<(u32, usize)> = (0..)
            .zip(slots.iter())
            // Who drains takes no requests that a service would be needed for.
            .filter(|(_, slot)| !(is_ahead && slot.is_draining()))
            .filter_map(|(position, slot)| slot.is_due(now).map(|failures| (failures, position)))
            .collect();
        due.sort_unstable();
        let mut connecting = slots.iter().filter(|slot| slot.is_connecting()).count();
        for (_, position) in due {
            if is_ahead && connecting >= self.connecting.get() {
                break;
            }
            let slot = &mut slots[position];
            let begun = self.begin(slot, cluster, now);
            self.go_on(slot, begun, cluster, now);
            if is_polled {
                self.advance(slot, cluster, now);
            }
            connecting += usize::from(slot.is_connecting());
        }
    }

    /// Takes every step that can be taken now.
    pub(super) fn advance<R: Send + 'static>(
        &mut self,
        slot: &mut Slot<K, B, S, R, L>,
        cluster: &Arc<Cluster<K, B, S, R, L>>,
        now: &Now,
    ) {
        loop {
            let progress = match &mut slot.next {
                Some(Next { stage: Stage::Connecting { .. }, .. }) => self.connect(slot, cluster, now),
                Some(Next { stage: Stage::Warming { .. }, .. }) => self.warm(slot, cluster, now),
                _ => return,
            };
            if !self.go_on(slot, progress, cluster, now) {
                return;
            }
        }
    }

    /// Brings a step into effect, and tells whether another one may follow at once.
    fn go_on<R: Send + 'static>(
        &self,
        slot: &mut Slot<K, B, S, R, L>,
        progress: Progress<S, R, L>,
        cluster: &Arc<Cluster<K, B, S, R, L>>,
        now: &Now,
    ) -> bool {
        let Some(next) = &mut slot.next else { return false };
        let (stage, is_progress) = match progress {
            Progress::None => return false,
            Progress::To(stage) => (Some(stage), true),
            Progress::Over => (None, false),
            Progress::Failed(error) => {
                next.failures = next.failures.saturating_add(1);
                let name = slot.standing.as_ref().map(|standing| standing.name());
                let message = cluster.settings.conduct.contain("error", || {
                    name.map_or_else(|| error.to_string(), |name| format!("{name}: {error}"))
                });
                let message = message.unwrap_or_else(|| "an error that cannot be printed".to_owned());
                lock(&cluster.ledger).last_error = Some(message.into());
                if let Some(endpoint) = name {
                    cluster.settings.conduct.tell(&Event::BuildFailed { endpoint, failures: next.failures });
                }
                let at = now.instant().checked_add(self.backoff.pause(next.failures));
                (Some(Stage::Due(at.unwrap_or(now.instant()))), false)
            }
        };
        // What is left behind is the user's: a future, or a clone of a service.
        let left = match stage {
            Some(stage) => Some(std::mem::replace(&mut next.stage, stage)),
            None => slot.next.take().map(|next| next.stage),
        };
        let _dropped = cluster.settings.conduct.contain("drop", || drop(left));
        is_progress
    }

    /// Calls the factory.
    fn begin<R: Send + 'static>(
        &mut self,
        slot: &mut Slot<K, B, S, R, L>,
        cluster: &Arc<Cluster<K, B, S, R, L>>,
        now: &Now,
    ) -> Progress<S, R, L> {
        if slot.standing.is_none() {
            slot.standing = Self::standing(cluster, &slot.discovered);
        }
        let discovered = &slot.discovered;
        let conduct = &cluster.settings.conduct;
        let service = conduct.contain("factory", || match &mut self.factory {
            Factory::AtOnce(make) => make(discovered.key(), discovered.backend()).map(Ok),
            Factory::Ahead(connect) => Ok(Err(connect(discovered.clone()))),
        });
        match service {
            None => Progress::Failed("the factory panicked".into()),
            Some(Err(error)) => Progress::Failed(error),
            Some(Ok(Ok(service))) => self.built(slot, service, cluster, now),
            Some(Ok(Err(future))) => Progress::To(Stage::Connecting {
                future: Polled::new(future, &cluster.driver),
                until: now.instant().checked_add(self.connect_timeout),
            }),
        }
    }

    fn built<R: Send + 'static>(
        &mut self,
        slot: &Slot<K, B, S, R, L>,
        service: S,
        cluster: &Arc<Cluster<K, B, S, R, L>>,
        now: &Now,
    ) -> Progress<S, R, L> {
        let Some(standing) = &slot.standing else {
            return Progress::Failed("the name of the key panicked".into());
        };
        match self.endpoint(cluster, standing, service, now) {
            Err(error) => Progress::Failed(error),
            Ok(endpoint) => Progress::To(Stage::Warming {
                endpoint,
                ask: Ask::From(now.instant()),
                until: now.instant().checked_add(self.connect_timeout),
            }),
        }
    }

    fn connect<R: Send + 'static>(
        &mut self,
        slot: &mut Slot<K, B, S, R, L>,
        cluster: &Arc<Cluster<K, B, S, R, L>>,
        now: &Now,
    ) -> Progress<S, R, L> {
        let Some(Next { stage: Stage::Connecting { future, until }, .. }) = &mut slot.next else {
            return Progress::None;
        };
        let conduct = &cluster.settings.conduct;
        match conduct.contain("factory", || future.poll(|future, cx| future.as_mut().poll(cx))) {
            None => Progress::Failed("the factory panicked".into()),
            Some(Poll::Ready(Ok(service))) => self.built(slot, service, cluster, now),
            Some(Poll::Ready(Err(error))) => Progress::Failed(error),
            Some(Poll::Pending) if until.is_some_and(|until| now.has_reached(until)) => {
                Progress::Failed(TimedOut.into())
            }
            Some(Poll::Pending) => Progress::None,
        }
    }

    /// Asks a service that is to take over whether it is ready. One that never becomes so takes over at its deadline.
    fn warm<R: Send + 'static>(
        &self,
        slot: &mut Slot<K, B, S, R, L>,
        cluster: &Arc<Cluster<K, B, S, R, L>>,
        now: &Now,
    ) -> Progress<S, R, L> {
        let Some(Next { stage: Stage::Warming { endpoint, .. }, .. }) = &slot.next else {
            return Progress::None;
        };
        let (endpoint, replaces) = (Arc::clone(endpoint), slot.is_replaced_by(endpoint));
        let serves = slot.current.is_some() && !replaces;
        let Some(Next { stage: Stage::Warming { ask, until, .. }, failures }) = &mut slot.next else {
            return Progress::None;
        };
        let is_late = until.is_some_and(|until| now.has_reached(until));
        match self.ask(ask, &endpoint, cluster, now) {
            Poll::Pending if !is_late => Progress::None,
            // Whoever serves already is found out by requests.
            Poll::Ready(false) if replaces && !is_late => {
                *failures = failures.saturating_add(1);
                let pause = self.backoff.pause(*failures);
                let at = now.instant().checked_add(pause).unwrap_or(now.instant());
                let asked = std::mem::replace(ask, Ask::From(at));
                let conduct = &cluster.settings.conduct;
                conduct.tell(&Event::BuildFailed { endpoint: endpoint.name(), failures: *failures });
                let _dropped = conduct.contain("drop", || drop(asked));
                Progress::None
            }
            _ if serves => Progress::Over,
            _ => Progress::To(Stage::Ready { endpoint }),
        }
    }

    fn ask<R: Send + 'static>(
        &self,
        ask: &mut Ask<S>,
        endpoint: &Endpoint<S, R, L>,
        cluster: &Arc<Cluster<K, B, S, R, L>>,
        now: &Now,
    ) -> Poll<bool> {
        let conduct = &cluster.settings.conduct;
        if let Ask::From(at) = ask {
            if !now.has_reached(*at) {
                return Poll::Pending;
            }
            match conduct.contain("service", || endpoint.service().clone()) {
                None => return Poll::Ready(false),
                Some(clone) => *ask = Ask::Asked(Polled::new(clone, &cluster.driver)),
            }
        }
        match ask {
            Ask::From(_) => Poll::Pending,
            Ask::Asked(service) => {
                let poll_ready = self.poll_ready;
                conduct.contain("readiness", || service.poll(poll_ready)).unwrap_or(Poll::Ready(false))
            }
        }
    }
}
