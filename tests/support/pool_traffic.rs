//! Requests that come at an even rate, whether or not the earlier ones have been answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use super::pool_endpoints::Pool;

/// Counts how requests went.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) good: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) given_up: AtomicU64,
}

impl Tally {
    pub(crate) fn good(&self) -> u64 {
        self.good.load(Ordering::Relaxed)
    }

    pub(crate) fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    pub(crate) fn given_up(&self) -> u64 {
        self.given_up.load(Ordering::Relaxed)
    }

    pub(crate) fn ended(&self) -> u64 {
        self.good() + self.failed() + self.given_up()
    }
}

/// Describes requests that come at an even rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traffic {
    pub(crate) requests: u64,
    pub(crate) every: Duration,
    /// How long a caller waits.
    pub(crate) patience: Option<Duration>,
}

impl Traffic {
    pub(crate) fn new(requests: u64, every: Duration) -> Self {
        Self { requests, every, patience: None }
    }

    pub(crate) fn with_patience(self, patience: Duration) -> Self {
        Self { patience: Some(patience), ..self }
    }

    /// Sends them all, and counts what has ended.
    pub(crate) async fn send(self, pool: &Pool) -> Arc<Tally> {
        let tally = Arc::new(Tally::default());
        let mut ticks = tokio::time::interval(self.every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        for request in 0..self.requests {
            ticks.tick().await;
            let (tally, pool) = (Arc::clone(&tally), pool.clone());
            tokio::spawn(async move {
                let response = pool.send(request);
                let answer = match self.patience {
                    None => Ok(response.await),
                    Some(patience) => tokio::time::timeout(patience, response).await,
                };
                let counter = match answer {
                    Err(_) => &tally.given_up,
                    Ok(Ok(answer)) if answer.is_good => &tally.good,
                    Ok(_) => &tally.failed,
                };
                counter.fetch_add(1, Ordering::Relaxed);
            });
        }
        tally
    }
}
