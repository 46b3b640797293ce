//! What a balancer would do with a request.

use super::balancer::Balancer;
use super::cluster::Cluster;
use crate::core::policy::Explained;
use crate::core::{LoadTracker, Now};

impl<K, B, S, R, L: LoadTracker> Cluster<K, B, S, R, L> {
    /// Says whom the first attempt of a request would be sent to now.
    pub(super) fn explain_pick(&self, request: &R) -> Explained {
        let now = Now::at(self.settings.conduct.timer.now());
        let pool = self.pool.load_full();
        let view = pool.view(&now);
        let decision = self.settings.picker.explain(&view, request);
        Explained::new(&view, decision, |member| member.endpoint().name().to_string())
    }
}

impl<S, R, L: LoadTracker> Balancer<S, R, L> {
    /// Says which endpoint a request would be sent to now, why, and who would be passed over, and sends nothing.
    ///
    /// It leaves no trace: no permit is taken, no load is started, and the next request goes where it would have gone. What
    /// the policy says is what [`Policy::explain_from`](crate::core::Policy::explain_from) does. Whether the service turns out
    /// to be ready is known only by asking it, so that a request may go elsewhere all the same.
    ///
    /// # Panics
    ///
    /// When the policy or the key does.
    ///
    /// # Complexity
    ///
    /// Linear in the number of members; it allocates.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::policy::RoundRobin;
    /// use poise::core::Backend;
    /// use poise::discovery::Directory;
    /// use poise::tower::Balancer;
    /// use std::convert::Infallible;
    ///
    /// let mut directory = Directory::new();
    /// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
    /// directory.upsert("b", Backend::new("10.0.0.2:80"))?;
    /// directory.remove(&"a")?;
    ///
    /// let balancer = Balancer::builder()
    ///     .discover(directory.reader(), |_key, _backend| {
    ///         tower::service_fn(|request: u32| async move { Ok::<_, Infallible>(request) })
    ///     })
    ///     .policy(RoundRobin::new())
    ///     .spawn()?;
    /// assert_eq!(
    ///     balancer.explain(&7).to_string(),
    ///     "1 of 2 are eligible\n\
    ///      chooses b at 1: in turn\n\
    ///      passes over a at 0: draining\n"
    /// );
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    #[must_use]
    pub fn explain(&self, request: &R) -> Explained {
        self.handle().cluster().explain(request)
    }
}
