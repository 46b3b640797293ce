//! From a member to an endpoint.

use std::fmt;
use std::future::Future;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::super::cluster::{Cluster, EndpointListener};
use super::super::endpoint::Endpoint;
use super::super::operator::Standing;
use super::super::signals::HealthSettings;
use crate::core::{Candidate, Changes, LoadMetric, LoadTracker, Now};
use crate::discovery::Discovered;
use crate::tower::{Backoff, BoxError};

/// A service on its way.
pub(in super::super) type Connecting<S> = Pin<Box<dyn Future<Output = Result<S, BoxError>> + Send>>;

type Make<K, B, S> = dyn FnMut(&K, &B) -> Result<S, BoxError> + Send;
type Connect<K, B, S> = dyn FnMut(Discovered<K, B>) -> Connecting<S> + Send;

/// Makes the service of one allocation.
pub(in super::super) enum Factory<K, B, S> {
    AtOnce(Box<Make<K, B, S>>),
    Ahead(Box<Connect<K, B, S>>),
}

/// Makes what an endpoint needs.
pub(in super::super) struct Workshop<K, B, S, L> {
    pub(in super::super) factory: Factory<K, B, S>,
    pub(in super::super) poll_ready: PollReady<S>,
    pub(in super::super) load: Box<dyn FnMut() -> L + Send>,
    pub(in super::super) health: HealthSettings,
    /// For how long an attempt to connect may take, and for how long a service may take to become ready.
    pub(in super::super) connect_timeout: Duration,
    /// How many may connect at the same time.
    pub(in super::super) connecting: NonZeroUsize,
    /// How long what failed is left alone.
    pub(in super::super) backoff: Backoff,
}

/// Asks a service whether it is ready, or tells that it failed to become so.
pub(in super::super) type PollReady<S> = fn(&mut S, &mut Context<'_>) -> Poll<bool>;

/// Pauses from one second to thirty, shortened by up to a fifth.
pub(in super::super) fn backoff() -> Backoff {
    let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
    backoff.and_then(|backoff| backoff.with_jitter(0.2)).unwrap_or_default()
}

impl<K, B, S, L> Workshop<K, B, S, L>
where
    K: fmt::Display + Send + Sync + 'static,
    B: Send + Sync + 'static,
    S: Clone + Send + Sync + 'static,
    L: LoadTracker<Ticket: Send> + LoadMetric + Send + Sync + 'static,
{
    /// Names a member, by the key's own words.
    pub(super) fn standing<R: Send + 'static>(
        cluster: &Cluster<K, B, S, R, L>,
        discovered: &Discovered<K, B>,
    ) -> Option<Arc<Standing>> {
        let name = cluster.settings.conduct.contain("key", || discovered.key().to_string())?;
        Some(Standing::new(name.into()))
    }

    /// Joins a service with a load and the signals of its health.
    pub(super) fn endpoint<R: Send + 'static>(
        &mut self,
        cluster: &Arc<Cluster<K, B, S, R, L>>,
        standing: &Arc<Standing>,
        service: S,
        now: &Now,
    ) -> Result<Arc<Endpoint<S, R, L>>, BoxError> {
        let conduct = &cluster.settings.conduct;
        let load = conduct.contain("load factory", || (self.load)()).ok_or("the load factory panicked")?;
        let pool = cluster.pool.load_full();
        let _seeded =
            conduct.contain("load", || load.seed(&mut pool.members.iter().map(Candidate::load), now));
        let signals = self.health.signals(&cluster.budget);
        let home = Arc::clone(cluster);
        let endpoint = Arc::new(Endpoint::new(Arc::clone(standing), service, load, signals, home, now));
        // Not heard by anybody yet: it is no member of a pool. So what that does to the circuit is noted here.
        endpoint.obey();
        endpoint.note_signals();
        endpoint.signals().watch(&Changes::new(Arc::new(EndpointListener {
            cluster: Arc::downgrade(cluster),
            endpoint: Arc::downgrade(&endpoint),
        })));
        Ok(endpoint)
    }
}
