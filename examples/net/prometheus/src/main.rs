//! What a pool does, exported by a real exporter and scraped over HTTP as Prometheus would, while a server dies and returns.
//!
//! ```text
//! cargo run -p prometheus
//! ```
//!
//! It takes about 10 seconds, and all its traffic stays on loopback. `exporter` is there to be copied; `scrape` reads what it
//! serves; `script` plays and compares the scrape with what was sent. The exit code is that of failure when they differ.

mod exporter;
mod scrape;
mod script;

use std::process::ExitCode;

use crate::script::Play;

#[tokio::main]
async fn main() -> ExitCode {
    stage::play_flawlessly(Box::pin(async { Play::set()?.run().await })).await
}
