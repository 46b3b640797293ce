//! Members from a file: one on each line, read again when the file changes.
//!
//! ```text
//! cargo run -p file
//! ```
//!
//! It takes about 25 seconds, and all its traffic stays on loopback. What cannot be read, because it is half written, wrong or
//! gone, changes nothing and is reported. The last line says how many requests failed; the exit code is that of failure when more
//! than one in a thousand did, or when something did not come as it should.

mod members;
mod script;
mod source;

use std::process::ExitCode;

use crate::script::Play;

#[tokio::main]
async fn main() -> ExitCode {
    stage::play(Box::pin(async { Play::set().await?.run().await })).await
}
