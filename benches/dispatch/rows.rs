//! Who dispatches: one function each.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use poise::core::policy::PowerOfTwoChoices;
use poise::core::{self, Backend};
use poise::discovery::{Change, Directory};
use poise::observe::{Recorder, TracingObserver};
use poise::tokio::TokioTimer;
use poise::tower::{Balancer, Builder, Endpoint, NoContext};
use tokio::runtime::{self, Runtime};
use tower::ServiceExt;
use tower::balance::p2c::Balance;
use tower::buffer::Buffer;
use tower::discover::ServiceList;
use tower::load::{CompleteOnResponse, Load, PeakEwma, PendingRequests};
use tower_service::Service;

use crate::minimum::Minimum;
use crate::sampling::Job;
use crate::work::{Work, request};

/// The settings of a balancer with its defaults.
type Settings = Builder<usize, Backend<usize>, Work, u64, core::PeakEwma, PowerOfTwoChoices, NoContext>;

/// How many requests a buffer holds.
const BUFFERED: usize = 1_024;
/// Tower's own defaults in Linkerd, which the load was made for.
const ROUND_TRIP: Duration = Duration::from_millis(30);
const DECAY_NANOS: f64 = 10e9;

/// The service itself, without anybody in front of it.
pub(crate) fn bare(work: &Work) -> Job {
    let work = work.clone();
    Box::new(move |count| request(&mut black_box(work.clone()), count))
}

pub(crate) fn minimum(work: &Work, size: usize) -> Job {
    let minimum = Minimum::new((0..size).map(|_| work.clone()), TokioTimer);
    Box::new(move |count| {
        for number in (0..).take(count) {
            black_box(minimum.send(black_box(number)));
        }
    })
}

/// One uncontended atomic addition: what costs are compared to.
pub(crate) fn addition() -> Job {
    let word = AtomicU64::new(0);
    Box::new(move |count| {
        for _ in 0..count {
            black_box(black_box(&word).fetch_add(1, Ordering::Relaxed));
        }
    })
}

/// Ours with its defaults; all threads share one.
pub(crate) fn balancer(work: &Work, size: usize) -> Job {
    shared(work, size, |builder| builder)
}

pub(crate) fn recorded(work: &Work, size: usize) -> Job {
    shared(work, size, |builder| builder.observe(Recorder::new()))
}

pub(crate) fn traced(work: &Work, size: usize) -> Job {
    shared(work, size, |builder| builder.observe(TracingObserver::new()))
}

/// For one owner, with its defaults.
pub(crate) fn balance(work: &Work, size: usize) -> Job {
    let endpoints = (0..size).map(|place| Endpoint::new(Backend::new(place), work.clone()));
    alone(poise::tower::Balance::new(PowerOfTwoChoices::new(), endpoints))
}

fn shared(work: &Work, size: usize, settings: impl FnOnce(Settings) -> Settings) -> Job {
    let mut directory = Directory::new();
    directory
        .apply((0..size).map(|place| Change::upsert(place, Backend::new(place))))
        .expect("there are no duplicates");
    let service = work.clone();
    let builder =
        Balancer::builder().discover(directory.reader(), move |_, _| service.clone()).timer(TokioTimer);
    let built = settings(builder).build().expect("there is a timer");
    // Without a driver nobody would be told of what fails, and nothing does.
    let (balancer, driver) = built;
    let driver = Mutex::new(driver);
    Box::new(move |count| {
        let _driven = &driver;
        request(&mut balancer.clone(), count);
    })
}

pub(crate) fn pending_requests(work: &Work, size: usize) -> Job {
    alone(Balance::new(services(work, size, |work| {
        PendingRequests::new(work, CompleteOnResponse::default())
    })))
}

pub(crate) fn peak_ewma(work: &Work, size: usize) -> Job {
    alone(Balance::new(services(work, size, measured)))
}

/// Tower's balancer is not for sharing, so that threads share a buffer in front of it. All tasks are on one runtime with a
/// worker for each thread.
pub(crate) fn buffer(work: &Work, size: usize) -> Job {
    let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    let runtime: Runtime = runtime.expect("there are threads");
    let buffer = {
        let _entered = runtime.enter();
        Buffer::new(Balance::new(services(work, size, measured)), BUFFERED)
    };
    Box::new(move |count| {
        let mut buffer = buffer.clone();
        let requests = runtime.spawn(async move {
            for number in (0..).take(count) {
                let answer = buffer.ready().await.expect("open").call(black_box(number)).await;
                black_box(answer.expect("every service answers"));
            }
        });
        runtime.block_on(requests).expect("requests do not panic");
    })
}

fn measured(work: Work) -> PeakEwma<Work> {
    PeakEwma::new(work, ROUND_TRIP, DECAY_NANOS, CompleteOnResponse::default())
}

fn services<L>(work: &Work, size: usize, load: impl Fn(Work) -> L) -> ServiceList<Vec<L>>
where
    L: Load + Service<u64>,
{
    ServiceList::new::<u64>((0..size).map(|_| load(work.clone())).collect())
}

/// A service for one thread.
fn alone<S>(service: S) -> Job
where
    S: Service<u64, Response = u64> + Send + 'static,
{
    let service = Mutex::new(service);
    Box::new(move |count| request(&mut *service.lock().unwrap_or_else(PoisonError::into_inner), count))
}
