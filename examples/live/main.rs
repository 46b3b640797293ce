//! The default `Balancer` beside Tower's own balancer, two choices by `PeakEwma`, over real servers of uneven speed.
//!
//! ```text
//! cargo run --release --example live --features full
//! ```
//!
//! Each has twenty HTTP servers on loopback, equal to those of the other, at nine tenths of what they can do. Both run at
//! the same time and get requests at the same times, so that whatever else the machine does meets both. It takes
//! about 70 seconds. The last line is the median of five runs; the exit code tells whether the 99th percentile of
//! the latencies is at least a quarter below Tower's.

#[path = "../turnkey/client.rs"]
mod client;
mod fleet;
mod queue;
#[path = "../turnkey/servers.rs"]
#[expect(dead_code, reason = "nothing fails here, and no server is restarted")]
mod servers;
mod traffic;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use hyper_util::client::legacy;
use hyper_util::rt::TokioExecutor;
use poise::prelude::*;
use tower::ServiceExt;
use tower::balance::p2c;
use tower::buffer::Buffer;
use tower::discover::ServiceList;
use tower::load::{CompleteOnResponse, PeakEwma as TowersPeakEwma};

use crate::client::{Client, Connections, Request};
use crate::fleet::Fleet;
use crate::traffic::Tally;

const RUNS: u64 = 5;
const UTILISATION: f64 = 0.9;
/// What the p99 is at most of Tower's.
const BAR: f64 = 0.75;

/// What a `Balancer` needs to be told.
async fn ours(fleet: &Fleet, seed: u64) -> Result<Tally, Box<dyn Error>> {
    let mut directory = Directory::new();
    for server in fleet.addresses() {
        directory.upsert(server, Backend::new(server))?;
    }
    let connections = connections();
    let balancer: Balancer<Client, Request> = Balancer::builder()
        .try_discover(directory.reader(), move |server, _| Client::to(*server, connections.clone()))
        .spawn()?;
    let dispatch = |request| {
        let balancer = balancer.clone();
        async move { balancer.send(request).await }
    };
    Ok(traffic::run(UTILISATION * fleet::capacity(), seed, dispatch).await)
}

/// The same of Tower's, with the settings of our default where it has none.
async fn towers(fleet: &Fleet, seed: u64) -> Result<Tally, Box<dyn Error>> {
    const INITIAL_ESTIMATE: Duration = Duration::from_millis(30);
    const DECAY_NANOS: f64 = 10e9;
    let connections = connections();
    let measured =
        |client| TowersPeakEwma::new(client, INITIAL_ESTIMATE, DECAY_NANOS, CompleteOnResponse::default());
    let clients = fleet.addresses().map(|server| Client::to(server, connections.clone()).map(measured));
    let clients = ServiceList::new(clients.collect::<Result<Vec<_>, _>>()?);
    let balancer = Buffer::new(p2c::Balance::<_, Request>::new(clients), 1_024);
    let dispatch = |request| balancer.clone().oneshot(request);
    Ok(traffic::run(UTILISATION * fleet::capacity(), seed, dispatch).await)
}

fn connections() -> Connections {
    legacy::Client::builder(TokioExecutor::new()).build_http()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    println!("{:.0} requests a second, {UTILISATION} of the capacity\n", UTILISATION * fleet::capacity());
    println!("run  requests      p50 of ours, Tower's      p99 of ours, Tower's  ratio of p99  failed");
    let mut ratios = Vec::new();
    for run in 1..=RUNS {
        let fleets = [Fleet::start(run)?, Fleet::start(run)?];
        let (ours, towers) = tokio::join!(ours(&fleets[0], run), towers(&fleets[1], run));
        let (ours, towers) = (ours?, towers?);
        let ratio = ours.percentile(99) / towers.percentile(99);
        print!("{run:>3} {:>9}", ours.requests() + towers.requests());
        for percent in [50, 99] {
            print!("  {:>8.1} ms, {:>8.1} ms", ours.percentile(percent), towers.percentile(percent));
        }
        println!("  {ratio:>12.2}  {:>6}", ours.failed + towers.failed);
        ratios.push(ratio);
    }
    let ratio = median(ratios);
    println!("\nlive: p99_ratio={ratio:.2} bar={BAR}");
    Ok(if ratio <= BAR { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
