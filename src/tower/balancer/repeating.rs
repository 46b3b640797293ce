//! Which requests are sent again, and when.

use tower_service::Service;

use super::builder::Builder;
use super::conduct::ClassifyBy;
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
    /// Whether a request may is asked once, before its first attempt. It makes no difference for one that nobody has had: one
    /// that ran out of time before its endpoint was ready, or that failed in a way that is known as [`unsent`](Self::unsent). A
    /// panic in it is contained, and the request may not.
    pub fn idempotent(mut self, idempotent: impl Idempotent<R> + Send + Sync + 'static) -> Self {
        self.rest_mut().repeating.idempotent = Some(Box::new(idempotent));
        self
    }

    /// Says which errors mean that nobody had the request: `.unsent(|error: &Error| error.is_connect())`. Without it, none
    /// does.
    ///
    /// A client that connects in its call is always ready, and a connection that is refused is an error of the call. No
    /// server has had the request then, so that it may be sent again whatever it does:
    ///
    /// - With [`retry`](Self::retry) it goes to another endpoint although it is not [`idempotent`](Self::idempotent), within
    ///   the same number of attempts and the same budget. It is not hedged for that.
    /// - When all attempts ended like this, the error [is retryable](crate::tower::BalancerError::is_retryable).
    ///
    /// Nothing else depends on it. The error counts as what [`classify`](Self::classify) says, by default as a failure of the
    /// endpoint, and only a failure is tried again. Name the errors of making a connection. One that breaks, or a time limit
    /// that runs out, leaves open whether the server had the request.
    ///
    /// It is asked of errors only; with retries, requests that are not idempotent are cloned too. A panic in it is contained, and
    /// the request counts as sent.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "tokio")]
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use poise::core::Backend;
    /// use poise::core::policy::RoundRobin;
    /// use poise::discovery::Directory;
    /// use poise::tower::{Balancer, Retry};
    /// use std::io::{Error, ErrorKind};
    ///
    /// let mut directory = Directory::new();
    /// directory.upsert("gone", Backend::new(ErrorKind::ConnectionRefused))?;
    /// directory.upsert("broken", Backend::new(ErrorKind::ConnectionReset))?;
    ///
    /// let balancer = Balancer::builder()
    ///     .discover(directory.reader(), |_key, backend| {
    ///         let kind = *backend.id();
    ///         tower::service_fn(move |_payment: u32| async move { Err::<(), _>(Error::from(kind)) })
    ///     })
    ///     .policy(RoundRobin::starting_at(0))
    ///     .retry(Retry::attempts(5)?)
    ///     .idempotent(|_payment: &u32| false)
    ///     .unsent(|error: &Error| error.kind() == ErrorKind::ConnectionRefused)
    ///     .spawn()?;
    /// let error = balancer.send(7).await.unwrap_err();
    /// assert_eq!((error.endpoint(), error.attempts()), (Some("broken"), 2), "who is gone did not have it");
    /// assert!(!error.is_retryable(), "who broke down may have had it");
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "tokio"))]
    /// # fn main() {}
    /// ```
    pub fn unsent(mut self, unsent: impl Fn(&S::Error) -> bool + Send + Sync + 'static) -> Self
    where
        S: Service<R>,
    {
        let unsent = move |answer: Result<&S::Response, &S::Error>| answer.err().is_some_and(&unsent);
        self.rest_mut().unsent = Some(Box::new(ClassifyBy(unsent)));
        self
    }
}
