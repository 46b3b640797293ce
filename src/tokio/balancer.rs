//! Balancers that drive themselves.

use std::fmt;
use std::hash::Hash;

use ::tokio::runtime::Handle;

use super::TokioTimer;
use crate::core::{LoadMetric, LoadTracker, Policy};
use crate::tower::{Balancer, BuildError, Builder, Member, RequestContext};

impl<K, B, S, R, L, P, X> Builder<K, B, S, R, L, P, X>
where
    K: Eq + Hash + fmt::Display + Send + Sync + 'static,
    B: Send + Sync + 'static,
    S: Clone + Send + Sync + 'static,
    R: Send + 'static,
    L: LoadTracker<Ticket: Send> + LoadMetric + Send + Sync + 'static,
    P: Policy<Member<K, B, S, R, L>, X::Key> + Send + Sync + 'static,
    X: RequestContext<R> + Send + Sync + 'static,
{
    /// Makes the balancer on Tokio's timer, and spawns its driver on the current runtime.
    ///
    /// The task ends when the last handle of the balancer is dropped, or when it is shut down. It also ends with its runtime: from then on the balancer
    /// serves the members that it has, learns of no change, and its report says so.
    ///
    /// # Errors
    ///
    /// [`BuildError::NoRuntime`] outside of a Tokio runtime.
    pub fn spawn(self) -> Result<Balancer<S, R, L>, BuildError> {
        let runtime = Handle::try_current().map_err(|_| BuildError::NoRuntime)?;
        let (balancer, driver) = self.timer(TokioTimer).build()?;
        // The task is not joined: it ends by itself, and whoever wants to see that builds and spawns on their own.
        drop(runtime.spawn(driver));
        Ok(balancer)
    }
}
