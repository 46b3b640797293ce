//! A live page of a pool: what its report says, and buttons to drain, slow and kill the servers in it.
//!
//! ```text
//! cargo run -p page             # serves the page until Ctrl-C
//! cargo run -p page -- --check  # presses the buttons itself and looks whether the report follows, in about 5 seconds
//! ```
//!
//! Everything stays on loopback. `demo` is a server that can be slowed and killed, `pool` a balancer over three of them under
//! traffic, `web` what the page talks to, and `page.html` the page. The exit code of `--check` is that of failure when the report
//! does not follow, or when a client notices anything.

mod check;
mod demo;
mod pool;
mod web;

use std::env;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;

use poise::tower::BoxError;
use tokio::net::TcpListener;

use crate::pool::Pool;

#[tokio::main]
async fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => match serve().await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("not well: {error}");
                ExitCode::FAILURE
            }
        },
        ["--check"] => stage::play_flawlessly(Box::pin(check::run())).await,
        _ => {
            eprintln!("usage: page [--check]");
            ExitCode::from(2)
        }
    }
}

async fn serve() -> Result<(), BoxError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("open http://{} in a browser; Ctrl-C ends it", listener.local_addr()?);
    let router = web::router(Arc::new(Pool::start()?));
    tokio::select! {
        served = axum::serve(listener, router) => Ok(served?),
        interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
    }
}
