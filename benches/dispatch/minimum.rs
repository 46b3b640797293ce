//! What one would write by hand to do the same for these very services.
//!
//! All threads share the endpoints. A request loads the membership, which may be swapped at any time, draws two endpoints,
//! sees that they are not excluded, and compares what is in flight there, weighed by the latency: the average as it has
//! decayed, or the age of the attempt that has been under way longest where that is more. It asks the circuit of the better
//! one, counts in, shares the endpoint, which may leave meanwhile, clones the service and calls it. In the end it learns
//! the latency, counts out, tells the circuit, and keeps the statistics that a report shows. The clock is read at the
//! start and at the end.
//!
//! There are no choices of the user: of policy, load, classifier, hook or clock. There is no failure, and nothing is ever
//! cancelled.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use arc_swap::ArcSwap;

use poise::tower::Timer;
use tower_service::Service;

/// How fast the past is forgotten.
const DECAY_NANOS: f64 = 10e9;

/// As in the balancer: what changes with each request is kept apart from the neighbours.
#[repr(align(128))]
struct Endpoint<S> {
    service: S,
    /// Zero while it is closed and has seen no failure.
    circuit: AtomicU64,
    excluded: AtomicU64,
    in_flight: AtomicU64,
    /// The bits of a number of nanoseconds.
    latency: AtomicU64,
    learned: AtomicU64,
    /// When the attempt began that has been under way longest; zero when there is none.
    witness: AtomicU64,
    picks: AtomicU64,
    successes: AtomicU64,
    buckets: [AtomicU64; 64],
}

impl<S> Endpoint<S> {
    fn new(service: S) -> Self {
        Self {
            service,
            circuit: AtomicU64::new(0),
            excluded: AtomicU64::new(0),
            in_flight: AtomicU64::new(0),
            latency: AtomicU64::new(1_000.0_f64.to_bits()),
            learned: AtomicU64::new(0),
            witness: AtomicU64::new(0),
            picks: AtomicU64::new(0),
            successes: AtomicU64::new(0),
            buckets: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// Excluded ones are the most loaded.
    #[inline]
    fn load(&self, now: u64) -> f64 {
        if self.excluded.load(Ordering::Acquire) != 0 || self.circuit.load(Ordering::Acquire) != 0 {
            return f64::INFINITY;
        }
        let began = self.witness.load(Ordering::Acquire);
        let age = if began == 0 { 0 } else { now.saturating_sub(began) };
        let latency = self.latency().0 * self.kept(now);
        (self.in_flight.load(Ordering::Relaxed) + 1) as f64 * latency.max(age as f64)
    }

    #[inline]
    fn latency(&self) -> (f64, u64) {
        let bits = self.latency.load(Ordering::Relaxed);
        (f64::from_bits(bits), bits)
    }

    /// What is left of the past.
    #[inline]
    fn kept(&self, now: u64) -> f64 {
        (-(now.saturating_sub(self.learned.load(Ordering::Relaxed)) as f64) / DECAY_NANOS).exp()
    }

    #[inline]
    fn begins(&self, now: u64) -> bool {
        self.in_flight.fetch_add(1, Ordering::AcqRel);
        self.picks.fetch_add(1, Ordering::Relaxed);
        self.witness.load(Ordering::Relaxed) == 0
            && self.witness.compare_exchange(0, now, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn ended(&self, began: u64, is_witness: bool, now: u64) {
        let nanos = now.saturating_sub(began);
        let (known, bits) = self.latency();
        let kept = self.kept(now);
        let latency = (nanos as f64).max(known * kept + nanos as f64 * (1.0 - kept));
        let _ = self.latency.compare_exchange(bits, latency.to_bits(), Ordering::Relaxed, Ordering::Relaxed);
        self.learned.store(now, Ordering::Relaxed);
        if is_witness {
            self.witness.store(0, Ordering::Release);
        }
        self.in_flight.fetch_sub(1, Ordering::AcqRel);
        if self.circuit.load(Ordering::Acquire) != 0 {
            self.circuit.store(0, Ordering::Release);
        }
        self.successes.fetch_add(1, Ordering::Relaxed);
        self.buckets[nanos.max(1).ilog2() as usize].fetch_add(1, Ordering::Relaxed);
    }
}

/// What threads share.
pub(crate) struct Minimum<S, T> {
    endpoints: ArcSwap<Vec<Arc<Endpoint<S>>>>,
    timer: T,
    start: Instant,
}

impl<S, T> Minimum<S, T>
where
    S: Service<u64, Response = u64> + Clone,
    T: Timer,
{
    pub(crate) fn new(services: impl Iterator<Item = S>, timer: T) -> Self {
        let endpoints = services.map(|service| Arc::new(Endpoint::new(service))).collect();
        Self { endpoints: ArcSwap::from_pointee(endpoints), start: timer.now(), timer }
    }

    /// Never zero.
    #[inline]
    fn now(&self) -> u64 {
        let nanos = self.timer.now().saturating_duration_since(self.start).as_nanos();
        u64::try_from(nanos).unwrap_or(u64::MAX).max(1)
    }

    pub(crate) fn send(&self, request: u64) -> u64 {
        let began = self.now();
        let endpoint = self.pick(began);
        let is_witness = endpoint.begins(began);
        let mut context = Context::from_waker(Waker::noop());
        let mut service = endpoint.service.clone();
        let is_ready = matches!(service.poll_ready(&mut context), Poll::Ready(Ok(())));
        assert!(is_ready, "every service is ready");
        let answer = pin!(service.call(request)).poll(&mut context);
        endpoint.ended(began, is_witness, self.now());
        match answer {
            Poll::Ready(Ok(answer)) => answer,
            _ => panic!("every service answers at once"),
        }
    }

    #[inline]
    fn pick(&self, now: u64) -> Arc<Endpoint<S>> {
        let endpoints = self.endpoints.load();
        let draw = fastrand::u64(..);
        let [one, other] = [draw >> 32, draw & 0xFFFF_FFFF]
            .map(|part| &endpoints[((part * endpoints.len() as u64) >> 32) as usize]);
        Arc::clone(if one.load(now) <= other.load(now) { one } else { other })
    }
}
