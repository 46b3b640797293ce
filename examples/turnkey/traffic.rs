//! The traffic: a steady rate of requests, bounded in number, in time and in how many are under way.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use poise::tower::Balancer;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout};

use crate::client::{Client, Request};

const PER_SECOND: u32 = 1_200;
const SECONDS: u32 = 20;
/// How many requests may be under way, so that a server that hangs cannot pile them up without end.
const CONCURRENT: u32 = 400;
/// How long a client of this program waits, whatever the balancer does.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the clients saw.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) failed: usize,
    /// How long each request took, the failed ones too.
    pub(crate) latencies: Vec<Duration>,
}

/// Sends all requests, each at its time, and waits for their ends.
pub(crate) async fn run(balancer: Balancer<Client, Request>) -> Tally {
    let tally = Arc::new(Mutex::new(Tally::default()));
    let places = Arc::new(Semaphore::new(CONCURRENT as usize));
    let start = Instant::now();
    for number in 0..PER_SECOND * SECONDS {
        sleep_until(start + Duration::from_secs(1) * number / PER_SECOND).await;
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
        let (balancer, tally) = (balancer.clone(), Arc::clone(&tally));
        tokio::spawn(async move {
            let sent = Instant::now();
            let succeeded = timeout(PATIENCE, succeeds(balancer)).await.unwrap_or(false);
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            tally.failed += usize::from(!succeeded);
            tally.latencies.push(sent.elapsed());
            drop(place);
        });
    }
    // Whoever has all the places knows that nobody is under way.
    let all = places.acquire_many(CONCURRENT).await;
    let tally = tally.lock().unwrap_or_else(PoisonError::into_inner).clone();
    drop(all);
    tally
}

/// Tells whether a request gets a 2xx, body included.
async fn succeeds(balancer: Balancer<Client, Request>) -> bool {
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = hyper::Uri::from_static("/");
    match balancer.send(request).await {
        Ok(response) => response.status().is_success() && response.into_body().collect().await.is_ok(),
        Err(_) => false,
    }
}
