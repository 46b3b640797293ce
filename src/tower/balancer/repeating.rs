//! Which requests are sent again, and when.

use super::builder::Builder;
use crate::tower::{Hedge, Idempotent, Retry};

/// What a builder was told about repeats.
pub(super) struct Repeating<R> {
    pub(super) retry: Option<Retry>,
    pub(super) hedge: Option<Hedge>,
    /// Only who asks for repeats needs requests that can be cloned.
    pub(super) clone: Option<fn(&R) -> R>,
    pub(super) idempotent: Option<Box<dyn Idempotent<R> + Send + Sync>>,
}

impl<R> Repeating<R> {
    pub(super) const fn none() -> Self {
        Self { retry: None, hedge: None, clone: None, idempotent: None }
    }
}

/// # Requests that are sent more than once
impl<K, B, S, R, L, P, X> Builder<K, B, S, R, L, P, X> {
    /// Makes failed attempts again, on other endpoints as long as there are some that were not tried, under one budget.
    ///
    /// What counts as a failure is what [`classify`](Self::classify) says, and an attempt that took too long. When there may
    /// be no more attempts, the last answer or error is what the caller gets. Only ask for it when requests may be sent
    /// twice.
    pub fn retry(mut self, retry: Retry) -> Self
    where
        R: Clone,
    {
        self.rest_mut().repeating.retry = Some(retry);
        self.rest_mut().repeating.clone = Some(R::clone);
        self
    }

    /// Sends requests that take long to a second endpoint too, under the budget of the retries, and takes the first success.
    ///
    /// Only ask for it when requests may be sent twice. It costs a clone of each request, an allocation for the timer of each
    /// attempt that is not over when it is first polled, and one more for each hedge.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::{Backend, Now};
    /// use poise::discovery::Directory;
    /// use poise::tower::{Balancer, Hedge};
    /// use std::convert::Infallible;
    /// use std::time::Duration;
    ///
    /// let mut directory = Directory::new();
    /// directory.upsert("slow", Backend::new(1_000))?;
    /// directory.upsert("fast", Backend::new(1))?;
    ///
    /// let balancer = Balancer::builder()
    ///     .discover(directory.reader(), |_key, backend| {
    ///         let latency = Duration::from_millis(*backend.id());
    ///         tower::service_fn(move |request: u32| async move {
    ///             tokio::time::sleep(latency).await;
    ///             Ok::<_, Infallible>(request)
    ///         })
    ///     })
    ///     .hedge(Hedge::after(Duration::from_millis(10)))
    ///     .spawn()?;
    /// for request in 0..100 {
    ///     let start = tokio::time::Instant::now();
    ///     balancer.send(request).await?;
    ///     assert!(start.elapsed() < Duration::from_millis(20));
    /// }
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    pub fn hedge(mut self, hedge: Hedge) -> Self
    where
        R: Clone,
    {
        self.rest_mut().repeating.hedge = Some(hedge);
        self.rest_mut().repeating.clone = Some(R::clone);
        self
    }

    /// Retries and hedges only the requests that may be sent twice: `.idempotent(|request: &Request| request.is_read())`.
    /// Without it, all of them may.
    ///
    /// Whether a request may is asked once, before its first attempt; it makes no difference for one that nobody has had. A
    /// panic in it is contained, and the request is sent once.
    pub fn idempotent(mut self, idempotent: impl Idempotent<R> + Send + Sync + 'static) -> Self {
        self.rest_mut().repeating.idempotent = Some(Box::new(idempotent));
        self
    }
}
