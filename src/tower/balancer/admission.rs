//! Who takes a request, and why nobody does.

use std::sync::{Arc, Weak};

use super::cluster::Cluster;
use super::contain::tell;
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

/// Takes what an attempt needs of an endpoint. When somebody else was faster, the error is what excludes it now.
#[inline]
fn admit<S, R, L: LoadTracker>(
    endpoint: &Endpoint<S, R, L>,
    panic: bool,
    now: &Now,
) -> Result<Admitted<L::Ticket>, Exclusions> {
    // First, as the tracker may be the user's and panic: nothing is held by then.
    let Ok(ticket) = endpoint.load().start(now) else { return Err(Exclusion::Capacity.into()) };
    let permit = match endpoint.circuit() {
        None => None,
        Some(circuit) if panic => Some(circuit.admit_forced(now)),
        Some(circuit) => {
            let Ok(permit) = circuit.admit(now) else {
                endpoint.give_back(ticket, Outcome::Cancelled, now);
                return Err(Exclusion::Circuit.into());
            };
            Some(permit)
        }
    };
    if !endpoint.picked() {
        endpoint.give_back(ticket, Outcome::Cancelled, now);
        if let (Some(circuit), Some(permit)) = (endpoint.circuit(), permit) {
            circuit.settle(permit, Outcome::Cancelled, now);
        }
        return Err(Exclusion::Draining.into());
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
        let now = Now::at(self.settings.timer.now());
        let pool = self.pool.load();
        let mut attempted = if tried.is_empty() && avoided.is_empty() {
            Attempted::new()
        } else {
            pool.positions_of(tried, avoided)
        };
        let mut places_lost = false;
        // Each round avoids one member more than the one before, so there are at most as many as there are members.
        loop {
            let view = pool.view(&attempted, &now);
            let view = match self.panic() {
                None => view,
                Some(PanicPolicy::Route) => view.in_panic(),
                Some(PanicPolicy::FailFast) => return Err(Box::new(self.rejection(&pool, &view, &now))),
            };
            let selection = match &self.settings.picker.pick(&view, request) {
                // Word by word: it was written so just now, and is not ready to be read in other portions.
                Ok(selection) => Selection::new(selection.index()).in_panic(selection.is_panic()),
                Err(error) => return Err(Box::new(self.obstacle(&pool, *error, places_lost, &now))),
            };
            let panic = selection.is_panic();
            let lost = match view.validate(selection).map(Member::endpoint) {
                Ok(endpoint) => match admit(endpoint, panic, &now) {
                    Ok(admitted) => {
                        let mut attempt = Attempt::new(Arc::clone(endpoint), admitted);
                        if self.settings.is_followed() {
                            attempt.follow();
                            tell(&*self.settings.hook, &Event::Picked { endpoint: endpoint.name(), panic });
                        }
                        return Ok(Lease { service: endpoint.service().clone(), attempt });
                    }
                    Err(exclusions) => exclusions,
                },
                // That may have come about after the policy had looked: no fault of the policy.
                Err(InvalidSelection::Excluded { exclusions, .. })
                    if exclusions
                        .without(Exclusions::VOLATILE | pool.said_of(selection.index()))
                        .is_empty() =>
                {
                    exclusions
                }
                Err(error) => return Err(Box::new(BalancerErrorKind::InvalidSelection(error))),
            };
            places_lost |= lost.contains(Exclusion::Capacity);
            attempted.insert(selection.index());
        }
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
    /// Places are lost when others were faster; by now they may be free again.
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
