//! Balancers that drive themselves.

use std::fmt;
use std::hash::Hash;

use ::tokio::runtime::Handle;

use super::{TokioProbe, TokioTimer};
use crate::core::{LoadMetric, LoadTracker, Policy};
use crate::discovery::Discovered;
use crate::tower::{Balancer, BuildError, Builder, Member, RequestContext};

impl<K, B, S, R, L, P, X> Builder<K, B, S, R, L, P, X> {
    /// Makes the balancer on Tokio's timer, and spawns its driver on the current runtime.
    ///
    /// The task ends when the last handle of the balancer is dropped, or when it is shut down. It also ends with its runtime: from then on the balancer
    /// serves the members that it has, learns of no change, and its report says so.
    ///
    /// # Errors
    ///
    /// [`BuildError::NoRuntime`] outside of a Tokio runtime.
    pub fn spawn(self) -> Result<Balancer<S, R, L>, BuildError>
    where
        K: Eq + Hash + fmt::Display + Send + Sync + 'static,
        B: Send + Sync + 'static,
        S: Clone + Send + Sync + 'static,
        R: Send + 'static,
        L: LoadTracker<Ticket: Send> + LoadMetric + Send + Sync + 'static,
        P: Policy<Member<K, B, S, R, L>, X::Key> + Send + Sync + 'static,
        X: RequestContext<R> + Send + Sync + 'static,
    {
        let runtime = Handle::try_current().map_err(|_| BuildError::NoRuntime)?;
        let (balancer, driver) = self.timer(TokioTimer).build()?;
        // The task is not joined: it ends by itself, and whoever wants to see that builds and spawns on their own.
        drop(runtime.spawn(driver));
        Ok(balancer)
    }

    /// Probes members as [`probe`](Self::probe) does, by what `prober` makes of each.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::Backend;
    /// use poise::discovery::Directory;
    /// use poise::health::ProbeOutcome;
    /// use poise::tokio::TokioProbe;
    /// use poise::tower::Balancer;
    /// use std::convert::Infallible;
    /// use std::net::SocketAddr;
    ///
    /// struct Connects(SocketAddr);
    ///
    /// impl TokioProbe for Connects {
    ///     async fn probe(&self) -> ProbeOutcome {
    ///         ProbeOutcome::of(tokio::net::TcpStream::connect(self.0).await)
    ///     }
    /// }
    ///
    /// let mut directory = Directory::new();
    /// directory.upsert("a", Backend::new(SocketAddr::from(([127, 0, 0, 1], 80))))?;
    /// let balancer = Balancer::builder()
    ///     .discover(directory.reader(), |_key, _backend| {
    ///         tower::service_fn(|request: u32| async move { Ok::<_, Infallible>(request) })
    ///     })
    ///     .probe_with(|member| Connects(*member.backend().id()))
    ///     .spawn()?;
    /// assert_eq!(balancer.send(7).await?, 7);
    /// # Ok(())
    /// # }
    /// ```
    pub fn probe_with<T>(self, mut prober: impl FnMut(&Discovered<K, B>) -> T + Send + 'static) -> Self
    where
        T: TokioProbe + Send + Sync + 'static,
    {
        self.probe(move |member| {
            let prober = prober(member);
            async move { prober.probe().await }
        })
    }
}
