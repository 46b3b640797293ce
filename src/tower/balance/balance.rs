//! The balance and what it is told.

use std::fmt;

use super::pool::Pool;
use super::{Endpoint, IgnoreFailures};
use crate::core::{Candidate, LoadTracker, Now, Prepared};
use crate::tower::timer::Clock;
use crate::tower::{Backoff, NoContext, Timer};

/// Balances over endpoints that it owns: one service made of many.
///
/// It is a `tower_service::Service` of the letter. `poll_ready` polls every eligible endpoint and keeps what each says:
/// a reservation stays with its endpoint, however often others are called. `call` has the policy choose among those that
/// are ready and takes exactly the reservation that was chosen. It is no `Clone`, and neither need its services be; to share
/// one between tasks, put a `Buffer` in front, or use `Balancer`.
///
/// - **Pending endpoints hold nobody up**, and wake the task one by one: a poll costs as much as there is news.
/// - **An endpoint that fails to become ready is quarantined** until [`reset`](Self::reset), and the
///   [observer](Self::observe_readiness) gets the error. [`recovering`](Self::recovering) has it tried again by itself.
/// - **While nobody can be called the balance is pending**, whether the endpoints are excluded, full, quarantined or none at
///   all. Any change that could help wakes the task: a service, a candidate that
///   [tells of its changes](Candidate::watch), a place that comes free, and with a [timer](Self::timer) the passing of time.
/// - **The response future owns the attempt** that its endpoint counts, from the call to the result, also beyond the
///   removal of the endpoint.
///
/// Time is that of the system until there is a [timer](Self::timer).
///
/// # Complexity
///
/// `poll_ready` polls as many services as were woken, called or added since the last time. `call` costs a pick and one poll
/// of the chosen service. Changes of the membership are O(n).
///
/// # Examples
///
/// ```
/// use futures_util::FutureExt;
/// use poise::core::Backend;
/// use poise::core::policy::RoundRobin;
/// use poise::tower::{Balance, Endpoint};
/// use std::convert::Infallible;
/// use tower::{ServiceExt, service_fn};
/// use tower_service::Service;
///
/// let endpoints = ["a", "b"].map(|name| {
///     let service = service_fn(move |path: &str| std::future::ready(Ok::<_, Infallible>(format!("{path} from {name}"))));
///     Endpoint::new(Backend::new(name), service)
/// });
/// let mut balance = Balance::new(RoundRobin::starting_at(0), endpoints);
/// for expected in ["/ from a", "/ from b", "/ from a"] {
///     let ready = balance.ready().now_or_never().expect("two endpoints are ready")?;
///     assert_eq!(ready.call("/").now_or_never().expect("they answer at once")?, expected);
/// }
/// # Ok::<(), poise::tower::BalanceError<Infallible>>(())
/// ```
pub struct Balance<C, S, L, P, X = NoContext, O = IgnoreFailures> {
    pub(super) pool: Pool<C, S, L>,
    pub(super) policy: P,
    pub(super) context: X,
    pub(super) observer: O,
}

impl<C: Candidate, S, L: LoadTracker, P> Balance<C, S, L, P> {
    /// Makes a balance of its policy and its first endpoints, of which there may be none.
    pub fn new(policy: P, endpoints: impl IntoIterator<Item = Endpoint<C, S, L>>) -> Self {
        let mut balance = Self { pool: Pool::new(), policy, context: NoContext, observer: IgnoreFailures };
        balance.extend(endpoints);
        balance
    }
}

impl<C, S, L, P, X, O> Balance<C, S, L, P, X, O> {
    /// Sets how a request gives the policy its key; by default there is none.
    ///
    /// ```
    /// use futures_util::FutureExt;
    /// use poise::core::Backend;
    /// use poise::core::policy::Rendezvous;
    /// use poise::tower::{Balance, BorrowedKey, Endpoint};
    /// use std::convert::Infallible;
    /// use tower::{ServiceExt, service_fn};
    ///
    /// struct Request {
    ///     user: String,
    /// }
    ///
    /// let endpoints = ["a", "b", "c"].map(|name| {
    ///     let service = service_fn(move |_: Request| std::future::ready(Ok::<_, Infallible>(name)));
    ///     Endpoint::new(Backend::new(name), service)
    /// });
    /// let mut balance = Balance::new(Rendezvous::new(), endpoints)
    ///     .context(BorrowedKey::new(|request: &Request| request.user.as_str()));
    /// let mut ask = |user: &str| {
    ///     let request = Request { user: user.into() };
    ///     let answered = async { balance.ready().await?.call(request).await };
    ///     answered.now_or_never().expect("all are ready")
    /// };
    /// # use tower_service::Service;
    /// let first = ask("ann")?;
    /// assert_eq!(ask("ann")?, first, "the same user, the same endpoint");
    /// # Ok::<(), poise::tower::BalanceError<Infallible>>(())
    /// ```
    pub fn context<Y>(self, context: Y) -> Balance<C, S, L, P, Y, O> {
        Balance { pool: self.pool, policy: self.policy, context, observer: self.observer }
    }

    /// Sets who hears of endpoints that fail to become ready; by default nobody does.
    ///
    /// With the feature `observe`, an `ObservedReadiness` counts them, or tells any other `Observer` of them.
    pub fn observe_readiness<W>(self, observer: W) -> Balance<C, S, L, P, X, W> {
        Balance { pool: self.pool, policy: self.policy, context: self.context, observer }
    }

    /// Tells the time by `timer`, and has it wake the task when an excluded candidate
    /// [changes by itself](Candidate::changes_at), such as a circuit whose cooldown is over.
    #[must_use]
    pub fn timer(mut self, timer: impl Timer) -> Self {
        self.pool.clock = Clock::new(timer);
        self
    }

    /// Tries endpoints that failed to become ready again, after a pause that grows while they go on to fail.
    ///
    /// Without this they stay in quarantine until [`reset`](Self::reset). A request that is served ends a row of failures.
    /// The time is that of `timer`, as with [`timer`](Self::timer).
    #[must_use]
    pub fn recovering(mut self, backoff: Backoff, timer: impl Timer) -> Self {
        self.pool.recovery = Some(backoff);
        self.timer(timer)
    }

    /// Returns the policy.
    pub fn policy(&self) -> &P {
        &self.policy
    }

    /// Returns the observer of readiness.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// Returns the endpoints in the order in which policies see them.
    #[must_use]
    pub fn endpoints(&self) -> &[Endpoint<C, S, L>] {
        &self.pool.endpoints
    }

    /// Returns the number of endpoints.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pool.endpoints.len()
    }

    /// Tells whether there are no endpoints.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pool.endpoints.is_empty()
    }

    /// Ends the quarantine of every endpoint, and returns how many there were.
    pub fn reset_all(&mut self) -> usize {
        let quarantined: Vec<usize> =
            (0..self.len()).filter(|position| self.pool.endpoints[*position].is_quarantined()).collect();
        for position in &quarantined {
            self.pool.reset(*position);
        }
        quarantined.len()
    }
}

impl<C: Candidate, S, L: LoadTracker, P, X, O> Balance<C, S, L, P, X, O> {
    /// Adds an endpoint at the end.
    pub fn push(&mut self, endpoint: Endpoint<C, S, L>) {
        self.extend([endpoint]);
    }

    /// Removes the endpoint with this identity, or the first of several. Responses under way stay good.
    pub fn remove(&mut self, id: &C::Id) -> Option<Endpoint<C, S, L>>
    where
        C::Id: PartialEq,
    {
        let position = self.position(id)?;
        let mut endpoint = self.pool.endpoints.remove(position);
        endpoint.leave();
        self.pool.place();
        Some(endpoint)
    }

    /// Changes the candidate with this identity, such as its administrative state, and tells whether there is one. The
    /// service, its reservation and its load stay.
    pub fn amend(&mut self, id: &C::Id, change: impl FnOnce(&mut C)) -> bool
    where
        C::Id: PartialEq,
    {
        let Some(position) = self.position(id) else { return false };
        change(self.pool.endpoints[position].candidate_mut());
        self.pool.endpoints[position].watch();
        self.pool.place();
        true
    }

    /// Ends the quarantine of the endpoint with this identity, so that its service is polled again, and tells whether it
    /// was in quarantine.
    pub fn reset(&mut self, id: &C::Id) -> bool
    where
        C::Id: PartialEq,
    {
        let position = self.position(id).filter(|position| self.pool.endpoints[*position].is_quarantined());
        position.map(|position| self.pool.reset(position)).is_some()
    }

    fn position(&self, id: &C::Id) -> Option<usize>
    where
        C::Id: PartialEq,
    {
        self.pool.endpoints.iter().position(|endpoint| endpoint.id() == id)
    }
}

/// What reconciliation needs.
#[allow(dead_code, reason = "for memberships that are discovered")]
impl<C, S, L, P, X, O> Balance<C, S, L, P, X, O> {
    pub(crate) fn now(&self) -> Now {
        self.pool.clock.now()
    }

    /// Returns what the policy prepared last.
    pub(crate) fn prepared(&self) -> &Prepared {
        &self.pool.prepared
    }

    /// Returns the endpoints, which the caller may take out and put back as they were.
    pub(crate) fn endpoints_mut(&mut self) -> &mut Vec<Endpoint<C, S, L>> {
        &mut self.pool.endpoints
    }

    /// Makes `endpoints` the membership, of which some are new, with what the policy prepared for it.
    pub(crate) fn commit(
        &mut self,
        endpoints: Vec<Endpoint<C, S, L>>,
        is_new: impl Iterator<Item = bool>,
        prepared: Prepared,
    ) where
        C: Candidate,
        L: LoadTracker,
    {
        for (endpoint, _) in endpoints.iter().zip(is_new).filter(|(_, is_new)| *is_new) {
            self.pool.adopt(endpoint);
        }
        self.pool.endpoints = endpoints;
        self.pool.place();
        self.pool.hide();
        (self.pool.prepared, self.pool.is_stale) = (prepared, false);
    }
}

impl<C: Candidate, S, L: LoadTracker, P, X, O> Extend<Endpoint<C, S, L>> for Balance<C, S, L, P, X, O> {
    fn extend<I: IntoIterator<Item = Endpoint<C, S, L>>>(&mut self, endpoints: I) {
        // Complete before anything changes: an iterator may panic.
        let mut endpoints: Vec<_> = endpoints.into_iter().collect();
        for endpoint in &endpoints {
            self.pool.adopt(endpoint);
        }
        self.pool.endpoints.append(&mut endpoints);
        self.pool.place();
    }
}

impl<C: fmt::Debug, S, L, P: fmt::Debug, X, O> fmt::Debug for Balance<C, S, L, P, X, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Balance")
            .field("endpoints", &self.pool)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}
