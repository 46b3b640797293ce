//! Members from etcd: servers that register themselves under a lease, and a watch that sees them come and go.
//!
//! ```text
//! cargo run -p etcd
//! ```
//!
//! It needs `etcd` (on Debian: `apt-get install etcd-server`, and `protobuf-compiler libprotobuf-dev` to build), takes about 30
//! seconds, and all its traffic stays on loopback. A server that dies leaves by itself when its lease ends; until then, circuits
//! and retries keep requests from failing. When etcd was gone, the watch starts anew with a full set. The last line says how many
//! requests failed; the exit code is that of failure when more than one in a thousand did, or when something did not come as it
//! should.

mod etcd;
mod register;
mod script;
mod source;

use std::process::ExitCode;

use crate::script::Play;

#[tokio::main]
async fn main() -> ExitCode {
    stage::play(Box::pin(async { Play::set().await?.run().await })).await
}
