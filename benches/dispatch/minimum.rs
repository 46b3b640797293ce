//! What one would write by hand to do the same for these very services.
//!
//! All threads share the endpoints. A request draws two of them, sees that they are not excluded, compares what is in
//! flight there, weighed by the latency, counts in, clones the service, calls it, counts out, and keeps the statistics
//! that a report shows. The clock is read at the start and at the end. There is no membership that may change, no owner that the
//! endpoints may outlive, and no circuit that could open.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use poise::tower::Timer;
use tower_service::Service;

/// As in the balancer: what changes with each request is kept apart from the neighbours.
#[repr(align(128))]
struct Endpoint<S> {
    service: S,
    excluded: AtomicU64,
    in_flight: AtomicU64,
    latency: AtomicU64,
    picks: AtomicU64,
    successes: AtomicU64,
    buckets: [AtomicU64; 64],
}

impl<S> Endpoint<S> {
    fn new(service: S) -> Self {
        Self {
            service,
            excluded: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            latency: AtomicU64::new(1_000),
            picks: AtomicU64::new(0),
            successes: AtomicU64::new(0),
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Excluded ones are the most loaded.
    #[inline]
    fn load(&self) -> u64 {
        if self.excluded.load(Ordering::Acquire) != 0 {
            return u64::MAX;
        }
        (self.in_flight.load(Ordering::Relaxed) + 1) * self.latency.load(Ordering::Relaxed)
    }
}

/// Services that all threads share.
pub(crate) struct Minimum<S, T> {
    endpoints: Vec<Endpoint<S>>,
    timer: T,
}

impl<S, T> Minimum<S, T>
where
    S: Service<u64, Response = u64> + Clone,
    T: Timer,
{
    pub(crate) fn new(services: impl Iterator<Item = S>, timer: T) -> Self {
        Self { endpoints: services.map(Endpoint::new).collect(), timer }
    }

    pub(crate) fn send(&self, request: u64) -> u64 {
        let start = self.timer.now();
        let endpoint = self.pick();
        endpoint.in_flight.fetch_add(1, Ordering::AcqRel);
        endpoint.picks.fetch_add(1, Ordering::Relaxed);
        let mut context = Context::from_waker(Waker::noop());
        let mut service = endpoint.service.clone();
        let is_ready = matches!(service.poll_ready(&mut context), Poll::Ready(Ok(())));
        assert!(is_ready, "every service is ready");
        let answer = pin!(service.call(request)).poll(&mut context);
        let nanos = self.timer.now().saturating_duration_since(start).as_nanos();
        endpoint.ended(u64::try_from(nanos).unwrap_or(u64::MAX));
        match answer {
            Poll::Ready(Ok(answer)) => answer,
            _ => panic!("every service answers at once"),
        }
    }

    #[inline]
    fn pick(&self) -> &Endpoint<S> {
        let draw = fastrand::u64(..);
        let [one, other] = [draw >> 32, draw & 0xFFFF_FFFF]
            .map(|part| &self.endpoints[((part * self.endpoints.len() as u64) >> 32) as usize]);
        if one.load() <= other.load() { one } else { other }
    }
}

impl<S> Endpoint<S> {
    #[inline]
    fn ended(&self, nanos: u64) {
        let known = self.latency.load(Ordering::Relaxed);
        self.latency.store(nanos.max(known - known / 16), Ordering::Relaxed);
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
        self.successes.fetch_add(1, Ordering::Relaxed);
        self.buckets[nanos.max(1).ilog2() as usize].fetch_add(1, Ordering::Relaxed);
    }
}
