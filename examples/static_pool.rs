//! A fixed set of endpoints as one service: no discovery, no health, no runtime of its own.
//!
//! ```text
//! cargo run --example static_pool --features tower
//! ```

use std::convert::Infallible;
use std::error::Error;

use poise::prelude::*;
use poise::tower::{Balance, BalanceError, BorrowedKey, Endpoint};
use tower::limit::ConcurrencyLimit;
use tower::{Service, ServiceExt, service_fn};

struct Request {
    user: &'static str,
}

/// Stands for a client of one server.
fn client(name: &'static str) -> impl Service<Request, Response = String, Error = Infallible> {
    service_fn(move |request: Request| async move { Ok(format!("{name} greets {}", request.user)) })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    turns().await?;
    permits().await?;
    affinity().await?;
    drain().await
}

/// One service made of three.
async fn turns() -> Result<(), Box<dyn Error>> {
    let endpoints = ["ash", "beech", "cherry"].map(|name| Endpoint::new(Backend::new(name), client(name)));
    let mut balance = Balance::new(RoundRobin::starting_at(0), endpoints);
    for user in ["ann", "bob", "cid", "dot"] {
        println!("turns:    {}", balance.ready().await?.call(Request { user }).await?);
    }
    Ok(())
}

/// Services whose readiness is a permit: each endpoint keeps its own until it is called, so nobody takes one in vain.
async fn permits() -> Result<(), Box<dyn Error>> {
    let endpoints = ["ash", "beech"]
        .map(|name| Endpoint::new(Backend::new(name), ConcurrencyLimit::new(client(name), 1)));
    let mut balance = Balance::new(LeastLoaded::new(), endpoints);
    let first = balance.ready().await?.call(Request { user: "ann" });
    let second = balance.ready().await?.call(Request { user: "bob" });
    let loads: Vec<_> = balance.endpoints().iter().map(|endpoint| endpoint.tracker().current()).collect();
    println!("permits:  {loads:?} in flight");
    assert_eq!(loads, [1, 1]);
    println!("permits:  {}; {}", first.await?, second.await?);
    Ok(())
}

/// The same user always gets the same server. The key is borrowed from the request.
async fn affinity() -> Result<(), Box<dyn Error>> {
    let endpoints = ["ash", "beech", "cherry"].map(|name| Endpoint::new(Backend::new(name), client(name)));
    let mut balance =
        Balance::new(Maglev::new(), endpoints).context(BorrowedKey::new(|request: &Request| request.user));
    let mut answers = Vec::new();
    for user in ["ann", "bob", "ann", "bob"] {
        answers.push(balance.ready().await?.call(Request { user }).await?);
    }
    println!("affinity: {}", answers.join("; "));
    assert_eq!(answers[..2], answers[2..]);
    Ok(())
}

/// Who drains gets nothing new. When nobody is left, an error says why, and waiting would be possible.
async fn drain() -> Result<(), Box<dyn Error>> {
    let endpoints = ["ash", "beech"].map(|name| Endpoint::new(Backend::new(name), client(name)));
    let mut balance = Balance::new(RoundRobin::new(), endpoints);
    let draining = |backend: &mut Backend<&str>| {
        *backend = backend.clone().with_status(poise::core::Status::Draining);
    };
    balance.amend(&"ash", draining);
    let answer = balance.ready().await?.call(Request { user: "ann" }).await?;
    println!("drain:    {answer}");
    assert_eq!(answer, "beech greets ann");

    balance.amend(&"beech", draining);
    let Err(error) = balance.call(Request { user: "bob" }).await else { return Err("nobody is left".into()) };
    println!("drain:    {error}");
    assert!(matches!(error, BalanceError::NoEligible(_)) && error.is_retryable());
    Ok(())
}
