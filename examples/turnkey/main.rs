//! The main job: real servers fail, hang, die, leave and join under steady traffic, and the clients do not notice.
//!
//! ```text
//! cargo run --release --example turnkey --features full
//! cargo run --release --example turnkey --features full -- --control
//! ```
//!
//! It takes about 20 seconds, and all its traffic stays on loopback. The last line sums it up. The exit code tells whether all
//! was well: next to no request failed, everybody who is healthy is eligible in the end, and whoever came back or joined gets
//! traffic. `--control` plays the same script over plain round robin, without circuits and retries; there, all is well when the
//! script does harm.

mod client;
mod script;
mod servers;
mod summary;
mod traffic;

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use poise::prelude::*;

use crate::client::{Client, Request};
use crate::script::{Servers, Stage};
use crate::summary::Witness;

const ATTEMPT: Duration = Duration::from_millis(500);

/// Makes the balancer that this is about.
fn turnkey(servers: &Servers, witness: Arc<Witness>) -> Result<Balancer<Client, Request>, Box<dyn Error>> {
    let connections = legacy::Client::builder(TokioExecutor::new()).build_http();
    let balancer = Balancer::builder()
        .try_discover(servers.reader(), move |_name, server| Client::to(*server.data(), connections.clone()))
        .classify(|answer| match answer {
            Ok(response) if response.status().is_server_error() => Outcome::Failure,
            other => Outcome::of(other),
        })
        .attempt_timeout(ATTEMPT)
        .retry(Retry::attempts(2)?)
        .hook(witness)
        .spawn()?;
    Ok(balancer)
}

/// Makes what to compare it with: each server in turn, whatever became of the last request to it.
fn control(servers: &Servers, witness: Arc<Witness>) -> Result<Balancer<Client, Request>, Box<dyn Error>> {
    let connections = legacy::Client::builder(TokioExecutor::new()).build_http();
    let balancer = Balancer::builder()
        .try_discover(servers.reader(), move |_name, server| Client::to(*server.data(), connections.clone()))
        .policy(RoundRobin::new())
        .without_circuit()
        .attempt_timeout(ATTEMPT)
        .hook(witness)
        .spawn()?;
    Ok(balancer)
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let is_control = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--control") => true,
        Some(other) => return Err(format!("unknown argument {other}: there is only --control").into()),
    };
    let witness = Arc::new(Witness::default());
    let mut stage = Stage::set()?;
    let servers = stage.open()?;
    let make = if is_control { control } else { turnkey };
    let balancer = make(servers, Arc::clone(&witness))?;

    let traffic = tokio::spawn(traffic::run(balancer.clone()));
    let played = stage.play(&balancer).await?;
    let mut tally = traffic.await?;

    let report = balancer.report();
    let faults =
        if is_control { summary::control_faults(&tally) } else { summary::faults(&tally, &report, &played) };
    summary::print_endpoints(report, &played);
    for fault in &faults {
        println!("not well: {fault}");
    }
    summary::print_total(&mut tally, witness.retried());
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
