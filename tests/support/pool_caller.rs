//! A caller who survives a panic of what it calls.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use poise::tower::BalancerError;

use super::endpoints::{Answer, Pool};

/// What came of a request.
#[derive(Debug)]
pub(crate) enum Came {
    Answer(Answer),
    Error(BalancerError),
    Panic,
}

/// Sends a request, also through a panic in `send` itself.
pub(crate) async fn send(pool: &Pool, request: u64) -> Came {
    match AssertUnwindSafe(async { pool.send(request).await }).catch_unwind().await {
        Ok(Ok(answer)) => Came::Answer(answer),
        Ok(Err(error)) => Came::Error(error),
        Err(_) => Came::Panic,
    }
}
