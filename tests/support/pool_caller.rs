//! Whoever survives a panic of what it calls, and hears what was contained.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use poise::core::LoadTracker;
use poise::tower::{Balancer, BalancerError, Event, Hook};

use super::pool_endpoints::{Answer, Endpoint, in_flight};

/// What came of a request.
#[derive(Debug)]
pub(crate) enum Came {
    Answer(Answer),
    Error(BalancerError),
    Panic,
}

/// Sends a request, also through a panic in `send` itself.
pub(crate) async fn send<L: LoadTracker>(pool: &Balancer<Endpoint, u64, L>, request: u64) -> Came {
    match AssertUnwindSafe(async { pool.send(request).await }).catch_unwind().await {
        Ok(Ok(answer)) => Came::Answer(answer),
        Ok(Err(error)) => Came::Error(error),
        Err(_) => Came::Panic,
    }
}

pub(crate) async fn assert_serves<L: LoadTracker>(pool: &Balancer<Endpoint, u64, L>, requests: u64) {
    for request in 0..requests {
        assert!(matches!(send(pool, request).await, Came::Answer(_)), "request {request} was not answered");
    }
    assert_eq!(in_flight(&pool.report()), 0);
}

/// Keeps what was contained.
#[derive(Clone, Default)]
pub(crate) struct Contained(Arc<Mutex<Vec<&'static str>>>);

impl Contained {
    pub(crate) fn all(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().clone()
    }
}

impl Hook for Contained {
    fn on(&self, event: &Event<'_>) {
        if let Event::Contained { what } = event {
            self.0.lock().unwrap().push(what);
        }
    }
}
