//! How members come and go.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::builder::Builder;
use crate::discovery::Discovered;

/// # How members come and go
impl<K, B, S, R, L, P, X> Builder<K, B, S, R, L, P, X> {
    /// Limits the time of one attempt to connect, and the time that a service may take to become ready before it takes over
    /// from that of an older allocation all the same. [`Duration::MAX`] sets no limit.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.rest_mut().connect_timeout = limit;
        self
    }

    /// Limits how many members are connected to at the same time, with [`connect_with`](super::Discoverer::connect_with).
    pub fn connecting_at_once(mut self, limit: NonZeroUsize) -> Self {
        self.rest_mut().connecting = limit;
        self
    }

    /// Sets after which time a drain is done although attempts are under way, and for how long a
    /// [`shutdown`](super::Balancer::shutdown) waits. [`Duration::MAX`] waits for ever.
    ///
    /// What is under way then is not cut off by the balancer.
    pub fn drain_deadline(mut self, deadline: Duration) -> Self {
        self.rest_mut().drain_deadline = deadline;
        self
    }

    /// Calls `on_drained` for each member whose drain is done: one whose status is `Draining`, or that an operator had
    /// [drain](super::Balancer::drain), when its last attempt has ended or its [deadline](Self::drain_deadline) has passed.
    ///
    /// The driver calls it, once per drain and allocation; a membership that stops a drain and starts it again before the driver
    /// has looked has not stopped it. It is called right after the hooks have heard
    /// [`Event::Drained`](crate::tower::Event::Drained). It returns quickly; a panic in it is contained. An attempt ends with
    /// the head of its response: bodies that are still being read need time of their own, unless the balancer is
    /// [`guarded`](super::Balancer::guarded) and counts them in.
    ///
    /// # Examples
    ///
    /// The owner of a directory removes a member, and lets go of it when its work is done:
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::Backend;
    /// use poise::discovery::Directory;
    /// use poise::tower::Balancer;
    /// use std::convert::Infallible;
    ///
    /// let mut directory = Directory::new();
    /// directory.upsert("a", Backend::new("10.0.0.1:80"))?;
    /// let (drained, mut drains) = tokio::sync::mpsc::unbounded_channel();
    /// let balancer = Balancer::builder()
    ///     .discover(directory.reader(), |_key, _backend| {
    ///         tower::service_fn(|request: u32| async move { Ok::<_, Infallible>(request) })
    ///     })
    ///     .on_drained(move |member| drop(drained.send(member.clone())))
    ///     .spawn()?;
    /// balancer.send(7).await?;
    ///
    /// directory.remove(&"a")?;
    /// let done = drains.recv().await.ok_or("the balancer has ended")?;
    /// // By generation, so that one that has come back meanwhile is left alone.
    /// directory.finish_drained_where(|member| member.same_generation(&done))?;
    /// assert!(directory.is_empty());
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    pub fn on_drained(mut self, on_drained: impl FnMut(&Discovered<K, B>) + Send + 'static) -> Self {
        self.rest_mut().on_drained = Some(Box::new(on_drained));
        self
    }
}
