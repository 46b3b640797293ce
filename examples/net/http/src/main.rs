//! One balancer under the usual HTTP clients, among the usual middleware, while a server dies and returns.
//!
//! ```text
//! cargo run -p http-clients
//! ```
//!
//! It takes about 10 seconds, and all its traffic stays on loopback. `with_hyper`: the client of hyper-util. `with_reqwest`:
//! reqwest's. `proxy`: a router of axum that hands on what it does not serve itself. Each stands alone and is there to be copied;
//! `script` plays. The last line says how many of the requests have failed; the exit code is that of failure when one did.

mod proxy;
mod script;
mod with_hyper;
mod with_reqwest;

use std::process::ExitCode;

use crate::script::Play;

#[tokio::main]
async fn main() -> ExitCode {
    stage::play_flawlessly(Box::pin(async { Play::set().await?.run().await })).await
}
