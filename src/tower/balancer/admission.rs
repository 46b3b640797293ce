//! Who takes a request, and why nobody does.

use std::sync::{Arc, Weak};

use super::cluster::Cluster;
use super::contain::attempt as contained;
use super::endpoint::{Admitted, Attempt, Endpoint};
use super::panic::PanicPolicy;
use super::pool::{Member, Pool};
use crate::core::{
    Attempted, Exclusion, ExclusionCounts, Exclusions, InvalidSelection, LoadTracker, Now, Outcome,
    PickError, Selection, View,
};
use crate::sync::lock;
use crate::tower::{BalancerErrorKind, Event};

/// An attempt with the clone of the service that will make it.
pub(crate) struct Lease<S, R, L: LoadTracker> {
    pub(super) attempt: Attempt<S, R, L>,
    pub(super) service: S,
}

/// Why a request cannot have an endpoint. Apart, so that a lease is all that a pick usually moves.
pub(crate) type Obstacle = Box<BalancerErrorKind>;

/// What came of a pick instead of an attempt.
enum Missed {
    /// The member at this position may not be had any more.
    Lost(usize, Lost),
    /// There is nobody.
    Nobody(Obstacle),
}

/// What is gone of a member that was picked. As wide as a word, so that it does not share one with what is had otherwise.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
enum Lost {
    /// Others were faster and have its places; by now they may be free again.
    Place,
    /// It is not to be called any more.
    Member,
}

impl Missed {
    /// Says what a selection means that is not valid by now.
    #[cold]
    fn of<K, B, S, R, L: LoadTracker>(pool: &Pool<K, B, S, R, L>, error: InvalidSelection) -> Self {
        match error {
            // That may have come about after the policy had looked: no fault of the policy.
            InvalidSelection::Excluded { index, exclusions }
                if exclusions.without(Exclusions::VOLATILE | pool.said_of(index)).is_empty() =>
            {
                let is_full = exclusions.contains(Exclusion::Capacity);
                Self::Lost(index, if is_full { Lost::Place } else { Lost::Member })
            }
            error => Self::Nobody(Box::new(BalancerErrorKind::InvalidSelection(error))),
        }
    }
}

/// Starts an attempt that is cancelled at once, as its service panics when it is cloned. Nothing else may panic meanwhile.
struct Unstarted<F: Fn()>(F);

impl<F: Fn()> Drop for Unstarted<F> {
    #[cold]
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Takes what an attempt needs of an endpoint.
#[expect(clippy::inline_always, reason = "what is admitted is not to be moved once more")]
#[inline(always)]
fn admit<S, R, L: LoadTracker>(
    endpoint: &Endpoint<S, R, L>,
    panic: bool,
    now: &Now,
) -> Result<Admitted<L::Ticket>, Lost> {
    // First, as the tracker may be the user's and panic: nothing is held by then.
    let Ok(ticket) = endpoint.load().start(now) else { return Err(Lost::Place) };
    let permit = match endpoint.circuit() {
        None => None,
        Some(circuit) if panic => Some(circuit.admit_forced(now)),
        Some(circuit) => {
            let Ok(permit) = circuit.admit(now) else {
                endpoint.give_back(ticket, Outcome::Cancelled, now);
                return Err(Lost::Member);
            };
            Some(permit)
        }
    };
    if !endpoint.picked() {
        endpoint.give_back(ticket, Outcome::Cancelled, now);
        if let (Some(circuit), Some(permit)) = (endpoint.circuit(), permit) {
            circuit.settle(permit, Outcome::Cancelled, now);
        }
        return Err(Lost::Member);
    }
    Ok(Admitted { permit, ticket, started: now.nanos() })
}

impl<K, B, S, R, L> Cluster<K, B, S, R, L>
where
    S: Clone,
    L: LoadTracker,
{
    /// Picks an endpoint beside those that were tried and those of these names, admits an attempt, and clones the service.
    pub(super) fn admit_one(
        &self,
        request: &R,
        tried: &[Weak<Endpoint<S, R, L>>],
        avoided: &[Box<str>],
    ) -> Result<Lease<S, R, L>, Obstacle> {
        let now = Now::at(self.settings.conduct.timer.now());
        let pool = self.pool.load();
        if !tried.is_empty() || !avoided.is_empty() || self.panic().is_some() {
            return self.admit_beside(&pool, pool.positions_of(tried, avoided), false, request, &now);
        }
        match self.try_admit(&pool, &pool.view(&now), false, request, &now) {
            Ok(lease) => Ok(lease),
            Err(Missed::Lost(position, lost)) => {
                let attempted = Attempted::from_iter([position]);
                self.admit_beside(&pool, attempted, lost == Lost::Place, request, &now)
            }
            Err(Missed::Nobody(obstacle)) => Err(obstacle),
        }
    }

    /// Admits an attempt at somebody else than those at these positions. Each round avoids one member more than the one before,
    /// so there are at most as many as there are members.
    #[cold]
    fn admit_beside(
        &self,
        pool: &Pool<K, B, S, R, L>,
        mut attempted: Attempted,
        mut places_lost: bool,
        request: &R,
        now: &Now,
    ) -> Result<Lease<S, R, L>, Obstacle> {
        loop {
            let view = pool.view(now).avoiding(&attempted);
            let view = match self.panic() {
                None => view,
                Some(PanicPolicy::Route) => view.in_panic(),
                Some(PanicPolicy::FailFast) => return Err(Box::new(self.rejection(pool, &view, now))),
            };
            match self.try_admit(pool, &view, places_lost, request, now) {
                Ok(lease) => return Ok(lease),
                Err(Missed::Lost(position, lost)) => {
                    places_lost |= lost == Lost::Place;
                    attempted.insert(position);
                }
                Err(Missed::Nobody(obstacle)) => return Err(obstacle),
            }
        }
    }

    /// Picks once, and admits an attempt at whoever was picked.
    #[expect(clippy::inline_always, reason = "a lease is not to be moved once more")]
    #[inline(always)]
    fn try_admit(
        &self,
        pool: &Pool<K, B, S, R, L>,
        view: &View<'_, Member<K, B, S, R, L>>,
        places_lost: bool,
        request: &R,
        now: &Now,
    ) -> Result<Lease<S, R, L>, Missed> {
        let selection = match &self.settings.picker.pick(view, request) {
            // Word by word: it was written so just now, and is not ready to be read in other portions.
            Ok(selection) => Selection::new(selection.index()).in_panic(selection.is_panic()),
            Err(error) => {
                return Err(Missed::Nobody(Box::new(self.obstacle(pool, *error, places_lost, now))));
            }
        };
        let endpoint = match view.validate(selection) {
            Ok(member) => member.endpoint(),
            Err(error) => return Err(Missed::of(pool, error)),
        };
        let start = || self.start(endpoint, selection.is_panic(), now);
        // First, so that the attempt is made where it stays.
        let unstarted = Unstarted(|| {
            let _cancelled = contained(|| drop(start()));
        });
        let service = endpoint.service().clone();
        std::mem::forget(unstarted);
        match start() {
            Ok(attempt) => Ok(Lease { attempt, service }),
            Err(lost) => Err(Missed::Lost(selection.index(), lost)),
        }
    }

    /// Starts an attempt at an endpoint, if it may be had.
    #[expect(clippy::inline_always, reason = "an attempt is not to be moved once more")]
    #[inline(always)]
    fn start(
        &self,
        endpoint: &Arc<Endpoint<S, R, L>>,
        panic: bool,
        now: &Now,
    ) -> Result<Attempt<S, R, L>, Lost> {
        let admitted = admit(endpoint, panic, now)?;
        let is_followed = self.settings.conduct.is_followed();
        if is_followed {
            self.settings.conduct.tell(&Event::Picked { endpoint: endpoint.name(), panic });
        }
        Ok(Attempt::new(Arc::clone(endpoint), admitted, is_followed))
    }

    /// Says why nobody is to be picked in panic.
    #[cold]
    fn rejection(
        &self,
        pool: &Pool<K, B, S, R, L>,
        view: &View<'_, Member<K, B, S, R, L>>,
        now: &Now,
    ) -> BalancerErrorKind {
        match view.refuse() {
            PickError::NoEligible(counts) if !self.is_closed() => BalancerErrorKind::PanicRejected(counts),
            error => self.obstacle(pool, error, false, now),
        }
    }

    /// Says why nobody can be picked.
    ///
    /// Places that were [lost](Lost::Place) may be free again.
    #[cold]
    fn obstacle(
        &self,
        pool: &Pool<K, B, S, R, L>,
        error: PickError,
        places_lost: bool,
        now: &Now,
    ) -> BalancerErrorKind {
        match error {
            _ if self.is_closed() => BalancerErrorKind::Closed,
            PickError::Empty if pool.revision.value() == 0 => {
                lock(&self.ledger).refused.map_or(BalancerErrorKind::Undiscovered, BalancerErrorKind::Policy)
            }
            PickError::Empty => match lock(&self.ledger).unbuilt {
                0 => BalancerErrorKind::NoMembers,
                unbuilt => {
                    let mut counts = ExclusionCounts::default();
                    (0..unbuilt).for_each(|_| counts.add(Exclusion::NotReady.into()));
                    BalancerErrorKind::NoEligible(counts)
                }
            },
            PickError::NoEligible(counts)
                if places_lost
                    || counts.of(Exclusion::Capacity) > 0
                        && pool.is_short_of_places(self.panic().is_some(), now) =>
            {
                BalancerErrorKind::AtCapacity(counts)
            }
            PickError::NoEligible(counts) => BalancerErrorKind::NoEligible(counts),
            error => BalancerErrorKind::Policy(error),
        }
    }
}
