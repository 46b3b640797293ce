//! Why a balance that follows a stream has no response, and how that is said.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project::pin_project;

use super::ReconcileError;
use crate::core::LoadTracker;
use crate::tower::{BalanceError, BalanceFuture};

/// Reports that a [`StreamingDiscoveryBalance`](super::StreamingDiscoveryBalance) is not ready or has no response.
///
/// `E` is the error of the services, `F` that of the factory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamingError<E, F> {
    /// A snapshot did not take effect. Everything is as it was; the next poll serves that, or applies what is newer.
    Reconcile(ReconcileError<F>),
    /// The publisher is gone, and the balance was told to [fail](super::StreamEndPolicy::FailClosed) then.
    Closed,
    /// A request got no response.
    Balance(BalanceError<E>),
}

impl<E, F> StreamingError<E, F> {
    /// Tells whether no endpoint has had the request and another try may find one.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Reconcile(_) => true,
            Self::Closed => false,
            Self::Balance(error) => error.is_retryable(),
        }
    }
}

impl<E, F> fmt::Display for StreamingError<E, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reconcile(error) => write!(f, "a snapshot did not take effect: {error}"),
            Self::Closed => f.write_str("discovery has ended"),
            Self::Balance(error) => error.fmt(f),
        }
    }
}

impl<E: Error + 'static, F: Error + 'static> Error for StreamingError<E, F> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Reconcile(error) => Some(error),
            Self::Closed => None,
            Self::Balance(error) => error.source(),
        }
    }
}

/// Resolves as a [`BalanceFuture`], with the error of the stream's balance.
#[must_use = "futures do nothing unless polled"]
#[pin_project]
#[derive(Debug)]
pub struct StreamingFuture<S, E, L: LoadTracker, F> {
    #[pin]
    response: BalanceFuture<S, E, L>,
    error: PhantomData<fn() -> F>,
}

impl<S, E, L: LoadTracker, F> StreamingFuture<S, E, L, F> {
    pub(super) fn new(response: BalanceFuture<S, E, L>) -> Self {
        Self { response, error: PhantomData }
    }
}

impl<T, S, E, L, F> Future for StreamingFuture<S, E, L, F>
where
    S: Future<Output = Result<T, E>>,
    L: LoadTracker,
{
    type Output = Result<T, StreamingError<E, F>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().response.poll(cx).map_err(StreamingError::Balance)
    }
}
