//! A balancer under the clients that tonic generates: unary calls and streams over servers that die, freeze and say goodbye.
//!
//! ```text
//! cargo run -p grpc
//! ```
//!
//! It needs no `protoc`, takes about 15 seconds, and all its traffic stays on loopback. Copy `balanced`, `server`, `body` and
//! `status`; the rest is the play. The last line says how many of the calls that may be sent twice have failed; the exit code is
//! that of failure when one did, or when something did not come as it should.

mod balanced;
mod body;
mod script;
mod server;
mod shop;
mod status;
mod watch;

use std::process::ExitCode;

use crate::script::Play;

#[tokio::main]
async fn main() -> ExitCode {
    stage::play_flawlessly(Box::pin(async { Play::set()?.run().await })).await
}
