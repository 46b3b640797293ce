//! The balance as a service: who takes a request.

use std::task::{Context, Poll};

use tower_service::Service;

use super::account::Holding;
use super::{Balance, BalanceError, BalanceFuture, Endpoint, ReadinessObserver};
use crate::core::{
    Attempted, Candidate, Exclusion, Exclusions, InvalidSelection, LoadTracker, Now, PickError, Policy,
    Prepare, Prepared,
};
use crate::tower::RequestContext;
use crate::tower::attempt::Attempt;

impl<R, C, S, L, P, X, O> Service<R> for Balance<C, S, L, P, X, O>
where
    C: Candidate,
    S: Service<R>,
    L: LoadTracker,
    P: Policy<Endpoint<C, S, L>, X::Key>,
    X: RequestContext<R>,
    O: ReadinessObserver<C::Id, S::Error>,
{
    type Response = S::Response;
    type Error = BalanceError<S::Error>;
    type Future = BalanceFuture<S::Future, S::Error, L>;

    /// Is ready when an endpoint can be called, and never fails.
    ///
    /// It polls every eligible endpoint that was woken, called or added since the last time; those that are pending hold
    /// nobody up, and those that are ready stay so until they are called. While nobody can be called, also because there
    /// are no endpoints, it is pending, and the task is woken by any change that could help.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.prepare();
        self.pool.poll_callable(cx, &mut self.observer).map(Ok)
    }

    /// Has the policy choose among those that are ready, and hands the request to the one that it chose.
    ///
    /// The chosen service is polled once more before. If its reservation is gone, it is passed over and the policy chooses
    /// again. All that goes wrong is said by the future.
    fn call(&mut self, request: R) -> Self::Future {
        self.prepare();
        let now = self.pool.clock.now();
        match self.admit(&request, &now) {
            Ok((position, mut attempt)) => {
                self.pool.endpoints[position].forget_failures();
                self.pool.requeue(position);
                attempt.called(0);
                let (service, _) = self.pool.endpoints[position].service_mut();
                BalanceFuture::calling(service.call(request), attempt)
            }
            Err(error) => BalanceFuture::refused(error),
        }
    }
}

impl<C, S, L, P, X, O> Balance<C, S, L, P, X, O>
where
    C: Candidate,
    L: LoadTracker,
{
    /// Brings what the policy prepared up to date with the membership.
    fn prepare(&mut self)
    where
        P: Prepare<Endpoint<C, S, L>>,
    {
        if self.pool.is_stale {
            // First: what changes while the table is made is told to it afterwards.
            self.pool.hide();
            let (nobody, now) = (Attempted::new(), self.pool.clock.now());
            let prepared = self.policy.prepare(&self.pool.view(&nobody, &now), Some(&self.pool.prepared));
            // A policy that refuses the membership says so when it is to choose.
            self.pool.prepared = prepared.unwrap_or_else(|_| Prepared::none());
            self.pool.is_stale = false;
        }
    }

    /// Chooses an endpoint whose reservation holds, and takes a place there.
    #[expect(clippy::type_complexity, reason = "a position and what is held there")]
    fn admit<R>(
        &mut self,
        request: &R,
        now: &Now,
    ) -> Result<(usize, Attempt<Holding<L>>), BalanceError<S::Error>>
    where
        S: Service<R>,
        P: Policy<Endpoint<C, S, L>, X::Key>,
        X: RequestContext<R>,
        O: ReadinessObserver<C::Id, S::Error>,
    {
        let mut tried = Attempted::new();
        let mut places_lost = false;
        // Each round takes a reservation away or avoids one endpoint more, so there are no more than twice as many as there
        // are endpoints.
        loop {
            let view = self.pool.view(&tried, now);
            let picked = self.context.with_key(request, |key| self.policy.pick_from(&view, key));
            let selection = picked.map_err(|error| self.obstacle(error, places_lost, now))?;
            let position = selection.index();
            match view.validate(selection).map(drop) {
                Ok(()) if !self.pool.confirm(position, &mut self.observer) => continue,
                Ok(()) => match self.pool.endpoints[position].admit(&self.pool.clock, now) {
                    Ok(attempt) => return Ok((position, attempt)),
                    Err(_) => places_lost = true,
                },
                // That may have come about after the policy had looked: no fault of the policy.
                Err(InvalidSelection::Excluded { exclusions, .. })
                    if exclusions.without(Exclusions::VOLATILE).is_empty() =>
                {
                    places_lost |= exclusions.contains(Exclusion::Capacity);
                }
                Err(error) => return Err(BalanceError::InvalidSelection(error)),
            }
            tried.insert(position);
        }
    }

    /// Says why nobody can be called.
    fn obstacle<E>(&self, error: PickError, places_lost: bool, now: &Now) -> BalanceError<E> {
        match error {
            PickError::Empty => BalanceError::NoMembers,
            PickError::NoEligible(counts) if places_lost || self.pool.is_short_of_places(now) => {
                BalanceError::AtCapacity(counts)
            }
            PickError::NoEligible(counts) => BalanceError::NoEligible(counts),
            error => BalanceError::Policy(error),
        }
    }
}
