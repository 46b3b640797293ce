//! Members from DNS: a real `named`, whose zone changes while traffic flows.
//!
//! ```text
//! cargo run -p dns
//! ```
//!
//! It needs `named` and `nsupdate` (on Debian: `apt-get install bind9 bind9-dnsutils`), takes about 40 seconds, and all its
//! traffic stays on loopback. `web` has A records, whose time to live is 1 s: servers on different addresses and one port.
//! `api` has SRV records, which live for 3 s and have ports, priorities and weights: the standby serves when no other can. The
//! last line says how many requests failed; the exit code is that of failure when more than one in a thousand did, or when
//! something did not come as it should.

mod named;
mod pace;
mod resolve;
mod script;

use std::process::ExitCode;

use crate::script::Play;

#[tokio::main]
async fn main() -> ExitCode {
    stage::play(Box::pin(async { Play::set().await?.run().await })).await
}
