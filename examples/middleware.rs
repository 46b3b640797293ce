//! A balancer among ordinary tower middleware: it is a service like any other, and cloning it is cheap.
//!
//! ```text
//! cargo run --example middleware --features full
//! ```

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use poise::prelude::*;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tower::limit::GlobalConcurrencyLimitLayer;
use tower::load_shed::error::Overloaded;
use tower::timeout::error::Elapsed;
use tower::util::BoxCloneService;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};

/// Asks for an answer that takes so many milliseconds.
type Request = u64;
type Response = &'static str;
type Stack = BoxCloneService<Request, Response, BoxError>;

async fn serve(name: Response, request: Request) -> Result<Response, Infallible> {
    sleep(Duration::from_millis(request)).await;
    Ok(name)
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), BoxError> {
    let mut directory = Directory::new();
    for name in ["east", "west"] {
        directory.upsert(name, Backend::new(name))?;
    }
    let balancer = Balancer::builder()
        .discover(directory.reader(), |name, _backend| {
            let name = *name;
            service_fn(move |request| serve(name, request))
        })
        .spawn()?;

    // Timeouts: the attempt is cancelled, which is no failure of the endpoint.
    let timeout = ServiceBuilder::new().timeout(Duration::from_millis(50)).service(balancer.clone());
    let outcomes = burst(&BoxCloneService::new(timeout), [10, 10, 10, 90]).await?;
    println!("timeout:           {outcomes:?}");
    assert_eq!(outcomes, BTreeMap::from([("answered", 3), ("timed out", 1)]));

    // A limit that waits, and one that sheds.
    let limit = ServiceBuilder::new().concurrency_limit(2).service(balancer.clone());
    let outcomes = burst(&BoxCloneService::new(limit.map_err(BoxError::from)), [10; 6]).await?;
    println!("concurrency limit: {outcomes:?}");
    assert_eq!(outcomes, BTreeMap::from([("answered", 6)]));

    let shed = ServiceBuilder::new()
        .load_shed()
        .layer(GlobalConcurrencyLimitLayer::new(2))
        .service(balancer.clone());
    let outcomes = burst(&BoxCloneService::new(shed), [10; 6]).await?;
    println!("load shed:         {outcomes:?}");
    assert_eq!(outcomes, BTreeMap::from([("answered", 2), ("shed", 4)]));

    // A buffer: one task that owns the service, and a queue before it.
    let buffer = ServiceBuilder::new().buffer(16).service(balancer.clone());
    let outcomes = burst(&BoxCloneService::new(buffer), [10; 6]).await?;
    println!("buffer:            {outcomes:?}");
    assert_eq!(outcomes, BTreeMap::from([("answered", 6)]));

    let report = balancer.report();
    println!("\n{report}");
    assert_eq!(report.members.iter().map(|member| member.successes).sum::<u64>(), 17);
    assert_eq!(report.members.iter().map(|member| member.cancelled).sum::<u64>(), 1);
    assert_eq!(report.eligible(), 2, "nobody was blamed for what the middleware did");
    Ok(())
}

/// Sends requests at the same time and counts how they end.
async fn burst(
    stack: &Stack,
    requests: impl IntoIterator<Item = Request>,
) -> Result<BTreeMap<&'static str, usize>, BoxError> {
    let mut sent = JoinSet::new();
    for request in requests {
        let mut stack = stack.clone();
        sent.spawn(async move { stack.ready().await?.call(request).await });
    }
    let mut outcomes = BTreeMap::new();
    while let Some(joined) = sent.join_next().await {
        let outcome = match joined? {
            Ok(_) => "answered",
            Err(error) if error.is::<Elapsed>() => "timed out",
            Err(error) if error.is::<Overloaded>() => "shed",
            Err(error) => return Err(error),
        };
        *outcomes.entry(outcome).or_default() += 1;
    }
    Ok(outcomes)
}
