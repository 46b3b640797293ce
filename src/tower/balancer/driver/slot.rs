//! One key of the membership: what serves for it, and what will.

use std::sync::Arc;
use std::time::Instant;

use super::super::endpoint::Endpoint;
use super::super::operator::Standing;
use super::super::pool::Member;
use super::drains::Drain;
use super::factory::Connecting;
use super::polled::Polled;
use crate::core::{Candidate, LoadTracker, Now, Status};
use crate::discovery::Discovered;

/// Keeps what belongs to one key from one membership to the next.
///
/// While there is no next, the current one belongs to the allocation of `discovered`.
pub(super) struct Slot<K, B, S, R, L: LoadTracker> {
    pub(super) discovered: Discovered<K, B>,
    /// The name and what an operator says, for all generations; none as long as the key could not be printed.
    pub(super) standing: Option<Arc<Standing>>,
    pub(super) current: Option<Serving<K, B, S, R, L>>,
    pub(super) next: Option<Next<S, R, L>>,
    pub(super) drain: Option<Drain>,
}

/// An allocation with its endpoint.
pub(super) struct Serving<K, B, S, R, L: LoadTracker> {
    allocation: Discovered<K, B>,
    pub(super) endpoint: Arc<Endpoint<S, R, L>>,
}

/// What is on the way to the place of the current one.
pub(super) struct Next<S, R, L: LoadTracker> {
    pub(super) stage: Stage<S, R, L>,
    /// How often in a row it has failed.
    pub(super) failures: u32,
}

/// How far the next one has come.
///
/// ```text
/// Due ---> Connecting ---> Warming ---> Ready ---> current
///  ^           |            ^   |
///  +-- failed -+            +---+ not ready yet, or failed to become so: asked again, up to a deadline
/// ```
///
/// What is built at once goes from `Due` to `Warming`.
pub(super) enum Stage<S, R, L: LoadTracker> {
    /// It is built from then on.
    Due(Instant),
    Connecting {
        future: Polled<Connecting<S>>,
        until: Option<Instant>,
    },
    /// It has its service, which is made ready ahead of requests. Where nobody served before, it serves already.
    Warming {
        endpoint: Arc<Endpoint<S, R, L>>,
        ask: Ask<S>,
        until: Option<Instant>,
    },
    /// It takes over with the next pool.
    Ready {
        endpoint: Arc<Endpoint<S, R, L>>,
    },
}

/// Whether a service is being asked for its readiness.
pub(super) enum Ask<S> {
    Asked(Polled<S>),
    From(Instant),
}

impl<S, R, L: LoadTracker> Next<S, R, L> {
    pub(super) fn due(at: Instant) -> Self {
        Self { stage: Stage::Due(at), failures: 0 }
    }

    /// Returns when there is something to do for it that nothing else would wake the driver for.
    fn acts_at(&self) -> Option<Instant> {
        match &self.stage {
            Stage::Due(at) | Stage::Warming { ask: Ask::From(at), until: None, .. } => Some(*at),
            Stage::Warming { ask: Ask::From(at), until: Some(until), .. } => Some(*at.min(until)),
            Stage::Connecting { until, .. } | Stage::Warming { until, .. } => *until,
            Stage::Ready { .. } => None,
        }
    }
}

impl<K, B, S, R, L: LoadTracker> Slot<K, B, S, R, L> {
    pub(super) fn new(discovered: Discovered<K, B>, standing: Option<Arc<Standing>>, now: &Now) -> Self {
        let next = Some(Next::due(now.instant()));
        Self { discovered, standing, current: None, next, drain: None }
    }

    /// Makes the slot of the same key in another membership. What is on the way stays behind.
    pub(super) fn succeed(&self, discovered: &Discovered<K, B>, now: &Now) -> Self {
        let current = self.current.as_ref().map(Serving::share);
        let is_same = self.discovered.same_generation(discovered);
        let serves = current.as_ref().is_some_and(|current| current.allocation.same_generation(discovered));
        Self {
            discovered: discovered.clone(),
            standing: self.standing.clone(),
            current,
            next: (!is_same && !serves).then(|| Next::due(now.instant())),
            drain: self.drain.filter(|_| is_same),
        }
    }

    /// Takes over what is on the way for the same allocation; what failed is tried again at once.
    pub(super) fn take_next(&mut self, from: &mut Self, now: &Now) {
        self.next = from.next.take();
        if let Some(Next { stage: Stage::Due(at), .. }) = &mut self.next {
            *at = now.instant();
        }
    }

    /// Returns who serves for the key once the next pool is in effect.
    #[expect(clippy::type_complexity, reason = "an allocation and its endpoint, borrowed")]
    fn serving(&self) -> Option<(&Discovered<K, B>, &Arc<Endpoint<S, R, L>>)> {
        match (&self.current, &self.next) {
            (_, Some(Next { stage: Stage::Ready { endpoint }, .. }))
            | (None, Some(Next { stage: Stage::Warming { endpoint, .. }, .. })) => {
                Some((&self.discovered, endpoint))
            }
            (current, _) => current.as_ref().map(|current| (&current.allocation, &current.endpoint)),
        }
    }

    /// Tells whether nobody serves for the key.
    pub(super) fn is_absent(&self) -> bool {
        self.serving().is_none()
    }

    /// Tells whether a new pool would hold another endpoint than the current one.
    pub(super) fn has_news(&self) -> bool {
        match (self.serving(), &self.current) {
            (Some((_, endpoint)), Some(current)) => !Arc::ptr_eq(endpoint, &current.endpoint),
            (serving, current) => serving.is_some() != current.is_some(),
        }
    }

    /// Tells whether `endpoint` replaces another one.
    pub(super) fn is_replaced_by(&self, endpoint: &Arc<Endpoint<S, R, L>>) -> bool {
        self.current.as_ref().is_some_and(|current| !Arc::ptr_eq(&current.endpoint, endpoint))
    }

    /// Makes the member of a pool, with the attributes of the latest membership also for an older allocation.
    pub(super) fn member(&self) -> Option<Member<K, B, S, R, L>> {
        let (allocation, endpoint) = self.serving()?;
        let discovered = if allocation.same_generation(&self.discovered) {
            self.discovered.clone()
        } else {
            allocation.clone().with_attributes(self.discovered.attributes().clone())
        };
        Some(Member::new(discovered, Arc::clone(endpoint)))
    }

    /// Notes that the pool with its member is in effect, and returns what that made superfluous.
    pub(super) fn settle(&mut self) -> Option<Serving<K, B, S, R, L>> {
        let mut gone = None;
        if self.has_news()
            && let Some((allocation, endpoint)) = self.serving()
        {
            let serving = Serving { allocation: allocation.clone(), endpoint: Arc::clone(endpoint) };
            gone = self.current.replace(serving);
        }
        self.next.take_if(|next| matches!(next.stage, Stage::Ready { .. }));
        gone
    }

    /// Tells whether its latest allocation has no service.
    pub(super) fn is_unbuilt(&self) -> bool {
        let stage = self.next.as_ref().map(|next| &next.stage);
        matches!(stage, Some(Stage::Due(_) | Stage::Connecting { .. }))
    }

    pub(super) fn is_failing(&self) -> bool {
        self.is_unbuilt() && self.next.as_ref().is_some_and(|next| next.failures > 0)
    }

    pub(super) fn is_connecting(&self) -> bool {
        matches!(&self.next, Some(Next { stage: Stage::Connecting { .. }, .. }))
    }

    /// Returns how often it has failed, if it is to be built now.
    pub(super) fn is_due(&self, now: &Now) -> Option<u32> {
        match &self.next {
            Some(Next { stage: Stage::Due(at), failures }) if now.has_reached(*at) => Some(*failures),
            _ => None,
        }
    }

    pub(super) fn is_draining(&self) -> bool {
        match &self.current {
            Some(current) => current.endpoint.is_draining(),
            None => {
                self.discovered.status() == Status::Draining
                    || self.standing.as_ref().is_some_and(|standing| standing.mark().drains())
            }
        }
    }

    pub(super) fn acts_at(&self) -> Option<Instant> {
        self.next.as_ref()?.acts_at()
    }
}

impl<K, B, S, R, L: LoadTracker> Serving<K, B, S, R, L> {
    fn share(&self) -> Self {
        Self { allocation: self.allocation.clone(), endpoint: Arc::clone(&self.endpoint) }
    }
}
