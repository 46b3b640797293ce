//! A balance whose endpoints are discovered.

use std::fmt;
use std::hash::Hash;
use std::task::{Context, Poll};

use tower_service::Service;

use super::reconcile::{Made, Plan, draining};
use super::{EndpointFactory, ReconcileError, ReconcileReport};
use crate::core::{Policy, Prepare};
use crate::discovery::{Discovered, Revision, Snapshot, SnapshotReader};
use crate::tower::{
    Balance, BalanceError, BalanceFuture, IgnoreFailures, NoContext, ReadinessObserver, RequestContext,
};

/// The balance that a [`DiscoveryBalance`] keeps up to date.
type Inner<K, B, F, P, X, O> = Balance<
    Discovered<K, B>,
    <F as EndpointFactory<K, B>>::Service,
    <F as EndpointFactory<K, B>>::Tracker,
    P,
    X,
    O,
>;

/// Balances over endpoints that it makes of the members of snapshots.
///
/// It does nothing by itself: [`apply_snapshot`](Self::apply_snapshot) and [`sync`](Self::sync) bring a membership into
/// effect when they are called, and between these it is a [`Balance`].
///
/// The key of a member says who it is, and the allocation of its backend which generation of it: as long as both stay, so do
/// service, reservation, quarantine and load, whatever happens to its attributes; a new allocation, also of an equal value,
/// gets a new service and a new tracker. A member that drains keeps its endpoint and gets nothing new; when it is gone from the
/// snapshot its endpoint is dropped, and responses that were under way stay good, load and all.
///
/// A snapshot takes effect as a whole or not at all. Whatever fails or panics on the way (keys, the factory, the policy, the
/// destructors of what was made in vain), endpoints, order, readiness, load and revision are what they were. Destructors of what
/// was replaced run after everything is in effect; a panic in one is contained.
///
/// # Examples
///
/// ```
/// use futures_util::FutureExt;
/// use poise::core::Backend;
/// use poise::core::policy::RoundRobin;
/// use poise::discovery::Directory;
/// use poise::tower::{DiscoveryBalance, in_flight_factory};
/// use std::convert::Infallible;
/// use tower::{ServiceExt, service_fn};
/// use tower_service::Service;
///
/// let mut directory = Directory::new();
/// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
///
/// let factory = in_flight_factory(|_key: &&str, backend: &Backend<&'static str>| {
///     let address = *backend.id();
///     Ok::<_, Infallible>(service_fn(move |path: &str| {
///         std::future::ready(Ok::<_, Infallible>(format!("{path} from {address}")))
///     }))
/// });
/// let mut balance = DiscoveryBalance::new(RoundRobin::new(), factory);
/// assert_eq!(balance.sync(&directory.reader())?.added(), 1);
///
/// let ready = balance.ready().now_or_never().expect("the endpoint is ready")?;
/// assert_eq!(ready.call("/").now_or_never().expect("it answers at once")?, "/ from 10.0.0.1:80");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DiscoveryBalance<K, B, F, P, X = NoContext, O = IgnoreFailures>
where
    F: EndpointFactory<K, B>,
{
    balance: Inner<K, B, F, P, X, O>,
    factory: F,
    applied: Option<Revision>,
}

impl<K, B, F, P> DiscoveryBalance<K, B, F, P>
where
    F: EndpointFactory<K, B>,
{
    /// Makes a balance that has no endpoints yet.
    pub fn new(policy: P, factory: F) -> Self {
        Self::over(Balance::new(policy, []), factory)
    }
}

impl<K, B, F, P, X, O> DiscoveryBalance<K, B, F, P, X, O>
where
    F: EndpointFactory<K, B>,
{
    /// Has the endpoints of `balance`, which may be configured before, follow snapshots from now on. Those that it has
    /// already are known by their candidates.
    pub fn over(balance: Inner<K, B, F, P, X, O>, factory: F) -> Self {
        Self { balance, factory, applied: None }
    }

    /// Brings a snapshot into effect.
    ///
    /// One of the revision that is in effect changes nothing and is reported as such.
    ///
    /// # Errors
    ///
    /// [`ReconcileError`]; everything is as it was then.
    ///
    /// # Complexity
    ///
    /// O(n), and what the factory and the policy need. No future is awaited and no stream polled.
    pub fn apply_snapshot(
        &mut self,
        snapshot: &Snapshot<K, B>,
    ) -> Result<ReconcileReport, ReconcileError<F::Error>>
    where
        K: Eq + Hash,
        P: Prepare<Made<K, B, F>>,
    {
        let offered = snapshot.revision();
        if let Some(applied) = self.applied.filter(|applied| offered <= *applied) {
            if offered < applied {
                return Err(ReconcileError::StaleRevision { offered, applied });
            }
            return Ok(ReconcileReport {
                revision: applied,
                retained: self.balance.len(),
                draining: draining(snapshot),
                ..ReconcileReport::default()
            });
        }
        let now = self.balance.now();
        let plan = Plan::new(self.balance.endpoints(), snapshot)?;
        let staged = plan.stage(self.balance.endpoints(), snapshot, &mut self.factory, &now)?;
        let report = plan.commit(&mut self.balance, staged, snapshot, &now)?;
        self.applied = Some(offered);
        Ok(report)
    }

    /// Brings the current snapshot of `reader` into effect; one load, no wait.
    ///
    /// # Errors
    ///
    /// As [`apply_snapshot`](Self::apply_snapshot).
    pub fn sync(&mut self, reader: &SnapshotReader<K, B>) -> Result<ReconcileReport, ReconcileError<F::Error>>
    where
        K: Eq + Hash,
        P: Prepare<Made<K, B, F>>,
    {
        self.apply_snapshot(&reader.load())
    }

    /// Returns the revision that is in effect, [`Revision::ZERO`] before the first.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.applied.unwrap_or_default()
    }

    /// Returns the balance.
    pub fn balance(&self) -> &Inner<K, B, F, P, X, O> {
        &self.balance
    }

    /// Returns the balance, to reset endpoints for instance. Endpoints that are added or removed there stay so until the next
    /// snapshot.
    pub fn balance_mut(&mut self) -> &mut Inner<K, B, F, P, X, O> {
        &mut self.balance
    }

    /// Returns the factory.
    pub fn factory(&self) -> &F {
        &self.factory
    }
}

impl<R, K, B, F, P, X, O> Service<R> for DiscoveryBalance<K, B, F, P, X, O>
where
    F: EndpointFactory<K, B, Service: Service<R>>,
    P: Policy<Made<K, B, F>, X::Key>,
    X: RequestContext<R>,
    O: ReadinessObserver<K, <F::Service as Service<R>>::Error>,
{
    type Response = <F::Service as Service<R>>::Response;
    type Error = BalanceError<<F::Service as Service<R>>::Error>;
    type Future =
        BalanceFuture<<F::Service as Service<R>>::Future, <F::Service as Service<R>>::Error, F::Tracker>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.balance.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        self.balance.call(request)
    }
}

impl<K, B, F, P, X, O> fmt::Debug for DiscoveryBalance<K, B, F, P, X, O>
where
    K: fmt::Debug,
    F: EndpointFactory<K, B>,
    P: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiscoveryBalance")
            .field("revision", &self.revision())
            .field("balance", &self.balance)
            .finish_non_exhaustive()
    }
}
