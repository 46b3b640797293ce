//! The traffic: requests at random times, whatever becomes of those before.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Empty};
use hyper::Response;
use hyper::body::Incoming;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::client::Request;

/// Requests of this time are not counted: nobody knows the servers yet.
const WARM_UP: Duration = Duration::from_secs(3);
const COUNTED: Duration = Duration::from_secs(10);

/// What the clients saw.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) failed: usize,
    /// How long each request took that was answered, in order.
    latencies: Vec<Duration>,
}

impl Tally {
    /// Returns the latency that so many percent of the requests do not exceed, in milliseconds.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let at = self.latencies.len() * percent / 100;
        self.latencies.get(at).copied().unwrap_or_default().as_secs_f64() * 1e3
    }

    pub(crate) fn requests(&self) -> usize {
        self.failed + self.latencies.len()
    }
}

/// Sends requests at a rate, each at its time, and waits for their ends. Equal seeds are equal times.
pub(crate) async fn run<F, E>(per_second: f64, seed: u64, dispatch: impl Fn(Request) -> F) -> Tally
where
    F: Future<Output = Result<Response<Incoming>, E>> + Send + 'static,
    E: Send,
{
    let tally = Arc::new(Mutex::new(Tally::default()));
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut sent = JoinSet::new();
    let start = Instant::now();
    let mut at = start;
    loop {
        at += Duration::from_secs_f64(-(1.0 - rng.f64()).ln() / per_second);
        if at > start + WARM_UP + COUNTED {
            break;
        }
        sleep_until(at).await;
        let (answer, tally) = (dispatch(request()), Arc::clone(&tally));
        sent.spawn(async move {
            let is_answered = is_answered(answer).await;
            let took = at.elapsed();
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            match is_answered {
                _ if at < start + WARM_UP => {}
                true => tally.latencies.push(took),
                false => tally.failed += 1,
            }
        });
        while sent.try_join_next().is_some() {}
    }
    while sent.join_next().await.is_some() {}
    let mut tally = std::mem::take(&mut *tally.lock().unwrap_or_else(PoisonError::into_inner));
    tally.latencies.sort_unstable();
    tally
}

fn request() -> Request {
    let mut request = Request::new(Empty::new());
    *request.uri_mut() = hyper::Uri::from_static("/");
    request
}

/// Tells whether a request gets a 2xx, body included.
async fn is_answered<E>(answer: impl Future<Output = Result<Response<Incoming>, E>>) -> bool {
    match answer.await {
        Ok(response) => response.status().is_success() && response.into_body().collect().await.is_ok(),
        Err(_) => false,
    }
}
