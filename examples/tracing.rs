//! Traces to standard output what one pool does: a request for each outcome, each attempt a span.
//!
//! ```console
//! $ cargo run --example tracing --features full
//! ```
//!
//! The endpoints are made up and the clock is paused, so that it takes no time and always looks the same but for the times.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use poise::core::policy::RoundRobin;
use poise::core::{Backend, Outcome};
use poise::discovery::Directory;
use poise::observe::TracingObserver;
use poise::tower::{Balancer, Retry};
use tracing::{Instrument, info, info_span, level_filters::LevelFilter};
use tracing_subscriber::fmt::format::FmtSpan;

/// What a request asks of its endpoint.
#[derive(Clone, Debug)]
enum Request {
    Succeed,
    /// The first endpoint that has it fails, and the next does not.
    FailOnce(Arc<AtomicBool>),
    Fail,
    Overload,
    Hang,
}

/// What goes wrong.
#[derive(Debug)]
enum Fault {
    Broken,
    Busy,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Broken => "it is broken",
            Self::Busy => "it is busy",
        })
    }
}

impl Error for Fault {}

async fn serve(endpoint: &'static str, request: Request) -> Result<&'static str, Fault> {
    info!("the endpoint has the request");
    tokio::time::sleep(Duration::from_millis(20)).await;
    match request {
        Request::FailOnce(failed) if !failed.swap(true, Ordering::Relaxed) => Err(Fault::Broken),
        Request::Succeed | Request::FailOnce(_) => Ok(endpoint),
        Request::Fail => Err(Fault::Broken),
        Request::Overload => Err(Fault::Busy),
        Request::Hang => std::future::pending().await,
    }
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::DEBUG)
        .with_span_events(FmtSpan::CLOSE)
        .with_ansi(false)
        .init();

    let mut directory = Directory::new();
    for address in ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"] {
        directory.upsert(address, Backend::new(()))?;
    }
    let balancer = Balancer::builder()
        .discover(directory.reader(), |address, _| {
            let address = *address;
            tower::service_fn(move |request| serve(address, request))
        })
        .policy(RoundRobin::starting_at(0))
        .classify(|answer| match answer {
            Err(Fault::Busy) => Outcome::OVERLOAD,
            answer => Outcome::of(answer),
        })
        .attempt_timeout(Duration::from_secs(1))
        .retry(Retry::attempts(2)?)
        .observe(TracingObserver::new().with_server("users.internal"))
        .spawn()?;

    for (name, request) in [
        ("succeeds", Request::Succeed),
        ("succeeds at the second attempt", Request::FailOnce(Arc::default())),
        ("fails", Request::Fail),
        ("is too much", Request::Overload),
        ("takes too long", Request::Hang),
    ] {
        let request = balancer.send(request).instrument(info_span!("request", name));
        let answer = request.await;
        info!(name, succeeded = answer.is_ok(), "the request is over");
    }
    let given_up = balancer.send(Request::Hang).instrument(info_span!("request", name = "is given up"));
    let _late = tokio::time::timeout(Duration::from_millis(100), given_up).await;

    for address in ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"] {
        directory.remove(&address)?;
    }
    tokio::task::yield_now().await;
    let refused = balancer.send(Request::Succeed).instrument(info_span!("request", name = "finds nobody"));
    info!(error = %refused.await.err().ok_or("all endpoints drain")?, "the request is over");
    Ok(())
}
